"""ScoredPlacements for other consumers.

OCM decides for them in their namespaces, and every example of docs/decisions/consumers.md and of
docs/decisions/multikueue.md is what its CRD takes.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from gitops_dsf.hub.names import RECONCILER as NAME
from tests.hub.controlplane.api import ApiError, Client, Object, manifest
from tests.hub.controlplane.binaries import obtain
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import SPOKES, ControlPlane
from tests.hub.controlplane.waiting import remove_kinds, wait_for, wait_until_served
from tests.hub.scenario.fleet import OURS, new_fleet, placement
from tests.hub.scenario.installation import Installation, installed
from tests.hub.scenario.placements import BINDING, DECISION, PLACEMENT, prefer
from tests.hub.test_argocd_sync import missing

pytestmark = [pytest.mark.family("kubernetes", "ocm", "consumers")]

FLEET = "consumers"
DECISIONS = Path(__file__).parents[2] / "docs/decisions"
PAGE = (DECISIONS / "consumers.md").read_text("utf-8")
JOBS = (DECISIONS / "multikueue.md").read_text("utf-8")


@pytest.fixture(scope="module")
def installation(
    control_plane: ControlPlane, git_server: GitServer, hub: Client
) -> Iterator[Installation]:
    """A fleet without applications, so without Argo CD."""
    fleet = new_fleet(git_server, FLEET, guestbook=False)
    fleet.write(
        "apps/placements.yaml",
        placement(FLEET, "training", "kueue-system"),
        placement(FLEET, "node-tuning", "tuning"),
        placement(FLEET, "gpu-hardening", "policies", bindings="Existing"),
    )
    for name in ("kueue-system", "policies", "tuning"):
        hub.apply(manifest("v1/Namespace", name))
    with installed(fleet, control_plane) as found:
        yield found


@pytest.fixture(scope="module")
def served(hub: Client) -> Iterator[None]:
    """The CRDs of Kueue and of OCM's policies on the hub; the suite's OCM brings that of
    ManifestWorkReplicaSets.
    """
    crds = obtain("consumers")
    paths = [
        *sorted(crds.folder("kueue").glob("kueue.x-k8s.io_*.yaml")),
        *sorted(crds.folder("policies").glob("policy.*.yaml")),
    ]
    found = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in paths]
    found = [item for item in found if item["metadata"]["name"].partition(".")[0] in EXAMPLES_OF]
    for item in found:
        hub.apply(item)
    wait_until_served(hub, found)
    yield
    remove_kinds(hub, (item["metadata"]["name"] for item in found))


EXAMPLES_OF = frozenset(
    {
        "admissionchecks",
        "clusterqueues",
        "localqueues",
        "multikueueconfigs",
        "placementbindings",
        "policies",
        "resourceflavors",
    }
)


def examples() -> list[Object]:
    """Documents of the pages that are not of a fleet repository, nor a part of a file."""
    consumers = PAGE.partition("\n## Without Argo CD\n")[0]
    blocks = re.findall(r"^```yaml\n(.*?)^```", consumers + JOBS, re.MULTILINE | re.DOTALL)
    documents = [document for block in blocks for document in yaml.safe_load_all(block)]
    return [document for document in documents if document.get("apiVersion") not in {OURS, None}]


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize(
    "item", examples(), ids=lambda item: f"{item['kind']}-{item['metadata']['name']}"
)
def test_an_example_is_what_its_crd_takes(item: Object, hub: Client) -> None:
    """By the API server's strict validation, which refuses unknown fields."""
    namespace = item["metadata"].get("namespace")
    if namespace is not None:
        hub.apply(manifest("v1/Namespace", namespace))
    kind = f"{item['apiVersion']}/{item['kind']}"
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
    [most] = map(int, re.findall(r"\*\*(\d+) clusters\*\* are Kueue's limit", JOBS))

    def config(clusters: int) -> Object:
        # In an order that is not the alphabet's: the dispatcher takes them in this one.
        names = [f"cluster{number:02}" for number in range(clusters, 0, -1)]
        return manifest(
            "kueue.x-k8s.io/v1beta2/MultiKueueConfig", "limit", spec={"clusters": names}
        )

    assert hub.apply(config(most), dry_run=True)["spec"] == config(most)["spec"]
    with pytest.raises(ApiError, match="must have at most"):
        hub.apply(config(most + 1), dry_run=True)


def test_ocm_decides_in_the_namespace_of_the_consumer(
    installation: Installation, hub: Client
) -> None:
    for best in SPOKES:
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
    assert control_plane.hub.kubectl(*shlex.split(command)) == "cluster1\n"


def test_the_reconciler_may_list_decisions_there_and_nothing_else(
    installation: Installation, control_plane: ControlPlane
) -> None:
    with Client(control_plane.hub.service_account_kubeconfig("gitops-dsf", NAME)) as account:
        path = account.path(DECISION, namespace="tuning")
        # The API server knows a right a moment after it is written.
        wait_for(lambda: "items" in account.request("GET", path), what="its right to list them")
        with pytest.raises(ApiError, match="403"):
            account.request("DELETE", path)
        with pytest.raises(ApiError, match="403"):
            account.request("GET", account.path(PLACEMENT, namespace="tuning"))
