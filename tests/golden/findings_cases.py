# ruff: noqa: E501 - texts of documents
"""Small repositories for tests/golden/test_findings.py, by name.

Each is near the limit of a rule.
"""

from collections.abc import Iterator, Mapping

from tests.support.repositories import (
    APP,
    BARE,
    BASE,
    BY_QUERY,
    CONFIG,
    FULL,
    LABELS,
    LOCK,
    MANY,
    UPSTREAM,
    app,
    application_set,
    asking,
    listed,
    masks,
    placement,
    policy,
)

Documents = Mapping[str, str]
SETTINGS = BASE["gitops-dsf.yaml"]
CLUSTER = BASE["clusters/c.yaml"]
SCORER = BASE["scorers/s.yaml"]
SHARED = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: ScoredPlacement
metadata: {name: shared}
spec: {scores: [{scorer: cpu}], placement: {numberOfClusters: 1}}
"""
SET = """\
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSet
metadata: {name: edge}
spec: {clusterSelector: {selectorType: LabelSelector, labelSelector: {matchLabels: {env: prod}}}}
"""


def case(name: str, **documents: str) -> tuple[str, Documents]:
    return name, documents


def settings(new: str, text: str = SETTINGS) -> str:
    """Settings with a new field, or with more fields in a section that is there."""
    section, _, fields = new.partition("{")
    if f", {section}{{" in text:
        return text.replace(f", {section}{{", f", {section}{{{fields[:-1]}, ")
    return text.replace("spec: {", f"spec: {{{new}, ")


def cluster(name: str, labels: str = "env: prod") -> str:
    return CLUSTER.replace("prod-1", name).replace("env: prod", labels)


def both(*texts: str) -> str:
    return "---\n".join(texts)


def second(text: str = SCORER, name: str = "gpu", score: str = "gpu_score") -> str:
    return text.replace("{name: cpu}", f"{{name: {name}}}").replace("cpu_score", score)


PLACES: Mapping[str, Documents] = {
    "of an unknown fleet": {"clusters": SET},
    "beside a broken cluster": {"clusters": both(CLUSTER, cluster("xyz", "env: [a]"))},
    "beside a broken scorer": {
        "scorers": both(SCORER, second().replace("interval: 60", "interval: x"))
    },
    "beside a scorer without a lock": {
        "scorers": both(SCORER, second(FULL).replace(", interval: 60", ""))
    },
}


def around(name: str, *places: str, **documents: str) -> Iterator[tuple[str, Documents]]:
    """A case alone, and in some places."""
    yield name, documents
    for place in places:
        yield f"{name} {place}", {**documents, **PLACES[place]}


def below(spec: str, text: str = SCORER) -> str:
    """The scorer with one more field of the spec, before `scoring`."""
    return text.replace("  scoring:", f"  {spec}\n  scoring:")


def source(fields: str, text: str = SCORER) -> str:
    return below(f"source: {{{fields}}}", text)


USES = source("ref: platform, params: {query: up, range: 60, step: 60}")
"""A scorer of the MetricSource of `variants`."""


def cel(expression: str) -> str:
    quoted = expression.replace("'", "''")
    return placement(
        f"{{predicates: [{{requiredClusterSelector: {{celSelector: {{celExpressions: ['{quoted}']}}}}}}]}}"
    )


def selector(text: str) -> str:
    return placement(f"{{predicates: [{{requiredClusterSelector: {{labelSelector: {text}}}}}]}}")


def generator(fields: str, rest: str = "syncPolicy: {applicationsSync: create-update}") -> str:
    return both(
        placement("{}"), application_set(f"{{clusterDecisionResource: {{{fields}}}}}", rest)
    )


def nested(kinds: tuple[str, ...]) -> str:
    text = f"{{clusterDecisionResource: {{{CONFIG}, name: p-decision-1}}}}"
    for kind in reversed(kinds):
        text = f"{{{kind}: {{generators: [{text}, {{clusters: {{}}}}]}}}}"
    return both(placement("{}"), application_set(text))


def named(name: str, template: str, follows: str = "p") -> str:
    text = application_set(
        f"{{clusterDecisionResource: {{{CONFIG}, {LABELS.replace(': p}', f': {follows}}}')}}}}}"
    )
    return text.replace("{name: a}", f"{{name: {name}}}", 1).replace(
        "metadata: {name: a}, spec: {project", f"metadata: {{name: '{template}'}}, spec: {{project"
    )


def add_on(resource: str = "cpu-score", item: str = "cpu_score", weight: int = 5) -> str:
    return (
        f"{{scoreCoordinate: {{type: AddOn, addOn: {{resourceName: {resource}, scoreName: {item}}}}},"
        f" weight: {weight}}}"
    )


def ranged(first: int, last: int, text: str = SCORER) -> str:
    return text.replace(
        "{min: 0, max: 1}", f"{{min: 0, max: 1, outputMin: {first}, outputMax: {last}}}"
    )


def weighted(*weights: int, rest: str = "") -> str:
    scores = ", ".join(
        f"{{scorer: {name}, weight: {weight}}}"
        for name, weight in zip(("cpu", "gpu"), weights, strict=False)
    )
    return app("scores: [{scorer: cpu}]", f"scores: [{scores}]{rest}")


def many_of(count: int) -> str:
    return "---\n".join(MANY.split("---\n")[:count])


def claims(count: int, own: int) -> str:
    names = [f"c{number:02}" for number in range(own)]
    names += [f"x{number}.k8s.io" for number in range(count - own)]
    listed = ", ".join(f"{{name: {name}, value: a}}" for name in names)
    return f"{CLUSTER}status: {{clusterClaims: [{listed}]}}\n"


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


def _names() -> Iterator[tuple[str, Documents]]:
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
    yield case(
        "a Placement of an application",
        apps=both(APP, placement("{}").replace("name: p", "name: web")),
    )
    yield case(
        "a Placement of an application elsewhere",
        apps=both(
            APP, placement("{}").replace("name: p, namespace: argocd", "name: web, namespace: web")
        ),
    )
    yield case(
        "a Placement of an application in the default namespace",
        apps=both(APP, placement("{}").replace("name: p, namespace: argocd", "name: web")),
    )
    yield case(
        "an ApplicationSet of an application",
        apps=both(APP, placement("{}"), named("web", "x-{{name}}")),
    )
    yield case(
        "a ScoredPlacement of an application",
        apps=both(APP, SHARED.replace("name: shared", "name: web")),
    )
    for size in (63, 64):
        name = "a" * size
        yield (
            f"an application of {size} characters",
            {"apps": app("{name: web}", f"{{name: {name}}}")},
        )
        yield case(
            f"a ScoredPlacement of {size} characters",
            apps=SHARED.replace("name: shared", f"name: {name}"),
        )


def _masks() -> Iterator[tuple[str, Documents]]:
    for text in listed("""
        {clusterName: '*', scoreName: cpu_score}, {clusterName: prod-1, scoreName: cpu_score}
        {clusterSelector: {matchLabels: {env: prod}}, scoreName: '*'}, {clusterSelector: {matchLabels: {env: prod}}, scoreName: '*'}
        {clusterSelector: {matchLabels: {env: prod}}, scoreName: '*'}, {clusterSelector: {}, scoreName: '*'}
        {clusterSelector: {matchLabels: {env: prd}}, scoreName: '*'}
        {clusterName: xyz, scoreName: cpu_score} | {clusterName: prod1, scoreName: cpu_score}
        {clusterName: 'x*', scoreName: cpu_score}
    """):
        yield from around(
            f"masks {text}", "of an unknown fleet", "beside a broken cluster", config=masks(text)
        )
    for text in listed("""
        {clusterName: '*', scoreName: cpu_score}, {clusterName: prod-1, scoreName: cpu_scor}
        {clusterName: prod-1, scoreName: 'x*'} | {clusterName: prod-1, scoreName: xyz}
        {clusterName: prod-1, scoreName: cpu} | {clusterName: prod-1, scoreName: cpu_scor}
    """):
        yield from around(f"masks {text}", "beside a broken scorer", config=masks(text))
    unnamed = second(FULL).replace("name: gpu_score, ", "")
    yield case(
        "a mask beside a scorer whose score name is not known",
        config=masks("{clusterName: prod-1, scoreName: xyz}"),
        scorers=both(SCORER, unnamed),
    )
    yield case(
        "a mask beside a scorer without a lock",
        config=masks("{clusterName: prod-1, scoreName: xyz}"),
        scorers=both(SCORER, second(FULL).replace(", interval: 60", "")),
    )
    yield case(
        "a mask without scores",
        config=masks("{clusterName: prod-1, scoreName: 'x*'}"),
        scorers=FULL.replace("name: cpu_score, ", ""),
    )
    yield (
        "a config of another name",
        {"config": masks("").replace("dynamic-scoring-config", "other")},
    )
    yield case(
        "masks of every cluster, suspended",
        config=masks("{clusterName: '*', scoreName: cpu_score}"),
        scorers=below("suspend: true"),
    )


def _selectors() -> Iterator[tuple[str, Documents]]:
    for text in (
        "{matchLabels: {env: prod, zone: a}}",
        "{matchExpressions: [{key: env, operator: DoesNotExist}]}",
    ):
        yield from around(
            f"a scorer for {text}",
            "of an unknown fleet",
            "beside a broken cluster",
            scorers=below(f"clusterSelector: {text}"),
        )
        yield case(
            f"ServiceMonitors for {text}",
            settings=settings(f"agent: {{serviceMonitor: {{clusterSelector: {text}}}}}"),
        )
        yield case(
            f"a decision group for {text}",
            apps=SHARED.replace(
                "{numberOfClusters: 1}",
                f"{{decisionGroups: {{groups: [{{groupName: first, clusterSelector: {text}}}]}}}}",
            ),
        )
    yield case(
        "labels with many values",
        scorers=below("clusterSelector: {matchLabels: {env: x}}"),
        clusters=both(*(cluster(f"c{number}", f"env: v{number}") for number in range(8))),
    )
    for text in (
        "{matchExpressions: [{operator: Exists}]}",
        f"{{matchExpressions: [{{key: {'k' * 59}!, operator: Exists}}]}}",
        f"{{matchExpressions: [{{key: {'k' * 60}!, operator: Exists}}]}}",
        "{matchExpressions: [{key: a}]}",
        "{matchExpressions: [{key: a, operator: In}]}",
        "{matchExpressions: [{key: a, operator: NotIn}]}",
        "{matchExpressions: [{key: a, operator: NotIn, values: []}]}",
        "{matchExpressions: [{key: a, operator: In, values: b}]}",
        "{matchExpressions: [{key: a, operator: Exists, values: [b]}]}",
        "{matchExpressions: [{key: a, operator: DoesNotExist, values: [b]}]}",
        "{matchExpressions: [{key: a, operator: In, values: [true, 1, 1.5, null, ' ', '']}]}",
        "{matchExpressions: 3}",
        "{matchLabels: [a]}",
        "{matchExpressions: [a]}",
        "{matchExpressions: {key: a, operator: Exists}}",
        "3",
        "{matchLabels: {'': a}}",
        f"{{matchLabels: {{{'d' * 254}/a: b}}}}",
        "{matchLabels: {D/a: b}}",
    ):
        yield f"a Placement for {text}", {"apps": selector(text)}


def _labels() -> Iterator[tuple[str, Documents]]:
    for key in listed("""
        argocd.argoproj.io/hook | Argocd.argoproj.io/hook | argocd.argoproj.io/sync-wave | example.com/a | a b
        ''
    """):
        for field in ("labels", "annotations"):
            new = f"{field}: {{{key}: '1'}}"
            yield (
                f"scorer with {new}",
                {"scorers": SCORER.replace("{name: cpu}", f"{{name: cpu, {new}}}")},
            )
            yield f"application with {new}", {"apps": app("{name: web}", f"{{name: web, {new}}}")}
            yield case(
                f"Placement with {new}",
                apps=placement("{}").replace("namespace: argocd", f"namespace: argocd, {new}"),
            )
            yield case(
                f"ApplicationSet with {new}",
                apps=both(
                    placement("{}"),
                    named("a", "a-{{name}}").replace("{name: a}", f"{{name: a, {new}}}", 1),
                ),
            )
            yield f"cluster with {new}", {"clusters": CLUSTER.replace("labels: {env: prod}", new)}
    yield (
        "a label value of 70 characters",
        {"clusters": CLUSTER.replace("env: prod", f"env: {'a' * 70}")},
    )
    yield case(
        "annotations that are a list",
        scorers=SCORER.replace("{name: cpu}", "{name: cpu, annotations: [a]}"),
    )


def _rankings() -> Iterator[tuple[str, Documents]]:
    pair = both(SCORER, second())
    for weights in ((0, 0), (0, 1), (1, 0), (10, 1), (3, -2), (-1, 1)):
        yield f"weights {weights}", {"scorers": pair, "apps": weighted(*weights)}
    for points in (0, 1, 7, 10, 25, 33, 50, 100):
        for weights in ((1, 1), (3, 4), (10, 7)):
            yield case(
                f"stickiness {points} with weights {weights}",
                scorers=pair,
                apps=weighted(*weights, rest=f"\n  stickiness: {points}"),
            )
    for first, last in ((0, 100), (-1, 100), (100, -1), (1, 0), (-100, 0), (-5, -1)):
        for weight in (1, 0, -1):
            yield case(
                f"scores from {first} to {last} with weight {weight}",
                scorers=ranged(first, last),
                apps=weighted(weight),
            )
            yield case(
                f"scores from {first} to {last} with weight {weight} in a Placement",
                scorers=ranged(first, last),
                apps=policy(add_on(weight=weight)),
            )
    yield case(
        "scores of any value with a negative weight in a Placement",
        scorers=BARE,
        apps=policy(add_on(weight=-1)),
    )
    yield (
        "scores of any value, excluded",
        {"scorers": BARE, "apps": APP + "  onMissingScore: Exclude\n"},
    )
    for strategy in ("Replace", "MakeBeforeBreak"):
        for missing in ("Exclude", "Neutral"):
            yield case(
                f"moves {strategy} with missing scores {missing}",
                apps=APP + f"  onMissingScore: {missing}\n  moves: {{strategy: {strategy}}}\n",
            )
            yield case(
                f"moves {strategy} with missing scores {missing} of a ScoredPlacement",
                apps=both(
                    app("{numberOfClusters: 1}\n  scores: [{scorer: cpu}]", "{ref: shared}")
                    + f"  moves: {{strategy: {strategy}}}\n",
                    SHARED.replace("spec: {", f"spec: {{onMissingScore: {missing}, "),
                ),
            )
    for scores in ("{scorer: cpu}, {scorer: cpu, dimension: cpu_score}",):
        yield f"scores {scores}", {"apps": app("{scorer: cpu}", scores)}
    for template in ("${scoreName}", "${scoreName};${node}", "${cluster}", "x", "${nodes}"):
        for dimension in (
            "",
            ", dimension: x",
            ", dimension: 'cpu_score;a'",
            ", dimension: cpu_score",
        ):
            yield case(
                f"format {template} and score{dimension}",
                scorers=below(f"scoreDimensionFormat: '{template}'"),
                apps=app("{scorer: cpu}", f"{{scorer: cpu{dimension}}}"),
            )
    by_node = below("scoreDimensionFormat: '${node}'")
    placeholder = app("{scorer: cpu}", "{scorer: cpu, dimension: '${node}'}")
    yield case("an item with a placeholder", scorers=by_node, apps=placeholder)
    yield case(
        "a score of a scorer without a score name",
        scorers=FULL.replace("name: cpu_score, ", ""),
        apps=app("{scorer: cpu}", "{scorer: cpu, dimension: x}"),
    )
    for name in ("xyz", "cpuu", "cpu_score"):
        yield f"scorer {name}", {"apps": app("{scorer: cpu}", f"{{scorer: {name}}}")}
    yield "scorer xyz of an empty fleet", {"apps": APP, "scorers": ""}
    yield (
        "a scorer that waits for its lock",
        {"apps": APP, "scorers": FULL.replace(", interval: 60", "")},
    )
    yield case(
        "a scorer whose score name only upstream knows",
        apps=APP,
        settings=UPSTREAM,
        scorers=FULL.replace("name: cpu_score, ", "").replace(
            "  scoreRange: {min: 0, max: 1}\n", ""
        ),
    )
    yield case(
        "a scorer that only upstream knows",
        apps=APP,
        settings=UPSTREAM,
        scorers=FULL.replace(", interval: 60", "").replace("  scoreRange: {min: 0, max: 1}\n", ""),
    )
    follow = app("{numberOfClusters: 1}\n  scores: [{scorer: cpu}]", "{ref: REF}")
    for ref in ("shared", "shred", "web", "p", "xyz"):
        yield (
            f"placement.ref {ref}",
            {"apps": both(follow.replace("REF", ref), SHARED, placement("{}"))},
        )
    yield case(
        "placement.ref of a ScoredPlacement elsewhere",
        apps=both(
            follow.replace("REF", "shared"),
            SHARED.replace("{name: shared}", "{name: shared, namespace: kueue}"),
        ),
    )
    yield case(
        "placement.ref of a ScoredPlacement with a mistake",
        apps=both(
            follow.replace("REF", "shared"),
            SHARED.replace("numberOfClusters: 1", "numberOfClusters: x"),
        ),
    )
    yield "placement.ref without ScoredPlacements", {"apps": follow.replace("REF", "xyz")}
    yield case(
        "placement.ref and a ranking",
        apps=both(
            app("{numberOfClusters: 1}", "{ref: shared, numberOfClusters: 1}")
            + "  stickiness: 1\n  onMissingScore: Neutral\n",
            SHARED,
        ),
    )
    yield "no ranking", {"apps": app("  scores: [{scorer: cpu}]\n", "")}
    yield "no scores", {"apps": app("[{scorer: cpu}]", "")}


def _targets() -> Iterator[tuple[str, Documents]]:
    for text in ("", "delivery: {mode: UpstreamController}"):
        yield case(
            f"no clusters, {text}",
            settings=settings(text) if text else SETTINGS,
            clusters=SET,
            scorers=BARE,
        )
    for name in listed("""
        kube | kueue
    """):
        yield case(
            f"ScoredPlacement in {name}",
            clusters=cluster("kueue"),
            apps=SHARED.replace("{name: shared}", f"{{name: shared, namespace: {name}}}"),
        )
    for rules in listed("""
        clusterSets: [edge] | clusterSets: [edg] | clusterSets: [globl, defalt]
        clusterSets: [global, default] | clusterSelector: {matchLabels: {env: x}}
        clusterSets: [edge], clusterSelector: {matchLabels: {env: x}}
    """):
        text = app("{numberOfClusters: 1}", f"{{numberOfClusters: 1, {rules}}}")
        yield f"application with {rules}", {"apps": text, "clusters": both(CLUSTER, SET)}
        yield case(
            f"application with {rules} in a fleet where no cluster is in the set",
            apps=text,
            clusters=both(CLUSTER, SET.replace("env: prod", "env: x")),
        )
        yield case(
            f"application with {rules} beside a broken cluster",
            apps=text,
            clusters=both(CLUSTER, SET, cluster("x", "env: [a]")),
        )
        if "clusterSets" in rules:
            yield case(
                f"application with {rules} beside a broken set",
                apps=text,
                clusters=both(CLUSTER, SET.replace("spec: {", "spec: {x: 1, ")),
            )
    for fields in (
        "scoreDestination: None",
        "suspend: true",
        "clusterSelector: {matchLabels: {env: x}}",
    ):
        clusters = both(CLUSTER, cluster("edge-1", "env: edge"))
        chosen = app(
            "{numberOfClusters: 1}",
            "{numberOfClusters: 1, clusterSelector: {matchLabels: {env: prod}}}",
        )
        for title, text in (
            ("application", chosen),
            (
                "Placement",
                policy(add_on()).replace(
                    "spec: {",
                    "spec: {clusterSets: [global], predicates: [{requiredClusterSelector: {labelSelector: {matchLabels: {env: prod}}}}], ",
                ),
            ),
            (
                "Placement of claims",
                policy(add_on()).replace(
                    "spec: {",
                    "spec: {clusterSets: [global], predicates: [{requiredClusterSelector: {claimSelector: {matchExpressions: [{key: a, operator: Exists}]}}}], ",
                ),
            ),
        ):
            yield case(
                f"{title} and scorer with {fields}",
                clusters=clusters,
                scorers=below(fields),
                apps=text,
            )
    for count in (100, 101):
        for number in (
            "",
            "numberOfClusters: 100",
            "numberOfClusters: 101",
            "numberOfClusters: 500",
        ):
            yield case(
                f"application of {count} clusters with {number or 'all'}",
                clusters=many_of(count),
                apps=app("{numberOfClusters: 1}", f"{{{number}}}"),
            )
            yield case(
                f"ScoredPlacement of {count} clusters with {number or 'all'}",
                clusters=many_of(count),
                apps=SHARED.replace("numberOfClusters: 1", number),
            )
            yield case(
                f"Placement of {count} clusters with {number or 'all'}",
                clusters=many_of(count),
                apps=placement(f"{{clusterSets: [global]{', ' + number if number else ''}}}"),
            )


def _placements() -> Iterator[tuple[str, Documents]]:
    for spec in listed("""
        numberOfClusters: -1 | numberOfClusters: 0 | numberOfClusters: 1 | numberOfClusters: true
        numberOfClusters: '3' | numberOfClusters: 1.5 | clusterSets: [edg] | clusterSets: [defalt]
        clusterSets: [globl] | clusterSets: [xyz] | clusterSets: edge | clusterSets: [1] | sortBy: x
        sortBy: null | sortBy: ClusterName | scoreRateLimit: 1 | scoreRateLimit: 1m | spreadPolicy: {}
        tolerations: [{key: a, operator: exists}] | tolerations: [{key: a, operator: xyz}]
        tolerations: [{operator: ''}] | tolerations: [{}]
        tolerations: [{key: '', operator: Equal}]
        tolerations: [{key: a, operator: Exists, value: b}]
        tolerations: [{key: a, effect: NoSelct}] | tolerations: [{key: a, effect: xyz}]
        tolerations: [{key: 1}] | tolerations: 3 | predicates: [{requiredClusterSelector: 3}]
        predicates: [{requiredClusterSelector: {labelSelector: 3, claimSelector: 3, celSelector: 3}}]
        predicates: [{requiredClusterSelector: {celSelector: {celExpressions: 3}}}]
        predicates: [{requiredClusterSelector: {celSelector: {celExpressions: [3]}}}]
        decisionStrategy: {groupStrategy: 3}
        decisionStrategy: {groupStrategy: {decisionGroups: 3}}
        decisionStrategy: {groupStrategy: {decisionGroups: [3, {groupName: ab, groupClusterSelector: 3}]}}
        decisionStrategy: {groupStrategy: {decisionGroups: [{groupName: 3}]}} | prioritizerPolicy: 3
        prioritizerPolicy: {mode: Exact, configurations: 3}
        prioritizerPolicy: {mode: Exact, configurations: [{weight: 1, scoreCoordinate: 3}]}
        prioritizerPolicy: {mode: Exact, configurations: [{weight: 1, scoreCoordinate: {type: AddOn, addOn: 3}}]}
        prioritizerPolicy: {mode: Exact, configurations: [{weight: 1, scoreCoordinate: {type: BuiltIn, builtIn: 3}}]}
        xyz: 1 | numberofClusters: 1 | decisionStrategy: 3
    """):
        yield (
            f"Placement with {spec}",
            {"apps": placement(f"{{{spec}}}"), "clusters": both(CLUSTER, SET)},
        )
    for size in listed("""
        0 | 1 | -1 | true | null | '5' | ' 5 ' | 0% | 1% | 99% | 100% | 101% | 5 % | abc | 1.5
    """):
        yield case(
            f"groups of {size}",
            apps=placement(
                f"{{decisionStrategy: {{groupStrategy: {{clustersPerDecisionGroup: {size}}}}}}}"
            ),
        )
    for name in ("a", "ab", "a" * 63, "a" * 64):
        yield case(
            f"a group named {name}",
            apps=placement(
                f"{{decisionStrategy: {{groupStrategy: {{decisionGroups: [{{groupName: {name}}}]}}}}}}"
            ),
        )
    bad = "{matchLabels: {a b: c}}"
    expressions = "{matchExpressions: [{key: a, operator: x}]}"
    yield case(
        "a group with bad selectors",
        apps=placement(
            "{decisionStrategy: {groupStrategy: {decisionGroups: [{groupName: ab, groupClusterSelector: {labelSelector:"
            f" {bad}, claimSelector: {expressions}}}}}]}}}}}}"
        ),
    )
    for expression in (
        "",
        "  ",
        "true",
        "1",
        "nobody",
        "managedCluster.scores('r').size() > 0",
        "managedCluster.scores('cpu-score').all(score, score.value > 50)",
        "!managedCluster.scores('cpu-score').exists(score, score.value < 50)",
        "managedCluster.scores('cpu-score').exists(score, score.value > 50)",
        "managedCluster.scores('of-others').all(score, score.value > 50)",
        'managedCluster.metadata.labels["env"] == "prod"',
        '"env" in managedCluster.metadata.labels && managedCluster.metadata.labels["env"] == "prod"',
        '"zone" in managedCluster.metadata.labels && managedCluster.metadata.labels["env"] == "prod"',
        'managedCluster.metadata.labels.zone == "x"',
        'has(managedCluster.metadata.labels.zone) && managedCluster.metadata.labels.zone == "x"',
        'managedCluster.Status.version == "x"',
        'managedCluster.metadata.annotations["a.b/c"] == "x"',
        "managedCluster.metadata.labels['a'] == managedCluster.metadata.labels['b']",
        "'a'.find('[') == ''",
        "'%d'.format([1]) == '1'",
    ):
        yield f"CEL {expression!r}", {"apps": cel(expression)}


def _prioritizers() -> Iterator[tuple[str, Documents]]:
    for mode in ("Exact", "Additive", "exact", "xyz", "3", "null"):
        yield f"mode {mode}", {"apps": policy(add_on(), mode)}
        yield (
            f"mode {mode} without scores",
            {"apps": placement(f"{{prioritizerPolicy: {{mode: {mode}}}}}")},
        )
    yield "an empty policy", {"apps": placement("{prioritizerPolicy: {}}")}
    steady = "{scoreCoordinate: {type: BuiltIn, builtIn: Steady}, weight: WEIGHT}"
    for weight in (-1, 0):
        for mode in ("Exact", "Additive"):
            yield case(
                f"Steady of weight {weight} with mode {mode}",
                apps=placement(
                    f"{{prioritizerPolicy: {{mode: {mode}, configurations: [{add_on()}, {steady.replace('WEIGHT', str(weight))}]}}}}"
                ),
            )
    for score in (
        add_on(),
        add_on(weight=0),
        "{scoreCoordinate: {type: BuiltIn, builtIn: Balance}, weight: 1}",
    ):
        yield case(
            f"no Steady beside {score}",
            apps=placement(f"{{prioritizerPolicy: {{mode: Exact, configurations: [{score}]}}}}"),
        )
    for configuration in (
        "{scoreCoordinate: {type: BuiltIn, builtIn: Balance}, weight: 11}",
        "{scoreCoordinate: {type: BuiltIn, builtIn: Balance}, weight: '5'}",
        "{scoreCoordinate: {type: BuiltIn, builtIn: Balance}}",
        "{weight: 1}",
        "{scoreCoordinate: {type: BuiltIn, builtIn: balance}, weight: 1}",
        "{scoreCoordinate: {addOn: {resourceName: cpu-score, scoreName: cpu_score}, builtIn: Balance}, weight: 1}",
        "{scoreCoordinate: {type: BuiltIn}, weight: 1}",
        "{scoreCoordinate: {type: xyz}, weight: 1}",
        "{scoreCoordinate: {type: 3}, weight: 1}",
        "{scoreCoordinate: {type: AddOn, addOn: {scoreName: a}}, weight: 1}",
        "{scoreCoordinate: {type: AddOn, addOn: {resourceName: a}}, weight: 1}",
        f"{add_on()}, {add_on(weight=3)}",
        "{scoreCoordinate: {type: BuiltIn, builtIn: Balance}, weight: 1}, {scoreCoordinate: {type: BuiltIn, builtIn: Balance}, weight: 1}",
    ):
        yield f"prioritizer {configuration}", {"apps": policy(configuration)}
    # Of a scorer that cannot be read nobody knows what it publishes.
    for configuration in (
        "{scoreCoordinate: {type: AddOn, addOn: {resourceName: '', scoreName: ''}}, weight: 1}",
        f"{add_on()}, {add_on(item='other')}",
        add_on("cpu-scor"),
        add_on("xyz"),
        add_on("xyz", "a", 0),
    ):
        yield from around(
            f"prioritizer {configuration}",
            "beside a broken scorer",
            "beside a scorer without a lock",
            apps=policy(configuration),
        )
    yield case(
        "prioritizer of an item with a placeholder",
        scorers=below("scoreDimensionFormat: '${node}'"),
        apps=policy(add_on(item="'${node}'")),
    )


def _application_sets() -> Iterator[tuple[str, Documents]]:
    label = "cluster.open-cluster-management.io/placement"
    for fields in (
        f"configMapRef: other, {LABELS}",
        f"configMapRef: null, {LABELS}",
        f"configMapRef: 3, {LABELS}",
        f"{CONFIG}, name: p-decision-1, {LABELS}",
        f"{CONFIG}, name: 3",
        f"{CONFIG}, labelSelector: {{}}",
        f"{CONFIG}, labelSelector: {{matchLabels: {{{label}: 3}}}}",
        f"{CONFIG}, labelSelector: {{matchLabels: {{{label}: pp}}}}",
        f"{CONFIG}, labelSelector: {{matchExpressions: [{{key: {label}, operator: In, values: [p, q]}}]}}",
        f"{CONFIG}, labelSelector: {{matchExpressions: [{{key: {label}, operator: Exists}}]}}",
        f"{CONFIG}, labelSelector: {{matchExpressions: [{{key: a, operator: Exists}}]}}",
        f"{CONFIG}, labelSelector: {{matchExpressions: [{{key: a, operator: x}}]}}",
    ):
        yield f"generator {fields}", {"apps": generator(fields)}
    for kinds in (
        ("matrix",),
        ("merge",),
        ("matrix", "merge"),
        ("merge", "matrix", "matrix"),
        ("clusters",),
    ):
        yield f"generator in {kinds}", {"apps": nested(kinds)}
    for rest in listed("""
        goTemplate: true | syncPolicy: {applicationsSync: create-only}
        syncPolicy: {preserveResourcesOnDeletion: true} | syncPolicy: {preserveResourcesOnDeletion: false}
        syncPolicy: 3 | syncPolicy: {applicationsSync: 3}
        syncPolicy: {applicationsSync: create-update}, templatePatch: 'spec: {project: {{.x}}}'
        syncPolicy: {applicationsSync: create-update}, templatePatch: 'spec: {x: 1, "project": "{{.x}}"}'
        syncPolicy: {applicationsSync: create-update}, templatePatch: 'spec: {project: gitops-dsf-works}'
        syncPolicy: {applicationsSync: create-update}, templatePatch: 3
    """):
        yield f"ApplicationSet with {rest}", {"apps": generator(f"{CONFIG}, {LABELS}", rest)}
    for old, new in (
        ("project: a", "project: '{{.x}}'"),
        ("project: a", "project: gitops-dsf"),
        ("path: a", "path: 'a/{{.score}}'"),
        ("path: a", "path: 'a/{{.name}}'"),
        ("path: a", "kustomize: {patches: ['{{.score}}']}"),
    ):
        yield f"template with {new}", {"apps": generator(f"{CONFIG}, {LABELS}").replace(old, new)}
    for project in ("gitops-dsf", "gitops-dsf-works", "gitops-dsf-apps"):
        text = app("destinationNamespace: web", f"destinationNamespace: web, project: {project}")
        yield f"application in project {project}", {"apps": text}
    yield case(
        "a label of a list",
        apps=generator(f"{CONFIG}, labelSelector: {{matchLabels: {{{label}: [p]}}}}"),
    )
    for name in ("p", "web", "shared", "q", "webb", "broken", "xyz"):
        broken = placement("{}").replace("name: p,", "name: broken,").replace("spec: {}", "spec: 3")
        texts = (
            placement("{}"),
            APP,
            SHARED,
            broken,
            application_set(
                f"{{clusterDecisionResource: {{{CONFIG}, {LABELS.replace(': p}', f': {name}}}')}}}}}"
            ),
        )
        yield f"an ApplicationSet that follows {name}", {"apps": both(*texts)}
    for kind, text in (
        (
            "ScoredPlacement",
            SHARED.replace("name: shared", "name: q").replace(
                "numberOfClusters: 1", "numberOfClusters: x"
            ),
        ),
    ):
        yield case(
            f"an ApplicationSet that follows a {kind} with a mistake",
            apps=both(generator(f"{CONFIG}, {LABELS.replace(': p}', ': q}')}"), text),
        )
    follows = application_set(
        f"{{clusterDecisionResource: {{{CONFIG}, {LABELS.replace(': p}', ': shared}')}}}}}"
    )
    yield case(
        "an ApplicationSet that follows a ScoredPlacement elsewhere",
        apps=both(SHARED.replace("{name: shared}", "{name: shared, namespace: kueue}"), follows),
    )
    for namespace in ("argocd", "web"):
        yield case(
            f"an ApplicationSet in {namespace}",
            apps=generator(f"{CONFIG}, {LABELS}").replace(
                "metadata: {name: a}", f"metadata: {{name: a, namespace: {namespace}}}", 1
            ),
        )
        yield case(
            f"an application in {namespace}",
            apps=app("{name: web}", f"{{name: web, namespace: {namespace}}}"),
        )


def _credentials() -> Iterator[tuple[str, Documents]]:
    for host in listed("""
        http://api.example.com | https://api.example.com | https://other.org
        http://169.254.169.254 | http://metadata.google.internal | http://10.0.0.7
        https://10.0.0.7 | http://[fe80::1]
    """):
        for auth in (
            "tokenSecretRef: {name: t, key: k}",
            "serviceAccountToken: true",
            "caConfigMapRef: {name: t, key: k}",
        ):
            scoring = SCORER.replace("scoring: {", f"scoring: {{host: '{host}', auth: {{{auth}}}, ")
            yield f"scoring {host} with {auth}", {"scorers": scoring}
            yield case(
                f"scoring {host} with {auth} where hosts are allowed",
                scorers=scoring,
                settings=settings("allowedTokenHosts: ['*.example.com', 10.0.0.7]"),
            )
            asked = asking("up").replace(
                "host: http://prom:9090", f"host: '{host}', auth: {{{auth}}}"
            )
            yield f"source {host} with {auth}", {"scorers": asked}
            if "example" in host or "169" in host:
                yield case(
                    f"source {host} with {auth} and type None",
                    scorers=asked.replace("host:", "type: None, host:", 1),
                )
        yield (
            f"configURL {host}",
            {"scorers": SCORER.replace("http://api.svc:8000/config", f"{host}/config")},
        )
    auth = "auth: {tokenSecretRef: {name: t, key: k}}"
    one = SCORER.replace("scoring: {", f"scoring: {{host: 'http://a.svc', {auth}, ")
    for host in ("http://a.svc", "http://a.svc:9000", "http://b.svc", "https://a.svc"):
        two = second(one).replace("http://a.svc", host)
        yield case(
            f"one Secret for http://a.svc and {host} with the upstream controller",
            scorers=both(one, two).replace("  scoreRange: {min: 0, max: 1}\n", ""),
            settings=UPSTREAM,
        )
    yield case(
        "one Secret for three hosts",
        scorers=both(
            one,
            second(one).replace("a.svc", "b.svc"),
            second(one, "net", "net_score").replace("a.svc", "c.svc"),
        ),
    )


def _clients() -> Iterator[tuple[str, Documents]]:
    """Clients of token servers."""

    def api(oauth2: str, *, more: str = "", host: str = "https://a.svc") -> str:
        auth = f"auth: {{oauth2: {{{oauth2}}}{more}}}"
        return SCORER.replace("scoring: {", f"scoring: {{host: '{host}', {auth}, ")

    known = "clientSecretRef: {name: t}"
    server = "tokenURL: 'https://login.example.com/token'"
    for url in listed("""
        http://login.example.com/token | https://login.example.com/token?p=policy | ftp://login.svc
        http://169.254.169.254/token | https://localhost/token | https://<HOST>/token
    """):
        yield f"a token server {url}", {"scorers": api(f"tokenURL: '{url}', {known}")}
        yield case(
            f"a token server {url} where hosts are allowed",
            scorers=api(f"tokenURL: '{url}', {known}"),
            settings=settings("allowedTokenHosts: ['*.example.com']"),
        )
    for oauth2 in (
        server,
        known,
        f"{server}, {known}, scopes: [a b]",
        f"{server}, {known}, scopes: ['', x]",
        f"{server}, {known}, clientAuthentication: Both",
        f"{server}, {known}, clientSecret: abcdefgh",
        f"{server}, clientSecretRef: {{name: t, clientIdKey: x}}",
        f"{server}, clientSecretRef: {{name: gpu-client-cert}}",
    ):
        yield f"oauth2 of {oauth2}", {"scorers": api(oauth2)}
    of_pod = api(f"{server}, {known}", more=", serviceAccountToken: true")
    yield "oauth2 beside the token of the pod", {"scorers": of_pod}
    for host in ("http://a.svc", "https://a.example.com"):
        auth = "auth: {clientCertificateSecretRef: {name: c}}"
        shown = SCORER.replace("scoring: {", f"scoring: {{host: '{host}', {auth}, ")
        yield f"a client certificate for {host}", {"scorers": shown}
    one, allowed = api(f"{server}, {known}"), settings("allowedTokenHosts: ['*.example.com']")
    for title, oauth2, host in (
        ("two hosts", f"{server}, {known}", "https://b.svc"),
        ("two token servers", f"tokenURL: 'https://login.svc/token', {known}", "https://a.svc"),
    ):
        two = second(api(oauth2, host=host))
        yield case(f"one client for {title}", scorers=both(one, two), settings=allowed)


def _config_pages() -> Iterator[tuple[str, Documents]]:
    """Credentials that the reconciler sends to /config pages."""
    for url, host in (
        ("https://a.example.com/config", "https://a.example.com"),
        ("https://a.example.com/config", "http://api.scores.svc"),
        ("http://other.scores.svc/config", "http://api.scores.svc"),
        ("http://api.scores.svc:81/config", "http://api.scores.svc"),
        ("http://169.254.169.254/config", "http://api.scores.svc"),
    ):
        auth = f"host: '{host}', auth: {{tokenSecretRef: {{name: t, key: k}}}}"
        scorer = SCORER.replace("scoring: {", f"scoring: {{{auth}, ")
        scorer = scorer.replace("http://api.svc:8000/config", url)
        for title, given in (("", "[t]"), (", which the hub has not", "[other]")):
            reconciler = settings(f"reconciler: {{configCredentials: {given}}}")
            yield case(
                f"credentials for {url} of {host}{title}", scorers=scorer, settings=reconciler
            )
    git = "gitSecret: {name: git}, imagePullSecrets: [pull], configCredentials: [git, pull, x-hub-kubeconfig, t]"
    for host, secret in (
        ("http://thanos.monitoring.svc:9090", "t"),
        ("https://thanos.example.com", "t"),
        ("https://thanos.allowed.example.com", "t"),
        ("https://169.254.169.254", "t"),
        ("http://thanos.monitoring.svc:9090", "git"),
        ("http://thanos.monitoring.svc:9090", "x-hub-kubeconfig"),
    ):
        auth = f"auth: {{tokenSecretRef: {{name: {secret}, key: k}}}}"
        store = f"state: {{enabled: true}}, metricStore: {{host: '{host}', {auth}}}"
        allowed = settings("allowedTokenHosts: ['*.allowed.example.com']")
        written = settings(f"reconciler: {{gitSecret: {{name: git}}, {store}}}", allowed)
        yield case(f"Secret {secret} for the store {host}", settings=written)
    yield case("credentials of pages that are others'", settings=settings(f"reconciler: {{{git}}}"))


def _secrets() -> Iterator[tuple[str, Documents]]:
    for arguments in listed("""
        {password: abc} | {password: abcd} | {passwords: abcdef} | {monkey: abcdef}
        {openaiApiKey: abcdef} | {a: {token: abcdef}} | {a: [{secret: abcdef}]}
        {header: 'Bearer 1234567'} | {header: 'Bearer 12345678'} | {key: AKIAIOSFODNN7EXAMPLE}
        {a: eyJhbGciOiJI1.eyJzdWIiOiIxMj.x} | {a: ghp_0123456789abcdef} | {password: 12345}
    """):
        yield case(
            f"arguments {arguments}",
            scorers=SCORER.replace("scoring: {", f"scoring: {{arguments: {arguments}, "),
        )
        yield case(
            f"annotations {arguments}",
            scorers=SCORER.replace("{name: cpu}", f"{{name: cpu, annotations: {arguments}}}"),
        )
    token = "ghp_0123456789abcdef"
    yield case(
        "a token in an application",
        apps=app("path: deploy}", f"path: deploy, helm: {{values: '{token}'}}}}"),
    )
    yield case(
        "a token in an ApplicationSet",
        apps=generator(f"{CONFIG}, {LABELS}").replace("path: a", f"path: {token}"),
    )
    yield case(
        "a token in a lock",
        scorers=FULL,
        locks=LOCK.replace("config: {}", f"config: {{description: {token}}}"),
    )
    yield case(
        "a token in the settings",
        settings=SETTINGS.replace("{name: fleet}", f"{{name: fleet, annotations: {{a: {token}}}}}"),
    )


def quoted(text: str) -> str:
    return text if text.startswith("'") else f"'{text}'"


def _urls() -> Iterator[tuple[str, Documents]]:
    for url in listed("""
        '' | x | ftp://a | http:// | http://a:x | http://[ | 'http://a b' | http://a/b?c=d
        http://a/b?token=d | http://a/b?token= | http://a#b | http://u@a | http://u:p@a | http://a_b
        http://-a | http://a..b | http://<IP> | http://10.0.0.1 | http://[::1]:80 | http://a.
    """):
        yield f"configURL {url}", {"scorers": SCORER.replace("http://api.svc:8000/config", url)}
        yield case(
            f"scoring.host {url}",
            scorers=SCORER.replace("scoring: {", f"scoring: {{host: {quoted(url)}, "),
        )
        yield (
            f"source.host {url}",
            {"scorers": asking("up").replace("http://prom:9090", quoted(url))},
        )
    for path in ("/a", "a", "/a?b", "/a#b", "'/a b'", "''"):
        yield (
            f"scoring.path {path}",
            {"scorers": SCORER.replace("scoring: {", f"scoring: {{path: {path}, ")},
        )
        yield (
            f"source.path {path}",
            {"scorers": asking("up").replace("host:", f"path: {path}, host:")},
        )
    for url in listed("""
        https://a/b.git | https://u@a/b.git | https://u:p@a/b.git | ssh://git@a/b.git
        ssh://git:p@a/b.git | git@a:b.git | http://[
    """):
        yield f"repoURL {url}", {"apps": app("https://git.example.com/web.git", url)}
        yield case(
            f"second repoURL {url}",
            apps=app(
                'source: {repoURL: "https://git.example.com/web.git", path: deploy}',
                f"sources: [{{repoURL: https://a/b.git, path: a}}, {{repoURL: '{url}', path: b}}]",
            ),
        )
    for text in ("chart: c", "ref: values", "path: '', chart: ''"):
        yield f"source with {text}", {"apps": app("path: deploy", text)}
        yield case(
            f"second source with {text}",
            apps=app("source: {", "sources: [{repoURL: https://a/b.git, path: a}, {").replace(
                "path: deploy}", f"{text}}}]"
            ),
        )


def variants(*texts: str) -> str:
    return (
        "apiVersion: gitops-dsf.io/v1alpha1\nkind: MetricSource\n"
        f"metadata: {{name: platform}}\nspec: {{variants: [{', '.join(f'{{{text}}}' for text in texts)}]}}\n"
    )


def _metric_sources() -> Iterator[tuple[str, Documents]]:
    host, other = "host: 'http://prom.svc:9090'", "host: 'http://thanos.svc'"
    prod, edge = (
        "clusterSelector: {matchLabels: {env: prod}}",
        "clusterSelector: {matchLabels: {env: edge}}",
    )
    fleet = both(CLUSTER, cluster("edge-1", "env: edge"), cluster("edge-2", "env: edge"))
    for texts in (
        (f"{host}, {prod}",),
        (f"{host}, {edge}",),
        (f"{host}, {prod}", f"{other}, {prod}", f"{other}, {edge}"),
        (f"{host}, clusterSelector: {{}}", f"{other}, {edge}"),
        (f"{host}, clusterSelector: {{matchExpressions: [{{key: env, operator: Exists}}]}}", other),
        (
            f"{host}, auth: {{tokenSecretRef: {{name: t, key: k}}}}",
            f"{other}, auth: {{tokenSecretRef: {{name: t, key: k}}}}",
        ),
        (f"{host}, auth: {{tokenSecretRef: {{name: bootstrap-hub-kubeconfig, key: k}}}}",),
        ("host: 'https://prom.example.com', auth: {tokenSecretRef: {name: t, key: k}}",),
        ("host: 'http://prom.example.com', auth: {tokenSecretRef: {name: t, key: k}}",),
        ("host: 'https://prom.example.com', auth: {serviceAccountToken: true}",),
        ("host: 'http://169.254.169.254'",),
        ("host: 'ftp://a'",),
        (f"{host}, path: '/a?b'",),
        (f"{host}, headers: [{{name: X-A, value: a}}, {{name: x-a, value: b}}]",),
        (f"{host}, headers: [{{name: Authorization, value: a}}]",),
        (
            f"{host}, headers: [{{name: Host, value: a}}, {{name: 'a b', value: a}}, {{name: A, value: ä}}]",
        ),
        (f"{host}, auth: {{clientCertificateSecretRef: {{name: c}}}}",),
    ):
        documents = {"config": variants(*texts), "clusters": fleet}
        title = f"MetricSource of {'; '.join(texts)}"
        yield title, {**documents, "scorers": USES}
        yield f"{title}, unused", documents
        yield (
            f"{title}, for prod",
            {**documents, "scorers": below("clusterSelector: {matchLabels: {env: prod}}", USES)},
        )
        yield f"{title}, suspended", {**documents, "scorers": below("suspend: true", USES)}
        yield (
            f"{title}, for a selector with a mistake",
            {**documents, "scorers": below("clusterSelector: {matchLabels: {env: 'a b'}}", USES)},
        )
    for ref in ("platfrm", "xyz"):
        yield case(
            f"source.ref {ref}",
            config=variants(host),
            scorers=USES.replace("ref: platform", f"ref: {ref}"),
        )
        yield case(
            f"source.ref {ref} without MetricSources",
            scorers=USES.replace("ref: platform", f"ref: {ref}"),
        )
    yield (
        "source.ref of a MetricSource with a mistake",
        {"config": variants("host: 3"), "scorers": USES},
    )
    for field in ("type: Prometheus", "host: http://prom:9090", "path: /p"):
        yield case(
            f"source.ref and {field}",
            config=variants(host),
            scorers=USES.replace("ref:", f"{field}, ref:"),
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
            yield case(delivery, settings=settings(delivery), scorers=BARE)


def _more() -> Iterator[tuple[str, Documents]]:
    for text in ("k8s.pod.cpu", "sum(k8s.pod.cpu)", "up.", "up{a.b='c'}"):
        yield f"PromQL: {text}", {"scorers": asking(text.replace("'", '"'))}
    for kind in ("API", "Query"):
        yield case(
            f"upstream: scoring.type {kind}",
            settings=UPSTREAM,
            scorers=BARE.replace("scoring: {", f"scoring: {{type: {kind}, "),
        )
    nameless = second().replace("name: gpu_score, ", "")
    for name in ("gpu", "gpuu"):
        yield case(
            f"a mask of {name} beside a scorer without a score name",
            config=masks(f"{{clusterName: prod-1, scoreName: {name}}}"),
            scorers=both(SCORER, nameless),
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
    yield "scores of any value in a Placement", {"scorers": BARE, "apps": policy(add_on())}
    for text in ("numberOfClusters: {a: b}", "tolerations: [{key: {a: b}}]"):
        yield f"Placement with {text}", {"apps": placement(f"{{{text}}}")}
    yield case(
        "a Placement of all clusters for null",
        apps=selector("null").replace("spec: {", "spec: {clusterSets: [global], "),
        clusters=many_of(101),
    )


BINDING = """\
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: global}
spec: {clusterSet: global}
"""


def _bindings() -> Iterator[tuple[str, Documents]]:
    """Bindings that people wrote, and objects that leave theirs to others."""
    existing = app("  scores:", "  bindings: Existing\n  scores:")
    for title, text in {
        "as it should be": BINDING,
        "in another namespace": BINDING.replace(
            "{name: global}", "{name: global, namespace: policies}"
        ),
        "in a namespace of Kubernetes": BINDING.replace(
            "{name: global}", "{name: global, namespace: kube-system}"
        ),
        "of another name": BINDING.replace("{name: global}", "{name: all}"),
        "of a set that is not there": BINDING.replace("global", "edg"),
        "without a set": BINDING.replace("{clusterSet: global}", "{}"),
        "with an annotation of Argo CD": BINDING.replace(
            "{name: global}",
            "{name: global, annotations: {argocd.argoproj.io/sync-options: Prune=false}}",
        ),
    }.items():
        yield from around(f"a binding {title}", "of an unknown fleet", apps=text)
    yield case("an application whose bindings exist", apps=existing)
    yield case("bindings that exist and are written here", apps=both(existing, BINDING))
    yield case(
        "bindings that exist and are written elsewhere",
        apps=both(
            existing, BINDING.replace("{name: global}", "{name: global, namespace: policies}")
        ),
    )
    yield case(
        "bindings that exist and another application needs",
        apps=both(existing, APP.replace("{name: web}", "{name: more}")),
    )
    yield case(
        "bindings that exist and a Placement needs",
        apps=both(existing, placement("{clusterSets: [global]}")),
    )


def _others() -> Iterator[tuple[str, Documents]]:
    digests = settings("requireImageDigests: true")
    for image in ("r/c:1", f"r/c@sha256:{'0a' * 32}"):
        yield case(
            f"images without digests and receiver {image}",
            settings=settings(
                f"agent: {{openTelemetry: {{image: '{image}', collectorNamespaces: [otel]}}}}",
                digests,
            ),
        )
    yield "settings with a mistake", {"settings": SETTINGS.replace("spec: {", "spec: {x: 1, ")}
    yield case(
        "ten thousand writes a second",
        scorers=below("scoreTTLSeconds: 2").replace("interval: 60", "interval: 1"),
        clusters=many_of(202),
    )


def _agents() -> Iterator[tuple[str, Documents]]:
    digests = settings("requireImageDigests: true")
    entry = "clusterSelector: {matchLabels: {env: prod}}, image: 'r/a:2'"
    for entries in (
        f"{{{entry}}}, {{{entry}}}",
        f"{{clusterSelector: {{}}, tolerations: [], image: 'r/a:3'}}, {{{entry}, nodeSelector: {{}}, tolerations: []}}",
        "{clusterSelector: {}}",
        "{clusterSelector: {matchLabels: {env: x}}, image: 'r/a:2'}",
        "{clusterSelector: {matchLabels: {env: 'x!'}}, image: 'r/a:2'}",
    ):
        rollout = f"agent: {{rollout: [{entries}]}}"
        yield rollout, {"settings": settings(rollout)}
        yield f"{rollout} without digests", {"settings": settings(rollout, digests)}
    for fields in listed("""
        tolerations: [{value: 'yes'}] | nodeSelector: {kubernetes.io/os: 'linux,arm'}
        nodeSelector: {a//b: x} | imagePullSecrets: [a, b, a]
        resources: {requests: {memory: 0.5Gi}, limits: {memory: 500M}} | resources: {limits: {memory: 64Mi}}
    """):
        for section in ("agent", "hubScorer", "reconciler"):
            yield f"{section} with {fields}", {"settings": settings(f"{section}: {{{fields}}}")}
        rollout = f"agent: {{rollout: [{{clusterSelector: {{}}, {fields}}}]}}"
        yield rollout, {"settings": settings(rollout)}
    for fields in (
        "replicas: 0",
        "suspend: {enabled: true, quorumPercent: 101}",
        "proposals: {forgeURL: 'https://github.example.com'}",
        'proposals: {author: {name: "a\\nb", email: a@example.com}}',
        "proposals: {kinds: [Locks], forge: GitHub}",
        "state: {branch: -x}",
        "state: {enabled: true, branch: main}",
        "metricStore: {host: 'https://thanos.example.com'}",
        "state: {enabled: true}, metricStore: {host: thanos}",
        "state: {enabled: true}, metricStore: {host: 'https://thanos.example.com/graph'}",
        "state: {enabled: true}, metricStore: {host: 'https://a.example.com', clusterLabel: a-b}",
        "state: {enabled: true}, metricStore: {host: 'https://a.example.com', auth: {serviceAccountToken: true}}",
        "state: {enabled: true}, metricStore: {host: 'https://a.example.com', intervalSeconds: 5}",
        "journal: {enabled: true, branch: main}",
        "state: {enabled: true}, journal: {enabled: true, branch: gitops-dsf-state}",
    ):
        yield f"reconciler with {fields}", {"settings": settings(f"reconciler: {{{fields}}}")}
    head = settings("reconciler: {proposals: {kinds: [Locks]}}").replace(
        "git: {", "git: {targetRevision: HEAD, "
    )
    yield "proposals onto HEAD", {"settings": head}
    for image in ("https://r/a:1", "localhost:5000/r/a:1"):
        yield f"image {image}", {"settings": settings(f"hubScorer: {{image: '{image}'}}")}


def _pages() -> Iterator[tuple[str, Documents]]:
    """URLs of what people look at, and hosts that are not meant."""
    for url in listed("""
        https://github.com/acme/fleet/tree/main | https://gitlab.com/acme/fleet/-/tree/main
        https://github.com/acme/fleet/tree/main/deploy
        https://git.internal/team/tree | https://git.example.com/platform/fleet.git
    """):
        yield (
            f"git.url {url}",
            {"settings": SETTINGS.replace("https://git.example.com/fleet.git", url)},
        )
        yield f"repoURL {url}", {"apps": app("https://git.example.com/web.git", url)}
    wide = asking('{__name__=~".+"}')
    for url in listed("""
        https://evil.example.com | https://203.0.113.7 | https://api.corp.example.com
        https://forecast.scoring.example.com | http://scorer.scoring.svc:8000 | http://scorer:8000
    """):
        scorers = wide.replace("http://api.svc:8000", url)
        yield f"every metric to {url}", {"scorers": scorers}
        for field in ("allowedHosts", "allowedTokenHosts"):
            given = settings(f"{field}: ['*.corp.example.com', forecast.scoring.example.com]")
            yield f"every metric to {url} with {field}", {"scorers": scorers, "settings": given}
    elsewhere = settings("hubNamespace: hub-scoring, argocd: {namespace: gitops}")
    for name in listed("""
        kube-system | open-cluster-management-agent | gitops | hub-scoring | dynamic-scoring | argocd
        open-cluster-management | default | web | kubeflow | gitops-dsf
    """):
        apps = app("destinationNamespace: web", f"destinationNamespace: {name}")
        yield f"an application into {name}", {"apps": apps}
        yield f"an application into {name}, others elsewhere", {"apps": apps, "settings": elsewhere}
        raw = generator(f"{CONFIG}, {LABELS}").replace(
            "destination: {", f"destination: {{namespace: {name}, "
        )
        yield f"an ApplicationSet into {name}", {"apps": raw}


def _by_hand() -> Iterator[tuple[str, Documents]]:
    """ApplicationSets with what Argo CD refuses, and near it."""
    two = both(CLUSTER, cluster("prod-2"))
    healthy = generator(f"{CONFIG}, {LABELS}").replace("spec: {}", "spec: {clusterSets: [global]}")
    yield case("one name for two clusters", apps=healthy, clusters=two)
    yield case("one name for one cluster", apps=healthy)
    for old, new in (
        ("{name: a}, source", "{name: a, server: 'https://kubernetes.default.svc'}, source"),
        ("{name: a}, source", "{namespace: a}, source"),
        (", path: a}", "}"),
        (", source: {repoURL: 'https://git.example.com/a.git', path: a}", ""),
        ("path: a}", "path: /a}"),
        ("path: a}", "path: ../a}"),
        ("path: a}", "path: 'a\\b'}"),
        ("https://git.example.com/a.git", "C:\\fleet"),
        ("https://git.example.com/a.git", "[https://a/b](https://a/b)"),
        ("https://git.example.com/a.git", "git@host:team\\a.git"),
        ("https://git.example.com/a.git", "https://github.com/acme/a/tree/main"),
        ("https://git.example.com/a.git", "git@host:team/a.git"),
        ("https://git.example.com/a.git", "{{server}}"),
    ):
        assert old in healthy
        yield f"by hand with {new}", {"apps": healthy.replace(old, new)}
    yield case("by hand without generators", apps=application_set(""))
    yield case("by hand with an empty generator", apps=application_set("{}"))
    for path in listed("../x | 'fleets\\eu' | /fleets | fleets/eu | fleets/eu/"):
        yield (
            f"git.path {path}",
            {"settings": SETTINGS.replace('fleet.git"', f'fleet.git", path: {path}')},
        )
    for url in listed("'C:\\fleet' | '[https://a/b](https://a/b)' | 'git@host:team\\fleet.git'"):
        yield (
            f"git.url {url}",
            {"settings": SETTINGS.replace('"https://git.example.com/fleet.git"', url)},
        )


def _platform() -> Iterator[tuple[str, Documents]]:
    """Namespaces of the platform, as names of clusters, of Placements and as the hub namespace."""
    elsewhere = settings("hubNamespace: hub-scoring, argocd: {namespace: gitops}")
    for name in listed("""
        default | kube-public | openshift | openshift-config | open-cluster-management | multicluster-engine
        argocd | dynamic-scoring | hub-scoring | gitops | prod-1 | local-cluster | openshiftprod | gitops-dsf
    """):
        placed = SHARED.replace("{name: shared}", f"{{name: shared, namespace: {name}}}")
        raw = placement("{}").replace("namespace: argocd", f"namespace: {name}")
        yield f"a ScoredPlacement in {name}", {"apps": placed}
        yield (
            f"a ScoredPlacement in {name}, others elsewhere",
            {"apps": placed, "settings": elsewhere},
        )
        yield f"a Placement in {name}", {"apps": raw}
        yield f"hubNamespace {name}", {"settings": settings(f"hubNamespace: {name}")}
        if name != "prod-1":
            clusters = both(CLUSTER, cluster(name))
            yield f"a cluster {name}", {"clusters": clusters}
            yield (
                f"a cluster {name}, others elsewhere",
                {"clusters": clusters, "settings": elsewhere},
            )


def _generated() -> Iterator[tuple[str, Documents]]:
    """Applications whose generated names meet, over eligible clusters."""
    two = both(cluster("eu-1"), cluster("'1'", "env: edge"))
    for first, other in (("web", "web-eu"), ("web-eu", "web"), ("web", "eu-web"), ("web", "shop")):
        apps = both(
            app("{name: web}", f"{{name: {first}}}"),
            app("{name: web}", f"{{name: {other}}}").replace("Namespace: web", "Namespace: b"),
        )
        yield f"{first} and {other} on eu-1 and 1", {"clusters": two, "apps": apps}
        edge = "{clusterSelector: {matchLabels: {env: edge}}, numberOfClusters: 1}"
        narrow = apps.replace("{numberOfClusters: 1}", edge)
        yield f"{first} and {other} on 1", {"clusters": two, "apps": narrow}
    for template in (
        "web-{{name}}",
        "web-eu-{{ .clusterName }}",
        "web-{{name}}{{name}}",
        "gitops-dsf-delivery",
    ):
        raw = named("other", template, "web")
        yield f"web, and a set of {template}", {"clusters": two, "apps": both(APP, raw)}
    for name, joined in (
        ("gitops-dsf", "delivery"),
        ("gitops-dsf-works", "00"),
        ("gitops-dsf", "eu-1"),
    ):
        apps = app("{name: web}", f"{{name: {name}}}")
        yield f"{name} on {joined}", {"clusters": cluster(f"'{joined}'"), "apps": apps}


def _silent() -> Iterator[tuple[str, Documents]]:
    """What is not a mistake of form, and nobody would want."""
    for points in (90, 100, 1000):
        yield f"stickiness {points} of 99", {"apps": f"{APP}  stickiness: {points}\n"}
        shared = SHARED.replace("spec: {", f"spec: {{stickiness: {points}, ")
        yield f"stickiness {points} of 99 of a ScoredPlacement", {"apps": shared}
        narrow = ranged(30, 10)
        yield (
            f"stickiness {points} of 20",
            {"apps": f"{APP}  stickiness: {points}\n", "scorers": narrow},
        )
    for weight in (1, 2):
        steady = f"{{scoreCoordinate: {{type: BuiltIn, builtIn: Steady}}, weight: 1}}, {add_on(weight=weight)}"
        policies = f"prioritizerPolicy: {{mode: Exact, configurations: [{steady}]}}"
        yield (
            f"Steady against a score of weight {weight}",
            {"apps": placement(f"{{numberOfClusters: 1, {policies}}}")},
        )
    later = settings("allowUnmatchedSelectors: true")
    for number in (1, 2):
        apps = app("numberOfClusters: 1", f"numberOfClusters: {number}")
        if number > 1:
            yield f"{number} of 1 cluster", {"apps": apps}
        yield f"{number} of 1 cluster, others later", {"apps": apps, "settings": later}
        yield (
            f"{number} of 1 cluster of a Placement",
            {"apps": placement(f"{{numberOfClusters: {number}, clusterSets: [global]}}")},
        )
    again = app("{name: web}", "{name: again}")
    yield "two applications with the same objects", {"apps": both(APP, again)}
    yield (
        "two applications in two namespaces",
        {"apps": both(APP, again.replace("Namespace: web", "Namespace: b"))},
    )
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


def _without_a_word() -> Iterator[tuple[str, Documents]]:
    """Namespaces, images, dead bands and scales that were accepted in silence."""
    for text in (
        "{name: cpu, namespace: scoring}",
        "{name: cpu, namespace: gitops-dsf}",
    ):
        yield f"a scorer with metadata {text}", {"scorers": SCORER.replace("{name: cpu}", text)}
    fleet = SETTINGS.replace("{name: fleet}", "{name: fleet, namespace: argocd}")
    yield "settings with a namespace", {"settings": fleet}
    for version in ("0.0.1", "main"):
        image = f"r.example.com/gitops-dsf-agent:{version}"
        yield f"an agent {version}", {"settings": SETTINGS.replace("r.example.com/agent", image)}
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
    edge = SET.replace(
        "{clusterSelector: {selectorType: LabelSelector, labelSelector: {matchLabels: {env: prod}}}}",
        "{}",
    )
    inside = cluster("edge-1", "env: prod, cluster.open-cluster-management.io/clusterset: edge")
    for sets in ("[edge]", "[edge, default]"):
        apps = app("{numberOfClusters: 1}", f"{{numberOfClusters: 1, clusterSets: {sets}}}")
        yield (
            f"a cluster without a set where {sets} are used",
            {"clusters": both(edge, inside, CLUSTER), "apps": apps},
        )


def _texts() -> Iterator[tuple[str, Documents]]:
    yield (
        "a quote that is not closed",
        {"scorers": SCORER.replace("description: d", 'description: "d')},
    )
    for query in ("ratee(up[5m])", "holt_winters(up[1h], 0.5, 0.5)", "range_median(up[1h])"):
        yield f"PromQL: {query}", {"scorers": asking(query)}
        metricsql = asking(query).replace("host:", "dialect: MetricsQL, host:")
        yield f"MetricsQL: {query}", {"scorers": metricsql}
