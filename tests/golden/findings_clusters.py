# ruff: noqa: E501 - texts of documents
"""Small repositories for tests/golden/test_findings.py: clusters, masks, selectors and namespaces."""

from collections.abc import Iterator

from tests.golden.findings_documents import (
    CLUSTER,
    SCORER,
    SET,
    SETTINGS,
    SHARED,
    Documents,
    around,
    below,
    both,
    case,
    cluster,
    named,
    second,
    selector,
    settings,
)
from tests.support.repositories import FULL, app, listed, masks, placement


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
    nameless = second().replace("name: gpu_score, ", "")
    for name in ("gpu", "gpuu"):
        yield case(
            f"a mask of {name} beside a scorer without a score name",
            config=masks(f"{{clusterName: prod-1, scoreName: {name}}}"),
            scorers=both(SCORER, nameless),
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


def _sets() -> Iterator[tuple[str, Documents]]:
    """Clusters in no set that an application chooses from."""
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


def _namespaces() -> Iterator[tuple[str, Documents]]:
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


def _namespaces_without_effect() -> Iterator[tuple[str, Documents]]:
    """Namespaces of objects that are not rendered into them."""
    for text in (
        "{name: cpu, namespace: scoring}",
        "{name: cpu, namespace: gitops-dsf}",
    ):
        yield f"a scorer with metadata {text}", {"scorers": SCORER.replace("{name: cpu}", text)}
    fleet = SETTINGS.replace("{name: fleet}", "{name: fleet, namespace: argocd}")
    yield "settings with a namespace", {"settings": fleet}
