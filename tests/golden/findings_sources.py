# ruff: noqa: E501 - texts of documents
"""Small repositories for tests/golden/test_findings.py: where scorers run, what they ask, and
mistakes beside each other.
"""

from collections.abc import Callable, Iterator

from tests.golden.findings_cases import (
    CLUSTER,
    SCORER,
    SET,
    SETTINGS,
    SHARED,
    USES,
    Documents,
    add_on,
    below,
    both,
    case,
    cluster,
    generator,
    many_of,
    second,
    selector,
    settings,
    source,
    variants,
)
from tests.support.repositories import (
    APP,
    CONFIG,
    FULL,
    LABELS,
    LOCK,
    UPSTREAM,
    app,
    application_set,
    asking,
    listed,
    masks,
    placement,
    policy,
)

HUB = """\
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScorer
metadata: {name: cpu}
spec:
  description: d
  runsOn: Hub
  source: {host: 'http://thanos.svc', params: {query: 'sum by (cluster) (up)'}, clusterLabel: {name: cluster}}
  scoring: {type: Query, params: {name: cpu_score, interval: 60}}
  scoreRange: {min: 0, max: 1}
"""
HUB_API = HUB.replace(
    "  scoring: {type: Query, ",
    "  configURL: http://api.svc:8000/config\n  configSyncMode: None\n  scoring: {",
)
QUERY = """\
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScorer
metadata: {name: cpu}
spec:
  description: d
  source: {host: 'http://prom.svc', params: {query: 'avg(up)'}}
  scoring: {type: Query, params: {name: cpu_score, interval: 60}}
  scoreRange: {min: 0, max: 1}
"""
LABEL = "clusterLabel: {name: cluster}"
BROKEN_SCORER = second().replace("interval: 60", "interval: x")
BROKEN_CLUSTER = cluster("xyz", "env: [a]")


def asked(query: str, text: str = QUERY) -> str:
    return text.replace("'avg(up)'", f"'{query}'").replace("'sum by (cluster) (up)'", f"'{query}'")


def edge(count: int, labels: str = "env: prod") -> str:
    return both(CLUSTER, *(cluster(f"edge-{number}", labels) for number in range(count)))


def hub_scorers_with(auth: str) -> tuple[tuple[str, str], ...]:
    """Scorers on the hub that send a credential, by the section that has it."""
    return (
        ("source", HUB.replace("{host:", f"{{auth: {{{auth}}}, host:")),
        ("scoring", HUB_API.replace("scoring: {", f"scoring: {{auth: {{{auth}}}, ")),
    )


