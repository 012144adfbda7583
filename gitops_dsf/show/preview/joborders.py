"""Changed orders of clusters for Kueue's jobs, in words."""

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from msgspec import UNSET

from gitops_dsf.hub.points import points_text
from gitops_dsf.multikueue.byscores import OrderedCluster
from gitops_dsf.show.markdown import code
from gitops_dsf.show.preview.limits import PageLimits
from gitops_dsf.show.preview.lists import bullets, folded
from gitops_dsf.show.status.placements import ordered_cluster_text
from gitops_dsf.views.preview.build import Comparison
from gitops_dsf.views.preview.joborders import JobOrderChange
from gitops_dsf.wording import names_text, plural

MAX_ON_SCREEN: Final = 2
"""Orders on the first screen. Their section has all."""


def job_order_lines(comparison: Comparison, limits: PageLimits) -> Iterator[str]:
    """The first orders that change, and how many more do."""
    changes = _changes_of(comparison)
    for change in changes[:MAX_ON_SCREEN]:
        yield _line(change, limits)
    if len(changes) > MAX_ON_SCREEN:
        yield f"{plural(len(changes) - MAX_ON_SCREEN, 'more order')} of clusters, below"


def job_order_section(comparison: Comparison, limits: PageLimits) -> Iterator[str]:
    """All orders that change; nothing if the first screen has them already."""
    changes = _changes_of(comparison)
    if len(changes) > MAX_ON_SCREEN:
        lines = (_line(change, limits) for change in changes)
        title = f"Order of clusters for jobs ({len(changes)})"
        yield from folded(title, bullets(lines, changes, "order", limits))


def job_order_text(change: JobOrderChange) -> str:
    """Formats `jobs go first to eu-2 (61 points), before eu-1 (58)`."""
    if change.open:
        return (
            f"which cluster gets jobs of {change.config} first is open until the scorers have run"
        )
    if change.after is None:
        return f"MultiKueueConfig {change.config} is no longer ordered; its list stays as it is"
    if not change.after:
        return f"no cluster is eligible for jobs of {change.config}"
    return "; ".join(_clauses(change.before or (), change.after))


def _changes_of(comparison: Comparison) -> tuple[JobOrderChange, ...]:
    return () if comparison.job_orders is UNSET else comparison.job_orders


def _line(change: JobOrderChange, limits: PageLimits) -> str:
    # Cut before it is escaped: half an escape at the end would be markup of its own.
    text = limits.plain(job_order_text(change)[: 4 * limits.width])
    return f"{code(change.placement)}: {text}"


def _clauses(
    before: tuple[OrderedCluster, ...], after: tuple[OrderedCluster, ...]
) -> Iterator[str]:
    """The first cluster, the other changes of the order, and the clusters that joined or left."""
    first = after[0]
    by_name = {listed.cluster: listed for listed in after}
    by_name_before = {listed.cluster: listed for listed in before}
    overtaken = _overtaken(before, after)
    # The first cluster is named in any case, so it is not among those that joined.
    joined = [listed for listed in after[1:] if listed.cluster not in by_name_before]
    names_gone = [name for name in by_name_before if name not in by_name]
    if before and first.cluster == before[0].cluster:
        yield f"jobs still go first to {_first_text(first)}"
        if overtaken is not None:
            ahead, behind = overtaken
            yield f"{ordered_cluster_text(ahead)} comes before {ordered_cluster_text(behind)}"
    else:
        # The one that was first says best by how much the new one is better.
        rival = by_name.get(before[0].cluster) if before else None
        if rival is None and len(after) > 1:
            rival = after[1]
        if rival is None:
            yield f"jobs go to {_first_text(first)} alone"
        else:
            yield f"jobs go first to {_first_text(first)}, before {ordered_cluster_text(rival)}"
    # All clusters of a new order have joined, which is not news.
    if before and joined:
        yield f"{names_text(map(ordered_cluster_text, joined))} may get jobs, too"
    if names_gone:
        yield f"no new jobs go to {names_text(names_gone)}"


def _overtaken(
    before: tuple[OrderedCluster, ...], after: tuple[OrderedCluster, ...]
) -> tuple[OrderedCluster, OrderedCluster] | None:
    """The first cluster that comes before another one from now on, and that other one."""
    rank_before: dict[str, int] = {}
    for rank, listed in enumerate(before):
        rank_before[listed.cluster] = rank
    stayed = [listed for listed in after if listed.cluster in rank_before]
    # In the order of `after`, so that the pair nearest to the top is the one that is named.
    for ahead, behind in combinations(stayed, 2):
        if rank_before[behind.cluster] < rank_before[ahead.cluster]:
            return ahead, behind
    return None


def _first_text(first: OrderedCluster) -> str:
    if first.points is None:
        return first.cluster
    return f"{first.cluster} ({plural(points_text(first.points), 'point')})"
