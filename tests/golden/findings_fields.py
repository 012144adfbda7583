# ruff: noqa: E501 - texts of documents
"""Small repositories for tests/golden/test_findings.py: fields and values of any object."""

from collections.abc import Iterator

from tests.golden.findings_documents import CLUSTER, SCORER, SHARED, Documents, add_on, both, case
from tests.support.repositories import CONFIG, app, placement

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


def _mistakes() -> Iterator[tuple[str, Documents]]:
    """Mistakes that the model finds, in words that people understand."""
    head = SCORER.partition("spec:")[0]
    spec = head + "spec:\n  description: d\n  configURL: http://a\n  configSyncMode: None\n"
    for rest in (
        "  suspent: true",
        "  source: {zzz: 1}",
        "  scoreTTLSeconds: '900'",
        "  scoreTTLSeconds: 1.5",
        "  scoreTTLSeconds: 1d12h",
        "  scoreDimensionFormat: true",
        "  scoreDimensionFormat: 1.10",
        "  scoreDimensionFormat: 0x1F",
        "  description2:",
        "  scoreAggregation: ''",
        "  scoreAggregation: Avg",
        "  source: [a]",
        "  source: {suspend: true}",
        "  source: {query: up}",
        "  source: {params: {range: 1h}}",
        "  source: {params: {step: -1}}",
        "  publish: {deadband: 201}",
        "  scoreRange: {min: 1}",
        "  scoreRange: {min: 1, max: 1}",
        "  scoreRange: {min: .inf, max: 1}",
        "  path: /scoring",
        "  labels: {team: a}",
        "scoreDestination: None",
        "  suspend: on",
        "  suspend: 017",
        "  scoreTTLSeconds: 1_000",
        "  scoreTTLSeconds: 060",
        "  scoreTTLSeconds: off",
        "  location: no",
    ):
        yield case(
            f"a scorer with{'' if rest[0] == ' ' else ' '}{rest.replace('  ', ' ')}",
            scorers=f"{spec}{rest}\n",
        )
    for written in ("spec:", "spec: {}", "spec: [a]", "spec: text", ""):
        yield case(f"a scorer of {written or 'no spec'}", scorers=f"{head}{written}\n")
    yield case(
        "a scorer without configSyncMode", scorers=spec.replace("  configSyncMode: None\n", "")
    )
    for labels in ("labels: {env: on}", "annotations: {build: 12e03}"):
        yield case(
            f"a cluster with {labels}", clusters=CLUSTER.replace("labels: {env: prod}", labels)
        )
    for rest in (
        "spec: {taints: [{key: a, value: off}]}",
        "status: {clusterClaims: [{name: a, value: 017}]}",
    ):
        yield case(f"a cluster with {rest}", clusters=f"{CLUSTER}{rest}\n")
    for text in ("{tolerations: [{key: on, operator: Exists}]}", "{numberOfClusters: 017}"):
        yield case(f"a Placement with {text}", apps=placement(text))
    for size in ("'5'", "[1]"):
        groups = f"{{decisionGroups: {{clustersPerDecisionGroup: {size}}}}}"
        yield case(
            f"a ScoredPlacement in groups of {size}",
            apps=SHARED.replace("{numberOfClusters: 1}", groups),
        )
    yield case(
        "an application in groups, as earlier versions had them",
        apps=app("{numberOfClusters: 1}", "{decisionGroups: {clustersPerDecisionGroup: 2}}"),
    )
    for text in (
        "name: web",
        "name: 'web-{{.server}}'",
        "name: 'web-{{ .name }}'",
        "labels: {'a b': c, d: e f, g: 'x {{.name}}'}",
        "labels: {g: '{{.nam}}'}",
        "marks: None",
        "destination: Server",
    ):
        fields = f"destinationNamespace: web, template: {{{text}}}"
        yield case(
            f"an application with the template {text}",
            apps=app("destinationNamespace: web", fields),
        )
    for text in (
        "ignoreDifferences: [{kind: 5, jsonPointer: [/a]}]",
        "info: [{name: a, value: '{{.nam}}'}]",
        "applicationSet: {preservedFields: {label: [a]}}",
        "applicationSet: {ignoreApplicationDifferences: [{jsonPointers: /spec}]}",
        "revisionHistoryLimit: -1",
    ):
        yield case(
            f"an application with {text}",
            apps=app("destinationNamespace: web", f"destinationNamespace: web, {text}"),
        )
    for text in (
        "kind: DynamicScorer",
        "apiVersion: 1\nkind: X",
        "kind: DynamicScorer\napiVersion: null",
        "apiVersion: apps/v1\nmetadata: {name: a}",
        "apiVersion: v1\nkind: List",
        "apiVersion: v1\nkind: ManagedClustr",
        "apiVersion: v1\nkind: applicationset",
        "apiVersion: v1\nkind: Placements",
        "apiVersion: v1\nkind: no kind",
        "apiVersion: gitops-dsf.io/v1alpha1\nkind: Fleet",
        "apiVersion: gitops-dsf.io/v2\nkind: FleetRepository",
        "apiVersion: dynamic-scoring.open-cluster-management.io/v1\nkind: DynamicScorer",
        "apiVersion: cluster.open-cluster-management.io/v1beta2\nkind: ManagedClusterSetBinding",
        "apiVersion: argoproj.io/v1alpha1\nkind: Application",
        "apiVersion: v1\nkind: Secret",
        "apiVersion: apps/v1\nkind: Deployment",
        "apiVersion: v2\nname: a-chart\nversion: 1.0.0",
        "replicas: 2\nimage: {tag: latest}",
        "kind: Unheard\nmetadata: {labels: {a: on}}",
        "kind: Unheard\nsize: on",
        spec,
    ):
        yield case(f"in apps: {', '.join(text.splitlines()[:2])}", apps=f"{text}\n")


def _syntax() -> Iterator[tuple[str, Documents]]:
    """YAML that cannot be parsed."""
    yield (
        "a quote that is not closed",
        {"scorers": SCORER.replace("description: d", 'description: "d')},
    )


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
