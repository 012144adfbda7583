"""Effects of a change on the order in which Kueue offers jobs to clusters.

A preview does not know the MultiKueueConfigs of a hub. So the order before a change is the one that
the scores ask for, and the one after it follows from there: a cluster overtakes another one only by
the stickiness. Not guaranteed: that a cluster leaves the list at once, because running jobs hold
it.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from gitops_dsf.hub.multikueue import readable_order
from gitops_dsf.multikueue.byscores import JobsByScores, OrderedCluster, jobs_by_scores
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.simulator import Outcome, Verdict
from gitops_dsf.views.preview.nextscores import UnknownScores
from gitops_dsf.views.preview.transition import Transition
from gitops_dsf.views.preview.verdictpairs import VerdictPair


class JobOrderChange(Struct, frozen=True, kw_only=True):
    """Another order of the clusters of one MultiKueueConfig."""

    placement: str
    """`namespace/name` of the Placement that orders it."""
    config: str
    before: tuple[OrderedCluster, ...] | None
    """None if the Placement did not order this config."""
    after: tuple[OrderedCluster, ...] | None
    """None if the Placement does not order it any more, or if the order is open."""
    open: bool
    """Whether the order is unknown until the next run of a changed scorer."""


class MultiKueueChange(Struct, frozen=True, kw_only=True):
    """MultiKueueConfigs that begin or cease to be ordered. The names are sorted."""

    added: tuple[str, ...]
    removed: tuple[str, ...]


def multi_kueue_change(base: CheckedFleet | None, head: CheckedFleet) -> MultiKueueChange | None:
    """The changes of MultiKueueConfigs in the repository; None if there are none.

    It needs no scores, so it is known also where `job_order_changes` are not.
    """
    before = frozenset[str]() if base is None else frozenset(base.multi_kueue.configs)
    after = frozenset(head.multi_kueue.configs)
    if before == after:
        return None
    return MultiKueueChange(
        added=tuple(sorted(after - before)), removed=tuple(sorted(before - after))
    )


def job_order_changes(
    pairs: Iterable[VerdictPair], transition: Transition
) -> Iterator[JobOrderChange]:
    """The orders that come, go or change, in order of the Placements."""
    now = transition.now.timestamp()
    for pair in pairs:
        if not pair.touched:
            continue
        before = _order(pair.before, now=now)
        after = _order(pair.after, now=now)
        # The list holds its clusters by the stickiness. Another config begins with an empty one.
        if before is not None and after is not None and before.config == after.config:
            after = _order(pair.after, now=now, listed=_names(before))
        is_open = pair.after is not None and _is_open(pair.after, transition.scores.unknown)
        yield from _changes(pair.placement, before, after, is_open=is_open)


def _changes(
    placement: str, before: JobsByScores | None, after: JobsByScores | None, *, is_open: bool
) -> Iterator[JobOrderChange]:
    """Two if another config is ordered from now on."""
    if before is not None and (after is None or after.config != before.config):
        yield JobOrderChange(
            placement=placement,
            config=before.config,
            before=before.clusters,
            after=None,
            open=False,
        )
        # The following is about the other config, which had no order before.
        before = None
    if after is None:
        return
    # An open order may turn out to be the same; until then people should see that it is open.
    if before is None or is_open or _names(before) != _names(after):
        yield JobOrderChange(
            placement=placement,
            config=after.config,
            before=None if before is None else before.clusters,
            after=None if is_open else after.clusters,
            open=is_open,
        )


def _order(
    verdict: Verdict | None, *, now: float, listed: tuple[str, ...] = ()
) -> JobsByScores | None:
    """None if the Placement orders no jobs."""
    if verdict is None:
        return None
    return jobs_by_scores(
        verdict.source, _eligible(verdict), verdict.state.scores, now=now, listed=listed
    )


def _eligible(verdict: Verdict) -> tuple[str, ...]:
    """OCM decides for all of them, because a Placement for jobs has no numberOfClusters."""
    if verdict.ranking is None or verdict.outcome is not Outcome.SCHEDULED:
        return ()
    return tuple(verdict.state.names[position] for position in verdict.ranking.clusters)


def _is_open(verdict: Verdict, unknown: UnknownScores) -> bool:
    """Whether a score that could change the order is unknown."""
    order = readable_order(verdict.source)
    if order is None:
        return False
    clusters = _eligible(verdict)
    # Jobs have no other way with one cluster, whatever its score.
    if len(clusters) < 2:
        return False
    for term in order.terms:
        if not unknown.get(term.resource, {}).keys().isdisjoint(clusters):
            return True
    return False


def _names(order: JobsByScores) -> tuple[str, ...]:
    return tuple(listed.cluster for listed in order.clusters)
