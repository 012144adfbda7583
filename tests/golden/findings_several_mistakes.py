# ruff: noqa: E501 - texts of documents
"""Small repositories for tests/golden/test_findings.py: several mistakes at once.

One mistake must not hide another one, nor be reported in two places.
"""

from collections.abc import Iterator

from tests.golden.findings_documents import (
    BROKEN_CLUSTER,
    CLUSTER,
    HUB,
    LABEL,
    QUERY,
    SCORER,
    SET,
    SETTINGS,
    SHARED,
    USES,
    Documents,
    add_on,
    asked,
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

BROKEN_SCORER = second().replace("interval: 60", "interval: x")


def _beside_mistakes() -> Iterator[tuple[str, Documents]]:
    """A finding beside a mistake that may be its cause, or not."""
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


def _told_once() -> Iterator[tuple[str, Documents]]:
    """A mistake in one document is not reported at another one as well."""
    mask = masks("{clusterName: prod-1, scoreName: cpu_score}")
    for old, new in (
        ("kind: DynamicScorer\n", ""),
        ("kind: DynamicScorer", "kind: 5"),
        ("kind: DynamicScorer", "kind: dynamicscorer"),
        ("metadata: {name: cpu}", "metadata: {}"),
        ("metadata: {name: cpu}", "metadata: {name: CPU}"),
        ("metadata: {name: cpu}", "metadata: {name: 5}"),
        (SCORER, "kind: [\n"),
        ("{min: 0, max: 1}", "{min: zero, max: 1}\n  suspend: 'true'\n  scoreTTLSeconds: soon"),
    ):
        yield case(
            f"a scorer with {' '.join(new.split()) or 'no kind'}",
            scorers=SCORER.replace(old, new),
            apps=APP,
            config=mask,
        )
    yield case(
        "applications that cannot be read",
        apps="kind: [\n",
        config=masks("{clusterName: prod-2, scoreName: cpu_score}"),
    )
    reserved = SCORER.replace(
        "scoring: {", "scoring: {auth: {tokenSecretRef: {name: hub-kubeconfig, key: k}}, "
    )
    yield case(
        "a wrong mode and a reserved Secret",
        settings=settings("delivery: {mode: 5}"),
        scorers=reserved,
    )
    for stickiness in (0, 20):
        yield case(
            f"no weight, stickiness {stickiness}",
            apps=app(
                "[{scorer: cpu}]", f"[{{scorer: cpu, weight: 0}}]\n  stickiness: {stickiness}"
            ),
        )
    for auth in listed("""
        {token: abcdefgh} | {token: abc} | {username: abc}
        {tokenSecretRef: {name: a, key: b, value: abcdefgh}} | {serviceAccountToken: 'true'}
    """):
        yield case(
            f"scoring.auth {auth}",
            scorers=SCORER.replace("scoring: {", f"scoring: {{auth: {auth}, "),
        )
        yield case(
            f"source.auth {auth}",
            scorers=source(
                f"host: 'http://p.svc', auth: {auth}, params: {{query: up, range: 60, step: 30}}"
            ),
        )
    old = LOCK.replace("http://api.svc:8000/config,", "http://old.svc/config,")
    yield case("a lock of another page", scorers=FULL, locks=old)
    everything = both(
        SCORER,
        SCORER.replace("interval: 60", "interval: 0")
        .replace("description", "descripton")
        .replace("cpu", "gpu"),
    )
    yield case(
        "mistakes of every stage",
        settings=SETTINGS.replace("git.example.com", "user:pass@git.example.com"),
        scorers=everything,
        clusters=both(CLUSTER, "kind: [\n", cluster("edge_1")),
        config=masks(
            "{clusterName: prod-1, scoreName: cpu_score}, {clusterName: prod-1, scoreName: cpu_score}"
        ),
        apps=both(
            placement("{numberOfClusters: 0}"), application_set("{clusterDecisionResource: {}}")
        ),
    )
