# ruff: noqa: E501 - texts of documents
"""Small repositories for tests/golden/test_findings.py: Placements and their bindings."""

from collections.abc import Iterator

from tests.golden.findings_documents import (
    CLUSTER,
    SCORER,
    SET,
    SETTINGS,
    SHARED,
    Documents,
    add_on,
    around,
    below,
    both,
    case,
    cluster,
    many_of,
    selector,
    settings,
)
from tests.support.repositories import (
    APP,
    BARE,
    UPSTREAM,
    app,
    application_set,
    listed,
    placement,
    policy,
)


def cel(expression: str) -> str:
    quoted = expression.replace("'", "''")
    return placement(
        f"{{predicates: [{{requiredClusterSelector: {{celSelector: {{celExpressions: ['{quoted}']}}}}}}]}}"
    )


BINDING = """\
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: global}
spec: {clusterSet: global}
"""


def _eligible_clusters() -> Iterator[tuple[str, Documents]]:
    for title, text in (("", SETTINGS), ("delivery: {mode: UpstreamController}", UPSTREAM)):
        yield case(f"no clusters, {title}", settings=text, clusters=SET, scorers=BARE)
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


def _numbers_of_clusters() -> Iterator[tuple[str, Documents]]:
    """More clusters than are eligible."""
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
    yield "scores of any value in a Placement", {"scorers": BARE, "apps": policy(add_on())}
    for text in ("numberOfClusters: {a: b}", "tolerations: [{key: {a: b}}]"):
        yield f"Placement with {text}", {"apps": placement(f"{{{text}}}")}
    yield case(
        "a Placement of all clusters for null",
        apps=selector("null").replace("spec: {", "spec: {clusterSets: [global], "),
        clusters=many_of(101),
    )


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


def _fields() -> Iterator[tuple[str, Documents]]:
    for spec in (
        "prioritizerPolicy: {mode: Exact, configuration: []}",
        "predicates: [{requiredClusterSelectr: {}}]",
        "predicates: [{requiredClusterSelector: {labelSelector: {matchLabel: {a: b}}}}]",
        *(
            f"predicates: [{{requiredClusterSelector: {{claimSelector: {{matchExpressions: [{{key: a, operator: In, values: [{value}]}}]}}}}}}]"
            for value in ("true", "1", "'b c'")
        ),
        "tolerations: [{key: a, operatr: Exists}]",
        "tolerations: [a]",
        "numberOfCluster: 1",
    ):
        yield case(f"Placement with {spec}", apps=placement(f"{{{spec}}}"))
    yield case("a Placement that ranks by no item", apps=policy(add_on("cpu-score", "''")))
    incomplete = {
        "scorers": SCORER.replace("interval: 60", "interval: 0"),
        "apps": policy(add_on()),
    }
    yield "a Placement of a scorer that is not complete", incomplete
    for text in ("{clusterDecisionResource: 3}", "{clusterDecisionResource: {}}"):
        yield case(
            f"an ApplicationSet of {text}", apps=both(placement("{}"), application_set(text))
        )
    yield case(
        "an ApplicationSet of nothing",
        apps=application_set("").partition("spec:")[0] + "spec: {goTemplate: true}\n",
    )
    yield case("a Placement of labels that are no text", apps=selector("{matchLabels: {a: [b]}}"))


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
