"""ScoredPlacements for other consumers: OCM decides for them in their namespaces, and every example of
docs/decisions/consumers.md is what the consumer's CRD takes.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from gitops_dsf.hub.names import RECONCILER as NAME
from tests.hub.controlplane.api import ApiError, Client, Object
from tests.hub.controlplane.binaries import Binaries, obtain
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.manifests import namespace as namespace_object
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import wait_for
from tests.hub.scenario.fleet import Fleet, cluster_set, scorer, settings
from tests.hub.scenario.fleet import cluster as cluster_document
from tests.hub.scenario.installation import Installation, installed
from tests.hub.scenario.placements import BINDING, PLACEMENT, prefer
from tests.hub.test_apply import missing

pytestmark = [pytest.mark.family("kubernetes", "ocm", "consumers")]

FLEET = "consumers"
CLUSTERS = ("cluster1", "cluster2")
PAGE = (Path(__file__).parents[2] / "docs/decisions/consumers.md").read_text("utf-8")
OURS = "gitops-dsf.io/v1alpha1"
NAMESPACES = ("kueue-system", "policies", "tuning")


def placement(name: str, namespace: str, **spec: object) -> Object:
    return {
        "apiVersion": OURS,
        "kind": "ScoredPlacement",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "placement": {"numberOfClusters": 1, "clusterSets": [FLEET]},
            "scores": [{"scorer": "cpu-headroom"}],
            "stickiness": 10,
            **spec,
        },
    }


@pytest.fixture(scope="module")
def crds() -> Binaries:
    return obtain("consumers")


@pytest.fixture(scope="module")
def installation(control_plane: ControlPlane, git_server: GitServer, hub: Client) -> Iterator[Installation]:
    """A fleet without applications, so without Argo CD."""
    fleet = Fleet(repository=git_server.create(FLEET), name=FLEET)
    fleet.write("gitops-dsf.yaml", settings(fleet))
    fleet.write("scorers/cpu-headroom.yaml", scorer())
    fleet.write("clusters/set.yaml", cluster_set(FLEET))
    for name in CLUSTERS:
        fleet.write(f"clusters/{name}.yaml", cluster_document(name, fleet=FLEET))
    fleet.write(
        "apps/placements.yaml",
        placement("training", "kueue-system"),
        placement("node-tuning", "tuning"),
        placement("gpu-hardening", "policies", bindings="Existing"),
    )
    fleet.render()
    for name in NAMESPACES:
        hub.apply(namespace_object(name))
    with installed(fleet, control_plane, clusters=CLUSTERS) as found:
        yield found


@pytest.fixture(scope="module")
def served(hub: Client, crds: Binaries) -> Iterator[None]:
    """The CRDs of Kueue and of OCM's policies on the hub; the suite's OCM brings that of
    ManifestWorkReplicaSets.
    """
    paths = [
        *sorted(crds.folder("kueue").glob("kueue.x-k8s.io_*.yaml")),
        *sorted(crds.folder("policies").glob("policy.*.yaml")),
    ]
    found = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in paths]
    found = [item for item in found if item["metadata"]["name"].partition(".")[0] in EXAMPLES_OF]
    for item in found:
        hub.apply(item)
    yield
    for item in found:
        hub.delete("apiextensions.k8s.io/v1/CustomResourceDefinition", item["metadata"]["name"])


EXAMPLES_OF = frozenset(
    {"admissionchecks", "clusterqueues", "multikueueconfigs", "policies", "placementbindings"}
)


def examples() -> list[Object]:
    """Documents of the page that are not of a fleet repository."""
    consumers = PAGE.partition("\n## Without Argo CD\n")[0]
    blocks = re.findall(r"^```yaml\n(.*?)^```", consumers, re.MULTILINE | re.DOTALL)
    documents = [document for block in blocks for document in yaml.safe_load_all(block)]
    return [document for document in documents if document["apiVersion"] != OURS]


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize("item", examples(), ids=lambda item: f"{item['kind']}-{item['metadata']['name']}")
def test_an_example_is_what_its_crd_takes(item: Object, hub: Client) -> None:
    """By the API server's strict validation, which refuses unknown fields."""
    namespace = item["metadata"].get("namespace")
    if namespace is not None:
        hub.apply(namespace_object(namespace))
    kind = f"{item['apiVersion']}/{item['kind']}"
    wait_for(lambda: hub.path(kind), what=f"the hub lists {kind}")
    answer = hub.apply(item)
    try:
        for section in ("spec", "placementRef", "subjects", "rules"):
            if section in item:
                assert missing(item[section], answer[section]) == []
        broken = {**item, "bogus": 1}
        with pytest.raises(ApiError, match="bogus"):
            hub.apply(broken)
    finally:
        hub.delete(kind, item["metadata"]["name"], namespace=namespace)


@pytest.mark.usefixtures("served")
def test_a_multikueueconfig_takes_as_many_clusters_as_the_page_says(hub: Client) -> None:
    [most] = map(int, re.findall(r"A MultiKueueConfig takes at most (\d+) clusters", PAGE))
    kind = "kueue.x-k8s.io/v1beta2/MultiKueueConfig"
    wait_for(lambda: hub.path(kind), what=f"the hub lists {kind}")

    def config(clusters: int) -> Object:
        api_version, _, name = kind.rpartition("/")
        return {
            "apiVersion": api_version,
            "kind": name,
            "metadata": {"name": "limit"},
            # In an order that is not the alphabet's: the dispatcher takes them in this one.
            "spec": {"clusters": [f"cluster{number:02}" for number in range(clusters, 0, -1)]},
        }

    try:
        assert hub.apply(config(most))["spec"] == config(most)["spec"]
        with pytest.raises(ApiError, match="must have at most"):
            hub.apply(config(most + 1))
    finally:
        hub.delete(kind, "limit")


def test_ocm_decides_in_the_namespace_of_the_consumer(installation: Installation, hub: Client) -> None:
    for best in CLUSTERS:
        for name, namespace in (("training", "kueue-system"), ("node-tuning", "tuning")):
            prefer(hub, name, best, namespace=namespace)


def test_existing_bindings_are_left_to_their_owner(installation: Installation, hub: Client) -> None:
    assert hub.find(BINDING, FLEET, namespace="policies") is None
    wait_for(
        lambda: (
            "NoManagedClusterSetBindings"
            in str(hub.get(PLACEMENT, "gpu-hardening", namespace="policies").get("status"))
        ),
        what="OCM misses the binding",
        seen=lambda: hub.get(PLACEMENT, "gpu-hardening", namespace="policies"),
    )


def test_the_command_of_the_page_prints_the_clusters(
    installation: Installation, control_plane: ControlPlane, hub: Client
) -> None:
    prefer(hub, "node-tuning", "cluster1", namespace="tuning")
    [command] = re.findall(r"^    kubectl (get placementdecisions .*)$", PAGE, re.MULTILINE)
    assert control_plane.kubectl(*shlex.split(command)) == "cluster1\n"


def test_the_reconciler_may_list_decisions_there_and_nothing_else(
    installation: Installation, control_plane: ControlPlane
) -> None:
    with Client(control_plane.hub.service_account_kubeconfig("open-cluster-management", NAME)) as account:
        path = account.path(
            "cluster.open-cluster-management.io/v1beta1/PlacementDecision", namespace="tuning"
        )
        assert "items" in account.request("GET", path)
        with pytest.raises(ApiError, match="403"):
            account.request("DELETE", path)
        with pytest.raises(ApiError, match="403"):
            account.request("GET", account.path(PLACEMENT, namespace="tuning"))
