"""Warnings of Placements without a cluster, with too few, or close to another decision."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from gitops_dsf.hub.intervals import ScoreSpan
from gitops_dsf.hub.points import mean_weight, points_needed
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.simulator import Outcome, Verdict, explain, simulate
from gitops_dsf.simulator.explain import Flip
from gitops_dsf.simulator.scheduler import as_people_wrote
from gitops_dsf.simulator.verdict import outcome_text
from gitops_dsf.views.preview.applied import applied
from gitops_dsf.views.preview.hubstate import hub_state
from gitops_dsf.views.preview.verdictpairs import VerdictPair


@dataclass(frozen=True, kw_only=True)
class UnboundSets:
    """No cluster set is bound in the namespace of a Placement."""


@dataclass(frozen=True, kw_only=True)
class EmptySets:
    """The cluster sets of a Placement hold no cluster."""

    cluster_sets: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class NoneWanted:
    """The Placement asks for no cluster."""


@dataclass(frozen=True, kw_only=True)
class MostDropped:
    """The reason for which most candidates are dropped."""

    filter: str
    reason: str
    dropped: int
    candidates: int


@dataclass(frozen=True, kw_only=True)
class NotScheduled:
    """A Placement that OCM does not schedule, with the cause in OCM's words."""

    placement: str
    cause: str


@dataclass(frozen=True, kw_only=True)
class NoCluster:
    """A Placement without any cluster."""

    placement: str
    is_new: bool
    cause: str | UnboundSets | EmptySets | NoneWanted | MostDropped
    """A text is a message of OCM."""


@dataclass(frozen=True, kw_only=True)
class FewClusters:
    """A Placement that gets fewer clusters than it asks for."""

    placement: str
    selected: int
    wanted: int


@dataclass(frozen=True, kw_only=True)
class CloseDecision:
    """A Placement that a small change of one score would move."""

    placement: str
    leaves: str
    rival: str
    flip: Flip
    """The smallest change that does it."""
    flips_on: str
    """The cluster whose score that is."""


PlacementWarning = NotScheduled | NoCluster | FewClusters | CloseDecision


def filter_warnings(
    base: CheckedFleet | None, head: CheckedFleet
) -> Iterator[NotScheduled | NoCluster]:
    """Warns of Placements for which the filters leave no cluster, where no hub is known.

    Bindings that the repository does not render are taken as there, because no hub was asked.
    """
    state = hub_state(head, None)
    placements_before = {} if base is None else applied(base).placements
    for key in applied(head).placements:
        verdict = simulate(state, key)
        if verdict.outcome is not Outcome.SCHEDULED:
            yield NotScheduled(placement=key, cause=outcome_text(verdict))
        elif not verdict.scores:
            yield NoCluster(
                placement=key,
                is_new=key not in placements_before,
                cause=_why_no_cluster(verdict),
            )


def few_clusters_warnings(pairs: Iterable[VerdictPair]) -> Iterator[PlacementWarning]:
    """Warns of Placements that the change leaves without a cluster, or with too few."""
    for pair in pairs:
        verdict = pair.after
        if verdict is None or not pair.touched:
            continue
        if verdict.outcome in {Outcome.PANIC, Outcome.UNSUPPORTED, Outcome.FAILED}:
            yield NotScheduled(placement=pair.placement, cause=outcome_text(verdict))
        elif verdict.outcome is Outcome.SCHEDULED:
            yield from _few_clusters(pair, verdict)


def close_warnings(
    pairs: Iterable[VerdictPair], max_points: int, spans: Mapping[str, ScoreSpan]
) -> Iterator[CloseDecision]:
    """Warns of decisions that a small change of a score would turn, by the weights people wrote.

    `spans` has the lowest and highest value of each score. A paced Placement that would move
    already is in the queue of moves instead.
    """
    if max_points <= 0:
        return
    for pair in pairs:
        # With unknown scores the verdict has placeholders, and the margin is unknown.
        if pair.after is None or not pair.touched or pair.certainty is not None:
            continue
        by_scores = as_people_wrote(pair.after)
        if by_scores.chosen == pair.after.chosen:
            yield from _close(by_scores, max_points, spans)


def _few_clusters(pair: VerdictPair, verdict: Verdict) -> Iterator[NoCluster | FewClusters]:
    missing_before = 0 if pair.before is None else pair.before.unscheduled
    selected = len(verdict.chosen)
    if not selected:
        yield NoCluster(placement=pair.placement, is_new=False, cause=_why_no_cluster(verdict))
    elif verdict.unscheduled > missing_before:
        # Too few is news only if the change makes it worse.
        wanted = selected + verdict.unscheduled
        yield FewClusters(placement=pair.placement, selected=selected, wanted=wanted)


def _why_no_cluster(
    verdict: Verdict,
) -> str | UnboundSets | EmptySets | NoneWanted | MostDropped:
    if verdict.status.failed:
        return verdict.status.message
    if not verdict.cluster_sets:
        return verdict.satisfied.message if verdict.satisfied else UnboundSets()
    if not verdict.candidates:
        return EmptySets(cluster_sets=tuple(verdict.cluster_sets))
    # The most frequent reason: one line cannot name why each of a thousand clusters is out.
    reasons = Counter((drop.filter, drop.reason) for drop in verdict.dropped.values())
    if not reasons:
        return NoneWanted()
    [((filter_name, reason), count)] = reasons.most_common(1)
    return MostDropped(
        filter=filter_name, reason=reason, dropped=count, candidates=len(verdict.candidates)
    )


def _close(
    verdict: Verdict, max_points: int, spans: Mapping[str, ScoreSpan]
) -> Iterator[CloseDecision]:
    """Compares the last cluster that is selected with the first one that is not."""
    ranking = verdict.ranking
    if ranking is None or not 0 < ranking.selected < len(ranking.order):
        return
    if not _has_scores(verdict):
        # Nothing is published yet, and all clusters are equal.
        return
    last = verdict.state.names[ranking.clusters[ranking.order[ranking.selected - 1]]]
    rival = verdict.state.names[ranking.clusters[ranking.order[ranking.selected]]]
    of_last = explain(verdict, last, spans=spans)
    of_rival = explain(verdict, rival, spans=spans)
    if of_last.margin is None:
        return
    if points_needed(of_last.margin, mean_weight(verdict.prioritizers)) > max_points:
        return
    closest: CloseDecision | None = None
    for explanation in (of_last, of_rival):
        flip = explanation.nearest
        # If two changes are equal, the first one is named, that of the cluster that would be left.
        if flip is None or (closest and abs(closest.flip.change) <= abs(flip.change)):
            continue
        closest = CloseDecision(
            placement=verdict.placement,
            leaves=last,
            rival=rival,
            flip=flip,
            flips_on=explanation.cluster,
        )
    if closest is not None:
        yield closest


def _has_scores(verdict: Verdict) -> bool:
    """Whether a score that the Placement ranks by is published on any cluster."""
    scores = verdict.state.scores
    return any(scores.get(result.prioritizer.resource) for result in verdict.prioritizers)
