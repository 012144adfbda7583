# ruff: noqa: E501 - texts of documents
"""Small repositories for tests/golden/test_findings.py: scorers, their queries and locks."""

from collections.abc import Iterator

from tests.golden.findings_documents import (
    CLUSTER,
    HUB,
    LABEL,
    QUERY,
    SCORER,
    SETTINGS,
    Documents,
    asked,
    below,
    both,
    case,
    cluster,
    edge,
    many_of,
    ranged,
    second,
    settings,
    source,
    variants,
)
from tests.support.repositories import (
    AGENT_IMAGE,
    APP,
    BARE,
    BY_QUERY,
    FULL,
    LOCK,
    MANY,
    UPSTREAM,
    asking,
    listed,
    masks,
    policy,
)


def claims(count: int, own: int) -> str:
    names = [f"c{number:02}" for number in range(own)]
    names += [f"x{number}.k8s.io" for number in range(count - own)]
    listed = ", ".join(f"{{name: {name}, value: a}}" for name in names)
    return f"{CLUSTER}status: {{clusterClaims: [{listed}]}}\n"


HUB_API = HUB.replace(
    "  scoring: {type: Query, ",
    "  configURL: http://api.svc:8000/config\n  configSyncMode: None\n  scoring: {",
)


def hub_scorers_with(auth: str) -> tuple[tuple[str, str], ...]:
    """Scorers on the hub that send a credential, by the section that has it."""
    return (
        ("source", HUB.replace("{host:", f"{{auth: {{{auth}}}, host:")),
        ("scoring", HUB_API.replace("scoring: {", f"scoring: {{auth: {{{auth}}}, ")),
    )


def _queries() -> Iterator[tuple[str, Documents]]:
    for word in (
        "| json",
        "default 0",
        "DEFAULT 0",
        "if up",
        "ifnot up",
        "keep_metric_names",
        "nonsense",
    ):
        yield f"PromQL: up {word}", {"scorers": asking(f"up {word}")}
        yield case(
            f"MetricsQL: up {word}",
            scorers=asking(f"up {word}").replace("host:", "dialect: MetricsQL, host:"),
        )
    for size in (65_536, 65_537):
        yield f"query of {size} characters", {"scorers": asking("up" + "_" * (size - 2))}
    for template in listed("""
        ${nodes} | ${xyz} | $node | ${node | ${ | ${scoreName} | a$nodes | ${scoreName}$node.x
        ${node}${nod} | ${cluster};${meta} | ${namespace};${pod}
    """):
        yield (
            f"dimension format {template}",
            {"scorers": below(f"scoreDimensionFormat: '{template}'")},
        )
    for template in ("${node}${nod}", "${cluster};${meta}", "${namespace};${pod}", "$node"):
        yield case(
            f"dimension format {template} with a query",
            scorers=below(f"scoreDimensionFormat: '{template}'", asking("sum by (pod) (up)")),
        )
        yield case(
            f"dimension format {template} with two queries",
            scorers=below(
                f"scoreDimensionFormat: '{template}'",
                asking("sum by (pod) (up); sum by (node) (up)"),
            ),
        )
    for text in ("k8s.pod.cpu", "sum(k8s.pod.cpu)", "up.", "up{a.b='c'}"):
        yield f"PromQL: {text}", {"scorers": asking(text.replace("'", '"'))}
    for query in ("ratee(up[5m])", "holt_winters(up[1h], 0.5, 0.5)", "range_median(up[1h])"):
        yield f"PromQL: {query}", {"scorers": asking(query)}
        metricsql = asking(query).replace("host:", "dialect: MetricsQL, host:")
        yield f"MetricsQL: {query}", {"scorers": metricsql}


def _durations() -> Iterator[tuple[str, Documents]]:
    for interval in (0, 1):
        yield (
            f"interval {interval}",
            {"scorers": SCORER.replace("interval: 60", f"interval: {interval}")},
        )
    for span, step in ((60, 0), (10_999, 1), (21_999, 2)):
        yield case(
            f"range {span} and step {step}",
            scorers=asking("up", span=f"range: {span}, ").replace("step: 60", f"step: {step}"),
        )
    for fields in ("params: {range: 60}", "params: {step: 60}"):
        yield f"source {fields}", {"scorers": source(fields)}
        yield (
            f"source {fields} and no lock",
            {"scorers": source(fields, FULL.replace(", interval: 60", ""))},
        )
    for ttl in (119, 120, 600):
        yield f"scoreTTLSeconds {ttl}", {"scorers": below(f"scoreTTLSeconds: {ttl}")}
    yield case(
        "scoreTTLSeconds 300 and interval 200",
        scorers=below("scoreTTLSeconds: 300").replace("interval: 60", "interval: 200"),
    )


