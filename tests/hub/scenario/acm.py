"""What Red Hat Advanced Cluster Management has on a hub, as far as ours read it.

Its operator is not public as a program that runs here. Its two CRDs are recreated with the fields
that are read, and what it would create are objects.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tests.hub.controlplane.api import Client, Object, manifest
from tests.hub.controlplane.waiting import CRD, remove_kinds, wait_until_served

NAMESPACE: Final = "open-cluster-management"
HUB_KIND: Final = "operator.open-cluster-management.io/v1/MultiClusterHub"


def crds() -> list[Object]:
    """MultiClusterHub and GitOpsCluster."""
    return [
        _crd("operator.open-cluster-management.io", "v1", "MultiClusterHub"),
        _crd("apps.open-cluster-management.io", "v1beta1", "GitOpsCluster"),
    ]


@contextmanager
def kinds(hub: Client) -> Iterator[None]:
    """Serves both kinds for as long as the block runs, and waits until they are gone."""
    for crd in crds():
        hub.apply(crd)
    try:
        wait_until_served(hub, crds())
        yield
    finally:
        remove_kinds(hub, (crd["metadata"]["name"] for crd in crds()))


def multiclusterhub() -> Object:
    return manifest(HUB_KIND, "multiclusterhub", namespace=NAMESPACE, spec={})


def _crd(group: str, version: str, kind: str) -> Object:
    plural = f"{kind.lower()}s"
    open_object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": open_object, "status": open_object}}
    served = {
        "name": version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    names = {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [served]}
    return manifest(CRD, f"{plural}.{group}", spec=spec)