def _on_the_hub() -> Iterator[tuple[str, Documents]]:
    for kind in ("None", "Kubernetes", "OpenTelemetry", "Prometheus"):
        yield (
            f"on the hub, type {kind}",
            {"scorers": HUB.replace("{host:", f"{{type: {kind}, host:")},
        )
        yield case(
            f"on the hub, type {kind} of a MetricSource",
            config=variants(f"type: {kind}, host: 'http://thanos.svc'"),
            scorers=HUB.replace("host: 'http://thanos.svc'", "ref: platform"),
        )
        yield case(
            f"on the hub, type {kind} of a lock",
            scorers=FULL.replace(
                "  scoring:",
                f"  runsOn: Hub\n  source: {{type: {kind}, host: 'http://thanos.svc', {LABEL}}}\n  scoring:",
            ),
        )
    for texts in (
        ("host: 'http://a.svc'", "host: 'http://b.svc'"),
        ("host: 'http://a.svc', clusterSelector: {matchLabels: {env: prod}}",),
    ):
        yield case(
            f"on the hub, MetricSource of {'; '.join(texts)}",
            config=variants(*texts),
            scorers=HUB.replace("host: 'http://thanos.svc'", "ref: platform"),
        )
    for field in (LABEL, "clusterLabel: {name: cluster, claim: id.k8s.io}"):
        yield f"on the spokes, {field}", {"scorers": source(f"host: 'http://prom.svc', {field}")}
    for field in ("label: zone", "claim: id.k8s.io"):
        text = HUB.replace(LABEL, f"clusterLabel: {{name: cluster, {field}}}")
        yield f"on the hub, {field} of one cluster", {"scorers": text, "clusters": edge(0)}
        for count in range(1, 5):
            for labels in ("zone: a", "env: b"):
                yield case(
                    f"on the hub, {field} of {count} clusters with {labels}",
                    scorers=text,
                    clusters=edge(count, labels),
                )
        yield case(
            f"on the hub, {field}, suspended",
            scorers=below("suspend: true", text),
            clusters=edge(2, "zone: a"),
        )
    claims = "status: {clusterClaims: [{name: id.k8s.io, value: x}]}\n"
    yield case(
        "on the hub, clusters with one claim",
        scorers=HUB.replace(LABEL, "clusterLabel: {name: cluster, claim: id.k8s.io}"),
        clusters=both(CLUSTER + claims, cluster("edge") + claims),
    )
    for query in listed("""
        sum(up) | up; sum(up) | sum(up; sum(down | sum by (cluster) (up); avg(up)
        sum by (cluster, pod) (up) | up | sum(; sum(up) | up up; sum(up)
    """):
        yield f"on the hub: {query}", {"scorers": asked(query, HUB)}
        yield case(
            f"on the hub: {query}, by pod",
            scorers=below("scoreDimensionFormat: '${pod}'", asked(query, HUB)),
        )
        yield case(
            f"on the spokes with a label: {query}",
            scorers=asked(query, HUB).replace("  runsOn: Hub\n", ""),
        )
        yield case(
            f"on the hub without a label: {query}",
            scorers=asked(query, HUB).replace(f", {LABEL}", ""),
        )
    for secret, allowed in (
        ("a", "secrets: [a]"),
        ("a", "secrets: [b]"),
        ("a", "secrets: [a], imagePullSecrets: [a]"),
        ("bootstrap-hub-kubeconfig", ""),
    ):
        for auth in (f"tokenSecretRef: {{name: {secret}, key: k}}", "serviceAccountToken: true"):
            for section, text in hub_scorers_with(auth):
                yield case(
                    f"on the hub, {section} with {auth}, {allowed or 'no list'}",
                    scorers=text,
                    settings=settings(f"hubScorer: {{{allowed}}}") if allowed else SETTINGS,
                )
    for auth in (
        "tokenSecretRef: {name: a, key: k}",
        "tokenSecretRef: {name: bootstrap-hub-kubeconfig, key: k}",
        "serviceAccountToken: true",
    ):
        for section, text in hub_scorers_with(auth):
            yield case(
                f"on the hub, {section} with {auth}, without settings", scorers=text, settings=""
            )
    yield case(
        "on the hub, images without digests",
        scorers=HUB,
        settings=settings("requireImageDigests: true"),
    )
    yield "on the hub with the upstream controller", {"scorers": HUB, "settings": UPSTREAM}
    yield case(
        "one scorer on the hub, one on the spokes, images without digests",
        scorers=both(HUB, second()),
        settings=settings("requireImageDigests: true"),
    )
    for count in (100, 101):
        for title, text, number in (("on the hub", HUB, 20), ("on the spokes", SCORER, 80)):
            quick = below("scoreTTLSeconds: 80", text).replace("interval: 60", "interval: 30")
            scorers = both(*(second(quick, f"s{index}", f"s{index}") for index in range(number)))
            fleet = {"clusters": many_of(count), "scorers": scorers}
            yield (
                f"{number} scorers {title} for {count} clusters, no settings",
                {**fleet, "settings": ""},
            )


def _pushed() -> Iterator[tuple[str, Documents]]:
    receiver = settings("agent: {openTelemetry: {image: 'prom:3', collectorNamespaces: [otel]}}")
    text = source("type: OpenTelemetry, params: {query: 'up', range: 60, step: 60}")
    every_query = """
        k8s.pod.cpu | sum(k8s.pod.cpu) | up up | a.b + up up | up ? | .a | a.b.c | a;b.c | 'x'.a
        k8s.pod up | up a.b | sum(up | a.b. | up .
    """
    for title, given, queries in (
        ("with", receiver, every_query),
        ("without", SETTINGS, "k8s.pod.cpu | up up"),
        ("no settings,", "", "k8s.pod.cpu | up up"),
        ("upstream,", UPSTREAM, "k8s.pod.cpu | up up"),
    ):
        for query in listed(queries):
            quoted = query.replace("'", "''")
            yield case(
                f"{title} a receiver: {query}",
                settings=given,
                scorers=text.replace("'up'", f"'{quoted}'"),
            )
        for field in (
            "host: 'http://prom.svc'",
            "auth: {serviceAccountToken: true}",
            "dialect: Other",
        ):
            yield case(
                f"{title} a receiver, {field}",
                settings=given,
                scorers=text.replace("params:", f"{field}, params:", 1),
            )


