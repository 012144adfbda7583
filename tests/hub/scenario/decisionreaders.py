"""Lets Argo CD's ApplicationSet controller list decisions, as our rendered Role does."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.hub.controlplane.api import RBAC, ROLE_BINDING, Client, bound, manifest
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import wait_for
from tests.hub.scenario.placements import CLUSTER, DECISION

NAMESPACE = "argocd"
CONTROLLER = "argocd-applicationset-controller"
READERS = "decision-readers"
"""The ClusterRole, and its binding in the namespace of an Argo CD."""


@contextmanager
def reading_decisions(
    hub: Client, control_plane: ControlPlane, *, namespace: str = NAMESPACE
) -> Iterator[None]:
    """The controller of the Argo CD in a namespace has the right, and the API server knows it,
    until the block ends.
    """
    rules = [{"apiGroups": [CLUSTER], "resources": ["placementdecisions"], "verbs": ["list"]}]
    hub.apply(manifest(f"{RBAC}/ClusterRole", READERS, rules=rules))
    hub.apply(bound(READERS, READERS, namespace=namespace, account=(namespace, CONTROLLER)))
    # A role counts a moment after it is written, and a look that is refused would be the last for
    # three minutes.
    with Client(control_plane.hub.service_account_kubeconfig(namespace, CONTROLLER)) as controller:
        wait_for(
            lambda: [controller.list(DECISION, namespace=namespace)],
            what="the controller may list decisions",
        )
    yield
    hub.delete(ROLE_BINDING, READERS, namespace=namespace)
    hub.delete(f"{RBAC}/ClusterRole", READERS)
