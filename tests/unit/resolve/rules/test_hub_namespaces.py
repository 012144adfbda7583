"""Names that would put rights of the fleet into a namespace of the platform.

Of clusters, Placements and the hub namespace.
"""

import pytest

from tests.support.repositories import APP, BASE, CONFIG, findings, findings_of, placement

CLUSTER = BASE["clusters/c.yaml"]
PLATFORM = [
    ("default", "Kubernetes"),
    ("kube-public", "Kubernetes"),
    ("kube-system", "Kubernetes"),
    ("kube-node-lease", "Kubernetes"),
    ("openshift", "OpenShift"),
    ("openshift-config", "OpenShift"),
    ("openshift-gitops", "OpenShift"),
    ("open-cluster-management-agent", "Open Cluster Management"),
    ("open-cluster-management-hub", "Open Cluster Management"),
    ("multicluster-engine", "Open Cluster Management"),
    ("argocd", "Argo CD"),
    ("dynamic-scoring", "gitops-dsf"),
]
HONEST = (
    "local-cluster",
    "prod-openshift",
    "openshiftprod",
    "kube",
    "kubernetes-1",
    "my-kube-system",
    "argocd-hub",
    "default-1",
    "dynamic-scoring-1",
    "multicluster-engine-1",
)
"""Names of clusters and namespaces that no program of the platform uses."""


def named(name: str) -> str:
    return CLUSTER.replace("prod-1", name)


def shared(namespace: str) -> str:
    return (
        "apiVersion: gitops-dsf.io/v1alpha1\nkind: ScoredPlacement\nmetadata:"
        " {name: shared, namespace:"
        f" {namespace}}}\nspec: {{scores: [{{scorer: cpu}}], placement: {{numberOfClusters: 1}}}}\n"
    )


def settings(text: str) -> str:
    return BASE["gitops-dsf.yaml"].replace("spec: {", f"spec: {{{text}, ")


def told(code: str, **documents: str) -> list[str]:
    return [item.message for item in findings_of(code, **documents)]


@pytest.mark.parametrize(("name", "owner"), PLATFORM)
def test_a_cluster_like_a_namespace_of_the_platform_is_an_error(name: str, owner: str) -> None:
    [finding] = findings_of("DSF210", clusters=f"{CLUSTER}---\n{named(name)}")
    assert (str(finding.severity), str(finding.position)) == ("error", "clusters/c.yaml:7:18")
    assert finding.message.startswith(f"the hub's namespace {name} belongs to {owner} (")
    assert finding.hint == "remove the cluster here, and join it to the hub under another name"


@pytest.mark.parametrize("name", HONEST)
def test_other_names_of_clusters_are_nobodys(name: str) -> None:
    assert told("DSF210", clusters=f"{CLUSTER}---\n{named(name)}") == []


@pytest.mark.parametrize("name", ["gitops", "hub-scoring"])
def test_the_settings_name_two_namespaces_more(name: str) -> None:
    own = settings("hubNamespace: hub-scoring, argocd: {namespace: gitops}")
    assert len(told("DSF210", settings=own, clusters=f"{CLUSTER}---\n{named(name)}")) == 1
    assert told("DSF210", clusters=f"{CLUSTER}---\n{named(name)}") == []


@pytest.mark.parametrize(("name", "owner"), PLATFORM)
def test_placements_stay_out_of_namespaces_of_the_platform(name: str, owner: str) -> None:
    """Argo CD's own is where all Placements of applications are."""
    own = placement("{}").replace("namespace: argocd", f"namespace: {name}")
    for text in (shared(name), own):
        found = told("DSF360", apps=text)
        assert len(found) == (name != "argocd")
        assert all(
            f"the hub's namespace {name} belongs to {owner} (" in message for message in found
        )


def test_placements_stay_out_of_the_namespaces_of_clusters_and_of_the_reconciler() -> None:
    assert len(told("DSF360", apps=shared("prod-1"))) == 1
    assert len(told("DSF360", apps=placement("{}").replace("argocd", "prod-1"))) == 1
    own = settings("hubNamespace: hub-scoring")
    assert len(told("DSF360", apps=shared("hub-scoring"), settings=own)) == 1


@pytest.mark.parametrize("name", [*HONEST, "kueue-system", "prod-2"])
def test_placements_may_be_in_other_namespaces(name: str) -> None:
    assert told("DSF360", apps=shared(name)) == []


def test_a_placement_without_a_namespace_is_in_that_of_argocd() -> None:
    assert told("DSF360", apps=APP) == []
    assert told("DSF360", apps=shared("x").replace(", namespace: x", "")) == []


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("kube-system", 1),
        ("openshift-config", 1),
        ("default", 1),
        ("dynamic-scoring", 1),
        ("open-cluster-management-hub", 1),
        ("prod-1", 1),
        # The default.
        ("gitops-dsf", 0),
        # Beside OCM's operator, as it was by default once; and beside Argo CD, where we render
        # anyway.
        ("open-cluster-management", 0),
        ("argocd", 0),
        ("scoring", 0),
    ],
)
def test_the_hub_namespace_is_one_of_our_own(name: str, counts: int) -> None:
    assert len(told("DSF211", settings=settings(f"hubNamespace: {name}"))) == counts


def test_an_application_set_elsewhere_is_told_once() -> None:
    text = (
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\n"
        "metadata: {name: a, namespace: kube-system}\n"
        f"spec: {{generators: [{{clusterDecisionResource: {{{CONFIG}}}}}], template: {{}}}}\n"
    )
    found = [item.code for item in findings(apps=text) if item.code in {"DSF401", "DSF360"}]
    assert found == ["DSF401"]


@pytest.mark.parametrize("name", ["*", "!argocd", "kueue-*", "a b", "A"])
def test_the_namespace_of_a_copied_document_is_a_name_and_no_pattern(name: str) -> None:
    """The AppProject reads `*` and `!` as patterns."""
    text = placement("{}").replace("namespace: argocd", f"namespace: '{name}'")
    found = [
        (item.code, str(item.position)) for item in findings(apps=text) if item.code == "DSF016"
    ]
    assert found == [("DSF016", "apps/x.yaml:3:32")]