def _measured() -> Iterator[tuple[str, Documents]]:
    text = source("type: Kubernetes, params: {query: 'nodes'}")

    def of_each_type(query: str) -> Iterator[tuple[str, str]]:
        yield "API", text.replace("'nodes'", f"'{query}'")
        yield "Query", asked(query).replace("{host: 'http://prom.svc'", "{type: Kubernetes")

    for query in (
        "",
        " ; ",
        "nodez",
        "sum(nodes)",
        "nodes; gpu; xyz",
        "nodes[5m]",
        "1",
        "nodes/" + "x" * 39,
        "nodes/" + "x" * 40,
    ):
        for kind, given in of_each_type(query):
            yield f"measures: {query}, type {kind}", {"scorers": given}
    for query in (
        "nodez",
        "node_ready; nodes",
        "node_ready",
        "nodes; extended_available",
        'extended_available{resource="a"}',
    ):
        for kind, given in of_each_type(query):
            if query != "nodez":
                yield f"measures: {query}, type {kind}", {"scorers": given}
            for template in ("${node}", "${pod}", "${scoreName}"):
                yield case(
                    f"measures: {query}, type {kind}, {template}",
                    scorers=below(f"scoreDimensionFormat: '{template}'", given),
                )
    for count in (100, 101):
        yield case(
            f"{count} measures",
            scorers=text.replace("'nodes'", f"'{'; '.join(['node_ready'] * count)}'"),
        )
        yield case(
            f"{count} measures and a mistake",
            scorers=text.replace("'nodes'", f"'{'; '.join(['nodez', *['nodes'] * (count - 1)])}'"),
        )
    yield "measures with the upstream controller", {"scorers": text, "settings": UPSTREAM}
    yield "dialect Other of measures", {"scorers": text.replace("type:", "dialect: Other, type:")}
    yield case(
        "dialect MetricsQL of measures with a mistake",
        scorers=text.replace("type:", "dialect: MetricsQL, type:").replace(
            "'nodes'", "'up default 0'"
        ),
    )


def _without_an_api() -> Iterator[tuple[str, Documents]]:
    for field in ("configURL: ''", "configSyncMode: Full", "configSyncMode: None", "configURL: x"):
        yield f"no API and {field}", {"scorers": below(field, QUERY)}
    for field in (
        "host: 'http://api.svc'",
        "path: /p",
        "auth: {serviceAccountToken: true}",
        "arguments: {a: b}",
    ):
        yield case(
            f"no API and scoring.{field}",
            scorers=QUERY.replace("type: Query", f"type: Query, {field}"),
        )
    for field in ("range: 60", "step: 60", "range: 0", "range: 60, step: 60"):
        yield (
            f"no API and params.{field}",
            {"scorers": QUERY.replace("{query:", f"{{{field}, query:")},
        )
    for kind in ("None", "Prometheus", "Kubernetes"):
        yield (
            f"no API and type {kind}",
            {"scorers": QUERY.replace("{host:", f"{{type: {kind}, host:")},
        )
        for score in (
            "defaultScore: 50",
            "defaultScore: 50\n  scoreDimensionFormat: '${node}'",
            "defaultScore: 50\n  scoreDestination: None",
        ):
            title = score.replace("\n ", ",")
            yield case(
                f"an API and type {kind} with {title}",
                scorers=below(score, asking("up").replace("{host:", f"{{type: {kind}, host:")),
            )
            yield case(
                f"an API without a lock and type {kind} with {title}",
                scorers=below(score, source(f"type: {kind}", FULL)).replace(", interval: 60", ""),
            )
    yield "no API and no interval", {"scorers": QUERY.replace(", interval: 60", "")}
    for query in listed("""
        up | avg(up) | up; avg(up) | avg(up); up | sum by (pod) (up) | up up | up up; avg(up)
        a * b | avg(a) + avg(b) | label_replace(avg(a), 'x', 'y', 'z', '')
    """):
        quoted = query.replace("'", "''")
        for more in listed("""
            scoreAggregation: Last | scoreAggregation: Mean | scoreDestination: None
            scoreDimensionFormat: '' | scoreDimensionFormat: '${meta}'
            scoreDimensionFormat: '${pod};${node}'
        """):
            yield case(
                f"no API: {query}, {more or 'as it is'}",
                scorers=below(more, asked(quoted)) if more else asked(quoted),
            )
    yield "no API, with a lock", {"scorers": QUERY, "locks": LOCK}
    for name in ("X-A", "host", "authorization"):
        yield case(
            f"a MetricSource whose header {name} has no Secret",
            config=variants(
                f"host: 'http://prom.svc', headers: [{{name: {name}, value: 'a b'}}, {{name: {name}, value: 'Bearer abcdefgh'}}]"
            ),
            scorers=QUERY.replace("host: 'http://prom.svc'", "ref: platform"),
        )


