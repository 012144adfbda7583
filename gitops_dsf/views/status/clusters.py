"""Clusters: whether OCM reaches them, and the taints that keep applications away."""

from collections.abc import Iterator

from msgspec import Struct

from gitops_dsf.hub.names import AVAILABLE_CONDITION
from gitops_dsf.hub.objects import Taint
from gitops_dsf.hub.times import timestamp_of
from gitops_dsf.views.status.inputs import HubPart, StatusInputs


class ClusterView(Struct, frozen=True, kw_only=True):
    """One ManagedCluster."""

    cluster: str
    reachable: bool | None
    """None if OCM has not reported it yet."""
    since: str | None
    """The time since when this is so."""
    deleting: bool
    taints: tuple[str, ...]
    """`key:effect`, with the value if there is one."""

    @property
    def calm(self) -> bool:
        """Whether there is nothing that people should look at."""
        return self.reachable is not False and not self.deleting and not self.taints


def cluster_views(inputs: StatusInputs, *, cluster: str | None) -> Iterator[ClusterView]:
    """All clusters, or the requested one, in order of name; none if they could not be read."""
    # Scores name clusters as well, but say nothing of whether OCM reaches them.
    if not inputs.knows(HubPart.CLUSTERS):
        return
    for name, managed_cluster in sorted(inputs.snapshot.clusters.items()):
        if cluster not in (None, name):
            continue
        available = managed_cluster.condition(AVAILABLE_CONDITION)
        # Unknown means that the agent has not renewed its lease, so OCM sends nothing there.
        reachable = {"True": True, "False": False, "Unknown": False}.get(available.status)
        since = available.since if reachable is not None else None
        yield ClusterView(
            cluster=name,
            reachable=reachable,
            since=None if since is None else timestamp_of(since),
            deleting=managed_cluster.deleting,
            taints=tuple(map(_taint_text, managed_cluster.taints)),
        )


def _taint_text(taint: Taint) -> str:
    """A taint as kubectl writes it."""
    if taint.value:
        return f"{taint.key}={taint.value}:{taint.effect}"
    return f"{taint.key}:{taint.effect}"
