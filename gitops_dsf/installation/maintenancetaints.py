"""The taint that a maintenance leaves on clusters, which `uninstall` takes off."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from gitops_dsf.hub.names import MAINTENANCE_TAINT
from gitops_dsf.installation.hub import MAX_REQUESTS, ConflictError, Manifest, WritableHub, report
from gitops_dsf.installation.objectkinds import CLUSTER
from gitops_dsf.wording import names_text

MAX_CONFLICTS: Final = 5
"""The number of times that a cluster's taints are read again because the cluster changed meanwhile.
"""


def tainted_clusters(hub: WritableHub) -> list[str]:
    """The clusters that a maintenance closed. Nobody else opens them again."""
    served = hub.kind(CLUSTER.group, kind=CLUSTER.kind)
    if served is None:
        return []
    names = []
    for cluster in hub.list(served.path()):
        if len(_other_taints(cluster)) < len(_taints(cluster)):
            names.append(cluster["metadata"]["name"])
    return names


def untaint(hub: WritableHub, names: Sequence[str]) -> None:
    """Takes the taint of maintenance off the clusters."""
    served = hub.kind(CLUSTER.group, kind=CLUSTER.kind)
    if served is None or not names:
        return
    if not hub.dry_run:
        paths = [served.path(name=name) for name in names]
        with ThreadPoolExecutor(MAX_REQUESTS) as threads:
            list(threads.map(partial(_untaint_cluster, hub), paths))
    clusters = names_text([f"ManagedCluster {name}" for name in names])
    if hub.dry_run:
        report(
            f"{clusters}: the taint {MAINTENANCE_TAINT} would be removed, so that applications may"
            " be placed there"
        )
    else:
        report(
            f"{clusters}: the taint {MAINTENANCE_TAINT} removed, so that applications may be"
            " placed there"
        )


def _untaint_cluster(hub: WritableHub, path: str) -> None:
    """Writes the list of taints as it was read: OCM writes the same list."""
    for attempt in range(1, MAX_CONFLICTS + 1):
        cluster = hub.live(path)
        if cluster is None:
            return
        # Each other taint stays word for word, because OCM refuses another timeAdded
        # (docs/contributing/behaviour.md#taints-that-ocm-sets).
        others = _other_taints(cluster)
        # With the version, the hub answers 409 if OCM wrote a taint of its own in between.
        version = cluster["metadata"].get("resourceVersion")
        change = {"metadata": {"resourceVersion": version}, "spec": {"taints": others or None}}
        try:
            hub.merge(path, change)
        except ConflictError:
            if attempt == MAX_CONFLICTS:
                raise
        else:
            return


def _other_taints(cluster: Manifest) -> list[Manifest]:
    """The taints without that of maintenance, as they were read."""
    return [taint for taint in _taints(cluster) if taint.get("key") != MAINTENANCE_TAINT]


def _taints(cluster: Manifest) -> list[Manifest]:
    return (cluster.get("spec") or {}).get("taints") or []