def _parameters() -> Iterator[tuple[str, Documents]]:
    """URL parameters of a source, and what becomes of partial answers."""
    places: dict[str, Callable[[str], Documents]] = {
        "a scorer": lambda fields: {
            "scorers": QUERY.replace("params: {query", f"{fields}, params: {{query")
        },
        "a MetricSource": lambda fields: {
            "config": variants(f"host: 'http://prom.svc', {fields}"),
            "scorers": QUERY.replace("host: 'http://prom.svc'", "ref: platform"),
        },
    }
    for place, documents in places.items():
        for parameters in listed("""
            namespace: team-a, partial_response: 'false', 'extra_filters[]': '{env=\"prod\"}'
            query: up, start: '0', end: '1' | step: '1', time: '1', timeout: 30s, limit: '5'
            Step: '1' | '': x | 'a b': x | 'é': x | a: "x\\ny" | a: ''
            token: abcdefgh, api_key: '' | partial_response: false, nocache: 1
        """):
            yield case(
                f"{place} with the parameters {parameters}",
                **documents(f"parameters: {{{parameters}}}"),
            )
        many = ", ".join(f"p{number}: x" for number in range(21))
        yield case(f"{place} with too many parameters", **documents(f"parameters: {{{many}}}"))
        yield case(
            f"{place} with a long parameter", **documents(f"parameters: {{a: {'x' * 1025}}}")
        )
        yield case(f"{place} with a list of parameters", **documents("parameters: [a=b]"))
        for choice in ("Publish", "Fail", "fail", "Ignore"):
            yield case(f"{place} with onPartial {choice}", **documents(f"onPartial: {choice}"))
    both_fields = "parameters: {a: b}, onPartial: Fail"
    for kind in ("Kubernetes", "OpenTelemetry"):
        query = "cpu_available_ratio" if kind == "Kubernetes" else "avg(up)"
        yield case(
            f"parameters and onPartial with type {kind}",
            scorers=asked(query).replace("host: 'http://prom.svc'", f"type: {kind}, {both_fields}"),
        )
        yield case(
            f"parameters and onPartial in a variant of type {kind}",
            config=variants(f"type: {kind}, {both_fields}"),
            scorers=asked(query).replace("host: 'http://prom.svc'", "ref: platform"),
        )
    yield case(
        "parameters and onPartial for upstream's agent",
        settings=UPSTREAM,
        scorers=source(
            f"host: 'http://prom.svc', {both_fields}, params: {{query: up, range: 60, step: 60}}"
        ),
    )


def _urls_of_pages() -> Iterator[tuple[str, Documents]]:
    """URLs that people copy from the address bar of a browser, and others that look like them."""
    for url in listed("""
        http://prom:9090/graph | http://prom:9090/graph/ | https://p.example.com/prom/classic/graph
        http://prom:9090/graph?g0.expr=up&g0.tab=0 | http://prom:9090/query?g0.expr=up | http://prom:9090/graph#x
        http://vm:8428/vmui | http://vm:8481/select/0/vmui/ | http://vm:8481/select/0/prometheus/vmui
        http://vm:8428/vmui/#/?g0.expr=up | http://vm:8428/prometheus/vmui
        https://grafana.example.com/explore | https://grafana.example.com/explore?left=x
        https://grafana.example.com/d/abc/nodes | http://prom:9090/targets | http://prom:9090/alerts
        http://prom:9090/query | http://prom:9090/graphs | https://gw.example.com/graph/prometheus
        https://gw.example.com/explore/api/v1/query_range | http://vm:8481/select/0/prometheus | http://prom:9090/metrics
    """):
        yield case(f"a source at {url}", scorers=QUERY.replace("'http://prom.svc'", f"'{url}'"))
    for url in ("http://prom:9090/graph", "http://vm:8481/select/0/vmui/"):
        yield case(
            f"a MetricSource at the page {url}", config=variants(f"host: '{url}'"), scorers=USES
        )
    for section, url in (
        ("source", "http://prom:9090/graph"),
        ("scoring", "http://api.svc:8000/docs"),
    ):
        yield case(
            f"a lock with {section} at the page {url}",
            scorers=source("params: {query: up, range: 60, step: 60}", FULL),
            locks=LOCK.replace("config: {}", f"config: {{{section}: {{host: '{url}'}}}}"),
        )
    for url in listed("""
        http://api.svc:8000/docs | http://api.svc:8000/config | http://api.svc:8000/healthz | http://api.svc:8000/redoc
        http://api.svc:8000/scoring | http://api.svc:8000/apis/docs-scorer
    """):
        yield case(
            f"a scoring API at {url}",
            scorers=SCORER.replace("scoring: {", f"scoring: {{host: '{url}', "),
        )
    for path in listed("""
        /select/0/prometheus | /graph | /vmui | /api/v1/query_range | /api/v1/query/ | /instant | /api/v1
    """):
        for dialect in ("PromQL", "Other"):
            yield case(
                f"a source with the path {path} and {dialect}",
                scorers=QUERY.replace(
                    "params: {query", f"path: {path}, dialect: {dialect}, params: {{query"
                ),
            )
    yield case(
        "a MetricSource with a base path",
        config=variants("host: 'http://vm:8481', path: select/0/prometheus"),
        scorers=USES,
    )


