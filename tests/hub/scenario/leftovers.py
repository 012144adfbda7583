"""Takes away what modules before have left on the hub that they share.

A test that failed, or a controller that acted once more after its object was deleted. No module may
need another one's clean end.
"""

from collections.abc import Iterator

from gitops_dsf.hub.names import MOVES_CONFIGMAP, RECONCILER, STATUS_CONFIGMAP
from tests.hub.controlplane.api import ApiError, Client, Object
from tests.hub.controlplane.applications import APPLICATION, APPLICATION_SET
from tests.hub.controlplane.plane import SPOKES
from tests.hub.controlplane.waiting import wait_for
from tests.hub.scenario.installation import wait_for_policies
from tests.hub.scenario.placements import BINDING, CLUSTER_SET, PLACEMENT, delete_scores
from tests.hub.scenario.reconciling import HUB_NAMESPACE

OURS = "app.kubernetes.io/managed-by=gitops-dsf,app.kubernetes.io/part-of=gitops-dsf"
PROJECT = "argoproj.io/v1alpha1/AppProject"
ADMISSION = "admissionregistration.k8s.io/v1"
STAY = frozenset(
    {
        (PROJECT, "default"),  # of Argo CD's installation
        (CLUSTER_SET, "default"),  # OCM's own
        (CLUSTER_SET, "global"),
    }
)
OF_OCM = "open-cluster-management-global-set"
"""OCM keeps a Placement of all clusters there, with its binding."""
KINDS = (
    # What generates comes before what is generated.
    (APPLICATION_SET, ""),
    (APPLICATION, ""),
    (PROJECT, ""),
    (PLACEMENT, ""),
    (BINDING, ""),
    (CLUSTER_SET, ""),
    (f"{ADMISSION}/ValidatingAdmissionPolicyBinding", OURS),
    (f"{ADMISSION}/ValidatingAdmissionPolicy", OURS),
    ("work.open-cluster-management.io/v1/ManifestWork", OURS),
    ("addon.open-cluster-management.io/v1alpha1/ManagedClusterAddOn", OURS),
)
"""Each kind, with the labels of what goes."""
OF_THE_RECONCILER = (
    ("v1/ConfigMap", MOVES_CONFIGMAP),
    ("v1/ConfigMap", STATUS_CONFIGMAP),
    ("coordination.k8s.io/v1/Lease", RECONCILER),
)
"""What the reconciler writes besides. One that was killed leaves the claim of a leader, too."""


def remove_leftovers(hub: Client) -> None:
    """Deletes it, and waits until it is gone.

    Where nothing is left this takes one request for each kind.
    """
    for kind, name in OF_THE_RECONCILER:
        hub.delete(kind, name, namespace=HUB_NAMESPACE)
    left = list(_left(hub))
    if left:
        wait_for(
            lambda: not _deleted(hub), what="leftovers are gone", seen=lambda: list(_left(hub))
        )
    if any(kind.startswith(f"{ADMISSION}/") for kind, _, _ in left):
        # The API server enforces a policy for up to a second after it is gone.
        wait_for_policies(hub)
    for cluster in SPOKES:
        try:
            delete_scores(hub, cluster)
        except ApiError as error:
            _absent(error)


def _deleted(hub: Client) -> list[tuple[str, str, str | None]]:
    """Deletes what there is.

    A controller may have made one more, so the next look deletes again.
    """
    left = list(_left(hub))
    for kind, name, namespace in left:
        if kind == APPLICATION:
            # Nobody is there to take away what it applied; its cluster may be unknown by now.
            free: Object = {"metadata": {"finalizers": None}}
            hub.patch(kind, name, free, namespace=namespace)
        hub.delete(kind, name, namespace=namespace)
    return left


def _left(hub: Client) -> Iterator[tuple[str, str, str | None]]:
    """Kind, name and namespace of what modules before have left."""
    for kind, labels in KINDS:
        try:
            found = hub.list(kind, labels=labels or None)
        except ApiError as error:
            _absent(error)  # a hub without OCM or Argo CD
            continue
        for item in found:
            meta = item["metadata"]
            if (kind, meta["name"]) not in STAY and meta.get("namespace") != OF_OCM:
                yield kind, meta["name"], meta.get("namespace")


def _absent(error: ApiError) -> None:
    if error.code != 404:
        raise error
