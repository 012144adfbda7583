"""Clusters with a problem: not reached, being deleted, or tainted. The others are counted."""

from collections.abc import Iterator, Sequence
from typing import Final

from gitops_dsf.views.status.clusters import ClusterView
from gitops_dsf.wording import plural

MAX_ROWS: Final = 10
"""Clusters shown without --all."""
_REACHABILITY: Final = {
    True: "available",
    False: "OCM does not reach it",
    None: "OCM has not reported whether it is available",
}


def cluster_lines(views: Sequence[ClusterView], *, everything: bool) -> Iterator[str]:
    """Yields a line for each cluster with a problem, and one that counts the others."""
    listed = list(views)
    # A single cluster was asked for, or is the whole hub: it is shown even if nothing is wrong.
    if not everything and len(views) > 1:
        listed = [view for view in views if not view.calm]
    visible = listed if everything else listed[:MAX_ROWS]
    for view in visible:
        yield f"  {view.cluster}: {cluster_text(view)}"
    if len(visible) < len(listed):
        count = len(listed) - len(visible)
        yield f"  and {count} more such clusters; --cluster or --all shows them"
    calm = len(views) - len(listed)
    if calm and listed:
        yield f"  {plural(calm, 'other cluster')} in order"
    elif calm:
        yield f"  {plural(calm, 'cluster')} in order"


def cluster_text(view: ClusterView) -> str:
    """Formats `OCM does not reach it since ...; it is being deleted; taints key:NoSelect`."""
    parts = [_REACHABILITY[view.reachable]]
    # Since when OCM reaches a cluster is of no use, and would hide what is wrong.
    if view.since and view.reachable is False:
        parts = [f"{parts[0]} since {view.since}"]
    if view.deleting:
        parts.append("it is being deleted")
    if view.taints:
        parts.append(f"taints {', '.join(view.taints)}")
    return "; ".join(parts)