def _beside_mistakes() -> Iterator[tuple[str, Documents]]:
    """One finding beside a mistake that makes it uncertain, or not."""
    for title, text in (
        ("nobody", "{matchLabels: {env: x}}"),
        ("a mistake", "{matchLabels: {env: 'a b'}}"),
        ("null", "null"),
        ("everybody", "{}"),
    ):
        chosen = app("{numberOfClusters: 1}", f"{{numberOfClusters: 1, clusterSelector: {text}}}")
        monitor = settings(f"agent: {{serviceMonitor: {{clusterSelector: {text}}}}}")
        scorer = below(f"clusterSelector: {text}")
        places: dict[str, Documents] = {
            "alone": {},
            "without clusters": {"clusters": SET},
            "with only a broken cluster": {"clusters": BROKEN_CLUSTER},
        }
        if title == "nobody":
            places |= {
                "beside a broken cluster": {"clusters": both(CLUSTER, BROKEN_CLUSTER)},
                "beside a broken set": {
                    "clusters": both(CLUSTER, SET.replace("spec: {", "spec: {x: 1, "))
                },
                "beside a broken mask": {"config": masks("{clusterName: 3, scoreName: [a]}")},
            }
        for place, more in places.items():
            yield f"an application for {title}, {place}", {**more, "apps": chosen}
            yield f"ServiceMonitors for {title}, {place}", {**more, "settings": monitor}
            yield (
                f"an application and a scorer for {title}, {place}",
                {**more, "scorers": scorer, "apps": APP},
            )
            yield (
                f"a Placement for {title}, {place}",
                {
                    **more,
                    "apps": selector(text).replace("spec: {", "spec: {clusterSets: [global], "),
                },
            )
        yield case(
            f"an ambiguous Placement for {title}",
            apps=policy(add_on())
            .replace("spec: {", "spec: {clusterSets: [global], ")
            .replace("metadata: {", "metadata: {annotations: {a: yes}, "),
            scorers=scorer,
        )
    yield case(
        "2 of 1 cluster beside a broken cluster",
        apps=app("numberOfClusters: 1", "numberOfClusters: 2"),
        clusters=both(CLUSTER, BROKEN_CLUSTER),
    )
    for name in ("gpu", "gpuu", "cpu"):
        text = app("{scorer: cpu}", f"{{scorer: {name}}}")
        yield case(
            f"score of {name} beside a broken scorer",
            apps=text,
            scorers=both(SCORER, BROKEN_SCORER),
        )
        yield f"score of {name}, all broken", {"apps": text, "scorers": BROKEN_SCORER}
    for strategy in ("Replace", "Keep"):
        for ref in ("xyz", "shared"):
            yield case(
                f"moves {strategy} with placement.ref {ref}",
                apps=both(
                    app("{numberOfClusters: 1}\n  scores: [{scorer: cpu}]", f"{{ref: {ref}}}")
                    + f"  moves: {{strategy: {strategy}}}\n",
                    SHARED.replace("spec: {", "spec: {onMissingScore: Exclude, "),
                ),
                clusters=both(cluster("eu-1"), cluster("'1'")),
            )
    for policy_text in ("{automatd: {}}", "{automated: {prun: true}}", "{xyz: 1}"):
        yield case(
            f"syncPolicy {policy_text}",
            apps=app("path: deploy}", f"path: deploy}}, syncPolicy: {policy_text}"),
        )
    for dimension in ("a", "cpu_score"):
        for other in ("", ", dimension: b", ", dimension: a", ", dimension: cpu_score"):
            yield case(
                f"a score of {dimension} and one{other}",
                apps=app(
                    "{scorer: cpu}",
                    f"{{scorer: cpu, dimension: {dimension}}}, {{scorer: cpu{other}}}",
                ),
            )
    every_predicate = (
        "",
        ", predicates: 3",
        ", predicates: [3]",
        ", predicates: [{}]",
        ", predicates: [{requiredClusterSelector: {labelSelector: null}}]",
    )
    for sets in ("[global]", "[]", "3", "global", "[global, 3]", "[[a]]", "{a: b}", "null"):
        for predicates in every_predicate if sets in {"[global]", "3"} else every_predicate[:1]:
            yield case(
                f"a Placement of {sets}{predicates}",
                apps=policy(add_on()).replace(
                    "spec: {", f"spec: {{clusterSets: {sets}{predicates}, "
                ),
                clusters=many_of(101),
            )
    for url in listed("""
        http://[ | http:// | x | '' | http://169.254.169.254 | http://a.svc?b=c
        http://a.svc?token= | http://a.svc?token=b | https://169.254.169.254?token=b
    """):
        yield case(
            f"a MetricSource at {url}",
            config=variants(f"host: '{url.strip(chr(39))}'"),
            scorers=USES,
        )
        yield case(
            f"no API, source at {url}",
            scorers=QUERY.replace("'http://prom.svc'", f"'{url.strip(chr(39))}'"),
        )
    for name in ("a-{{name}}", "3", "[a]", "{a: b}", "null", "a", "a-{{x}}"):
        text = generator(f"{CONFIG}, {LABELS}")
        yield case(
            f"a template named {name}",
            apps=both(
                text.replace(
                    "metadata: {name: a}, spec: {project",
                    f"metadata: {{name: {name if name[0] in '3[n' or name[:2] == '{a' else chr(39) + name + chr(39)}}}, spec: {{project",
                ),
                APP,
            ),
        )
    yield case(
        "an application of an incomplete scorer",
        apps=APP,
        scorers=SCORER.replace("name: cpu_score, ", ""),
    )
    yield "PromQL: [;]", {"scorers": asking("[;]")}
    for kind in ("Kubernetes", "None", "Prometheus"):
        yield case(
            f"sixty thousand points of type {kind}",
            scorers=source(
                f"type: {kind}, host: 'http://prom.svc', params: {{query: nodes, range: 60000, step: 1}}"
            ),
        )
    host = "host: 'http://prom.svc'"
    same = f"{host}, clusterSelector: {{matchLabels: {{env: prod}}}}"
    for title, texts in (("the rest", (host, host, host)), ("the same", (same, same, same))):
        yield case(f"variants of {title}", config=variants(*texts), scorers=USES)
    yield case(
        "a source without a host, and no configURL",
        scorers=asking("up")
        .replace("host: http://prom:9090, ", "")
        .replace("http://api.svc:8000/config", "''"),
    )
    for query in ('nodes; nodes{a="b"}', 'nodes; extended_available{x="b"}'):
        yield case(
            f"measures: {query}", scorers=source(f"type: Kubernetes, params: {{query: '{query}'}}")
        )
    for new in (
        "metadata: [a]",
        "metadata: {name: cpu, labels: [a], annotations: 3}",
        "metadata: a",
    ):
        yield f"a scorer with {new}", {"scorers": SCORER.replace("metadata: {name: cpu}", new)}
    for span in ("", "path: /api/v1/query, "):
        yield case(
            f"many points at {span or 'no path'}",
            scorers=source(
                f"{span}host: 'http://prom.svc', params: {{query: up, range: 60000, step: 1}}"
            ),
        )
    fleet = both(cluster("'1'"), cluster("eu-1"))
    longer = APP.replace("{name: web}", "{name: web-eu}")
    follows = f"{{clusterDecisionResource: {{{CONFIG}, {LABELS}}}}}"
    for title, generators in (
        ("two generators", f"{follows}, {{clusters: {{}}}}"),
        ("a mapping of labels", follows.replace(": p}", ": {p: q}}")),
    ):
        for name in ("web-{{name}}", "web-eu-{{name}}"):
            text = application_set(generators).replace(
                "metadata: {name: a}, spec: {project",
                f"metadata: {{name: '{name}'}}, spec: {{project",
            )
            yield case(
                f"an ApplicationSet of {name} with {title}",
                clusters=fleet,
                apps=both(APP, longer, placement("{clusterSets: [global]}"), text),
            )
    for resource in ("[a]", "{a: b}", "3", "null"):
        yield (
            f"a Placement that ranks by {resource}, of type AddOn",
            {"apps": policy(add_on(resource))},
        )
    config = "source: {type: None, params: {range: 60}}"
    lock = LOCK.replace("config: {}", f"config: {{{config}}}")
    yield f"a lock that alone says {config}", {"scorers": FULL, "locks": lock}
    yield case(
        "a step of two seconds",
        scorers=source("host: 'http://prom.svc', params: {query: up, range: 21998, step: 1}"),
    )
    for query in ("up; ", " ;up", ";", "up;  ;down"):
        yield case(
            f"upstream: '{query}' with a blank",
            settings=UPSTREAM,
            scorers=asking(query).replace("  scoreRange: {min: 0, max: 1}\n", ""),
        )
    yield case(
        "upstream: type Prometheus without a query",
        settings=UPSTREAM,
        scorers=source("type: Prometheus, host: 'http://prom.svc'"),
    )
    spec = "prioritizerPolicy: [{configurations: [a]}]"
    yield f"Placement with {spec}", {"apps": placement(f"{{{spec}}}")}
    yield case(
        "Placement of 101 clusters with numberOfClusters: true",
        clusters=many_of(101),
        apps=placement("{clusterSets: [global], numberOfClusters: true}"),
    )
    for url in ("http://u@a/b.git", "ftp://u@a/b.git"):
        yield (
            f"settings with {url}",
            {"settings": SETTINGS.replace("https://git.example.com/fleet.git", url)},
        )
    yield case(
        "Placement of no set with numberOfClusters: 101",
        apps=placement("{clusterSets: [], numberOfClusters: 101}"),
    )
    yield case(
        "an ApplicationSet whose labelSelector is a list",
        apps=both(
            placement("{}"),
            application_set(f"{{clusterDecisionResource: {{{CONFIG}, labelSelector: [a]}}}}"),
        ),
    )
    yield case(
        "on the hub, the second expression mixes clusters",
        scorers=asked("sum by (cluster) (up); 1 + sum(down)", HUB),
    )
    yield case(
        "dialect Other, whose series are not known to share an item",
        scorers=asked("up").replace("source: {", "source: {dialect: Other, "),
    )
    yield (
        "PromQL: a mistake in a query of 65537 characters",
        {"scorers": asking("up up" + " " * 65_532)},
    )
    yield case(
        "an ApplicationSet for a ScoredPlacement elsewhere whose names collide",
        clusters=fleet,
        apps=both(
            APP,
            SHARED.replace("{name: shared}", "{name: p, namespace: kueue}"),
            application_set(follows).replace(
                "metadata: {name: a}, spec: {project",
                "metadata: {name: 'web-{{name}}'}, spec: {project",
            ),
        ),
    )
    yield case(
        "two hosts that get the token of the pod",
        scorers=asking("up")
        .replace("host:", "auth: {serviceAccountToken: true}, host:")
        .replace(
            "scoring: {", "scoring: {host: 'http://api.svc', auth: {serviceAccountToken: true}, "
        ),
    )
    yield case(
        "a query without a host and a lock",
        scorers=source("params: {query: up, range: 60, step: 60}", FULL),
    )
    yield case(
        "masks in two configs",
        config=both(
            masks("{clusterName: '*', scoreName: cpu_score}"),
            masks("{clusterName: xyz, scoreName: abc}").replace("dynamic-scoring-config", "other"),
        ),
    )
    yield case(
        "source.ref and a Secret of the agent",
        config=variants(host),
        scorers=USES.replace(
            "ref:", "auth: {tokenSecretRef: {name: bootstrap-hub-kubeconfig, key: k}}, ref:"
        ),
    )
    for kind in ("Kubernetes", "None"):
        yield case(
            f"on the hub without a label, type {kind}",
            scorers=HUB.replace(f", {LABEL}", "").replace("{host:", f"{{type: {kind}, host:"),
        )
    yield (
        "PromQL: a mistake in a query of 65536 characters",
        {"scorers": asking("up up" + " " * 65_531)},
    )
    yield "a token in a MetricSource", {"config": variants(f"{host}, path: /ghp_0123456789abcdef")}
    yield case(
        "a label that is a list",
        apps=placement("{}").replace("name: p,", "name: p, labels: {a: [b]},"),
    )