def _locks() -> Iterator[tuple[str, Documents]]:
    def locked(config: str, text: str = FULL, **more: str) -> Documents:
        return {
            "scorers": text,
            "locks": LOCK.replace("config: {}", f"config: {{{config}}}"),
            **more,
        }

    spec = source(
        "host: http://prom.a:9090, path: /query, params: {query: up, range: 60, step: 60}", FULL
    )
    for config in listed("""
        source: {type: None} | source: {path: /q} | source: {params: {query: down}}
        source: {params: {range: 61}} | source: {params: {step: 61}}
        source: {params: {query: up, range: 60, step: 60}} | scoring: {path: /s}
        scoring: {params: {name: other}} | scoring: {params: {interval: 61}}
    """):
        yield f"lock {config}", locked(config, spec)
    for url in listed("""
        http://prom.a:9090 | http://PROM.A:9090 | https://prom.a:9090 | http://prom.a:9091
        http://prom.b:9090 | http://[ | prom
    """):
        for auth in ("", "tokenSecretRef: {name: t, key: k}", "serviceAccountToken: true"):
            text = spec if not auth else spec.replace("params:", f"auth: {{{auth}}}, params:", 1)
            yield (
                f"a lock that moves the source to {url}, auth {auth}",
                locked(f"source: {{host: '{url}'}}", text),
            )
    for url in ("http://api.b", "http://[::1", "http://a.example.com"):
        yield (
            f"a lock that moves scoring to {url} where hosts are allowed",
            locked(
                f"scoring: {{host: '{url}'}}",
                settings=settings("allowedHosts: ['*.example.com', other]"),
            ),
        )
        yield (
            f"a lock that moves scoring to {url} with a token",
            locked(
                f"scoring: {{host: '{url}'}}",
                FULL.replace("scoring: {", "scoring: {auth: {tokenSecretRef: {name: t, key: k}}, "),
            ),
        )
    yield "a lock of nobody", {"locks": LOCK.replace("name: cpu", "name: xyz")}
    yield "a lock of cpuu", {"locks": LOCK.replace("name: cpu", "name: cpuu")}
    yield "a lock of a scorer without sync", locked("", SCORER)
    yield "no lock", {"scorers": FULL}
    yield "a lock that lacks the interval", locked("", FULL.replace(", interval: 60", ""))
    yield (
        "a lock with a mistake",
        {"scorers": FULL, "locks": LOCK.replace("config: {}", "config: 3")},
    )
    spec = source(
        "host: 'http://[', auth: {tokenSecretRef: {name: t, key: k}}, params: {query: up, range: 60, step: 60}",
        FULL,
    )
    for url in ("http://[", "http://[a"):
        yield case(
            f"a lock that moves a source from no URL to {url} with a token",
            scorers=spec,
            locks=LOCK.replace("config: {}", f"config: {{source: {{host: '{url}'}}}}"),
        )


def _score_names() -> Iterator[tuple[str, Documents]]:
    yield "two score names that are equal", {"scorers": both(SCORER, second(score="cpu_score"))}
    yield "two score names of one object", {"scorers": both(SCORER, second(score="CPU-score"))}
    yield case(
        "three score names of one object",
        scorers=both(SCORER, second(score="CPU-score"), second(name="net", score="cpu.score")),
    )
    yield case(
        "two scorers without score names",
        scorers=both(
            *(
                text.replace("{name: cpu_score, ", "{").replace("{name: gpu_score, ", "{")
                for text in (FULL, second(FULL))
            )
        ),
    )


