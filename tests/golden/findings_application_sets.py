# ruff: noqa: E501 - texts of documents
"""Small repositories for tests/golden/test_findings.py: ApplicationSets."""

from collections.abc import Iterator

from tests.golden.findings_documents import (
    CLUSTER,
    SETTINGS,
    SHARED,
    Documents,
    both,
    case,
    cluster,
    generator,
)
from tests.support.repositories import APP, CONFIG, LABELS, app, application_set, listed, placement


def nested(kinds: tuple[str, ...]) -> str:
    text = f"{{clusterDecisionResource: {{{CONFIG}, name: p-decision-1}}}}"
    for kind in reversed(kinds):
        text = f"{{{kind}: {{generators: [{text}, {{clusters: {{}}}}]}}}}"
    return both(placement("{}"), application_set(text))


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


def _refused_by_argocd() -> Iterator[tuple[str, Documents]]:
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