SYNC = (
    "{automated: {allowEmpty: false, enabled: true, prune: true, selfHeal: true},"
    " managedNamespaceMetadata: {annotations: {a: b}, labels: {a: b}},"
    " retry: {backoff: {duration: 5s, factor: 2, maxDuration: 3m}, limit: 5, refresh: true},"
    " syncOptions: [CreateNamespace=true]}"
)
TEMPLATE = (
    "{metadata: {annotations: {a: b}, finalizers: [f], labels: {a: b}, name: 'a-{{name}}', namespace: argocd},"
    " spec: {destination: {name: a, namespace: b, server: c}, ignoreDifferences: [], info: [], project: a,"
    " revisionHistoryLimit: 1, source: {repoURL: 'https://a/b', path: a}, sourceHydrator: {a: b}, sources: [],"
    f" syncPolicy: {SYNC}}}}}"
)
TERMS = "matchExpressions: [{key: a, operator: In, values: [b]}]"
CLUSTERS = f"{{labelSelector: {{matchLabels: {{a: b}}, {TERMS}}}, claimSelector: {{{TERMS}}}, celSelector: {{celExpressions: ['true']}}}}"
DECISIONS = (
    f"{{clusterDecisionResource: {{{CONFIG}, labelSelector: {{matchLabels: {{cluster.open-cluster-management.io/placement: p}}, {TERMS}}},"
    f" requeueAfterSeconds: 60, template: {TEMPLATE}, values: {{a: b}}}}}}"
)
NAMED = f"{{clusterDecisionResource: {{{CONFIG}, name: p-decision-1}}}}"