def _scales() -> Iterator[tuple[str, Documents]]:
    """Scales that hide differences of scores, and dead bands."""
    for outputs in ((0, 100), (100, 0), (1, 100)):
        yield f"outputs {outputs}", {"scorers": ranged(*outputs), "apps": APP}
    for points in (20, 21):
        scorers = below(f"publish: {{deadband: {points}}}")
        yield f"a dead band of {points}", {"scorers": scorers, "apps": APP}
    for query in ("100 * avg(up)", "avg(up)"):
        scorers = BY_QUERY.replace("avg(up)", query) + "  scoreRange: {min: 0, max: 1}\n"
        yield f"{query} from 0 to 1", {"scorers": scorers}
    for query in (
        "avg(cpu:ratio)",
        "1 - avg(avg_over_time(cpu_used_ratio[1h]))",
        "100 * avg(cpu:ratio)",
        "sum(cpu_used_ratio)",
        "cpu:ratio; avg(up)",
        "avg(cpu_ratios)",
    ):
        scorers = BY_QUERY.replace("avg(up)", query) + "  scoreRange: {min: 0, max: 100}\n"
        yield f"{query} from 0 to 100", {"scorers": scorers}
    for scale in ("{min: 0, max: 1}", "{min: 0, max: 50}"):
        scorers = BY_QUERY.replace("avg(up)", "avg(cpu:ratio)") + f"  scoreRange: {scale}\n"
        yield f"avg(cpu:ratio) on {scale}", {"scorers": scorers}


def _score_writes() -> Iterator[tuple[str, Documents]]:
    """Fleets with many writes of scores, near the limit of a small hub."""
    for ttl in (60, 120):
        scorers = both(
            *(
                second(
                    below(f"scoreTTLSeconds: {ttl}").replace("interval: 60", "interval: 20"),
                    f"s{n}",
                    f"s{n}_score",
                )
                for n in range(30)
            )
        )
        yield (
            f"30 scores on 202 clusters with scoreTTLSeconds {ttl}",
            {"scorers": scorers, "clusters": MANY},
        )
    yield case(
        "ten thousand writes a second",
        scorers=below("scoreTTLSeconds: 2").replace("interval: 60", "interval: 1"),
        clusters=many_of(202),
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


def _upstream() -> Iterator[tuple[str, Documents]]:
    def upstream(text: str, **more: str) -> Documents:
        return {
            "settings": UPSTREAM,
            "scorers": text.replace("  scoreRange: {min: 0, max: 1}\n", ""),
            **more,
        }

    for text in ("up;", 'sum(a{b=";"})', 'sum(a{b=";;"})', "up # a;b\\n", "a;sum(b;c);d", " ; "):
        yield f"upstream: {text}", upstream(asking(text))
    for span in ("", "range: 0, ", "range: 60, "):
        yield f"upstream: {span or 'no range'}", upstream(asking("up", span=span))
        yield (
            f"upstream: {span or 'no range'} and no lock",
            upstream(
                asking("up", span=span).replace("configSyncMode: None", "configSyncMode: Full")
            ),
        )
        yield f"upstream: {span or 'no range'} and no query", upstream(asking("", span=span))
    for fields in (
        "path: /api/v1/query, host: http://prom:9090",
        "host: http://prom:9090/api/v1/query",
    ):
        yield (
            f"upstream: {fields}",
            upstream(asking("up").replace("host: http://prom:9090", fields)),
        )
    for hosts in (
        "scoring: {host: 'http://api.svc:8000'}",
        "scoring: {host: 'http://prom:9090'}, source: {host: 'http://prom:9090'}",
        "scoring: {host: 'http://api.svc:8000'}, source: {host: 'http://prom:9090'}",
        "source: {host: 'http://prom:9090'}",
    ):
        yield (
            f"upstream: lock {hosts}",
            upstream(FULL, locks=LOCK.replace("config: {}", f"config: {{{hosts}}}")),
        )
    for mask in (
        "{clusterName: 'prod-*', scoreName: cpu_score}",
        "{clusterName: prod-1, scoreName: 'cpu*'}",
        "{clusterSelector: {}, scoreName: cpu_score}",
    ):
        yield f"upstream: mask {mask}", upstream(BARE, config=masks(mask))
    for weight in (1, -1):
        by_hand = policy(
            "{scoreCoordinate: {type: AddOn, addOn: {resourceName: cpu-score, scoreName:"
            f" cpu_score}}}}, weight: {weight}}}"
        )
        yield f"upstream: a Placement by hand, weight {weight}", upstream(BARE, apps=by_hand)
    for crds in ("Existing", "Rendered"):
        for mode in ("UpstreamController", "ManifestWork"):
            delivery = f"delivery: {{mode: {mode}, crds: {crds}}}"
            base = SETTINGS if mode == "ManifestWork" else SETTINGS.replace(AGENT_IMAGE, "")
            yield case(delivery, settings=settings(delivery, base), scorers=BARE)
    for kind in ("API", "Query"):
        yield case(
            f"upstream: scoring.type {kind}",
            settings=UPSTREAM,
            scorers=BARE.replace("scoring: {", f"scoring: {{type: {kind}, "),
        )