def _every_field() -> Iterator[tuple[str, Documents]]:
    """Nothing is found about a field that the API server knows."""
    placement_spec = (
        "{clusterSets: [global], decisionStrategy: {groupStrategy: {clustersPerDecisionGroup: 1, decisionGroups:"
        f" [{{groupName: ab, groupClusterSelector: {CLUSTERS}}}]}}}}, numberOfClusters: 1,"
        f" predicates: [{{requiredClusterSelector: {CLUSTERS}}}],"
        " prioritizerPolicy: {mode: Exact, configurations: [{scoreCoordinate: {type: BuiltIn, builtIn: Steady}, weight: 1},"
        f" {add_on()}]}}, scoreRateLimit: 1, sortBy: a,"
        " spreadPolicy: {spreadConstraints: [{maxSkew: 1, topologyKey: a, topologyKeyType: Label, whenUnsatisfiable: DoNotSchedule}]},"
        " tolerations: [{key: a, operator: Equal, value: b, effect: NoSelect, tolerationSeconds: 1}]}"
    )
    yield "a Placement with every field", {"apps": placement(placement_spec)}
    yield case(
        "an application with every field of a syncPolicy",
        apps=app("path: deploy}", f"path: deploy}}, syncPolicy: {SYNC}"),
    )
    for title, generators in (
        ("", f"[{DECISIONS}]"),
        (" and a name", f"[{NAMED}]"),
        (
            " and every generator",
            (
                f"[{{clusters: {{}}}}, {{git: {{}}}}, {{list: {{}}}}, {{matrix: {{generators: [{DECISIONS}], template: {TEMPLATE}}}}},"
                f" {{merge: {{generators: [{DECISIONS}], mergeKeys: [a], template: {TEMPLATE}}}}}, {{plugin: {{}}}},"
                f" {{pullRequest: {{}}}}, {{scmProvider: {{}}, selector: {{matchLabels: {{a: b}}, {TERMS}}}}}]"
            ),
        ),
    ):
        spec = (
            f"{{applyNestedSelectors: true, generators: {generators}, goTemplate: false, goTemplateOptions: [],"
            " ignoreApplicationDifferences: [], preservedFields: {}, strategy: {},"
            " syncPolicy: {applicationsSync: create-update, preserveResourcesOnDeletion: true},"
            f" template: {TEMPLATE}, templatePatch: 'spec: {{a: b}}'}}"
        )
        text = f"apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: a}}\nspec: {spec}\n"
        yield f"an ApplicationSet with every field{title}", {"apps": both(placement("{}"), text)}
