"""Moves: Placements whose decision changes, with source, target, reason and scores.

Guaranteed: a move is reported as known only if no unknown score can change it; otherwise it is
open, with the clusters that may be selected. Not guaranteed: that the move happens like this. The
scores are those of the snapshot, and may be others when the change is merged.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import StrEnum
from typing import Final, Literal, NamedTuple

from msgspec import UNSET, Struct, UnsetType, structs

from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.repository.model.ranking import Ranking, Score
from gitops_dsf.resolve.next_score import NextScore
from gitops_dsf.simulator import Verdict
from gitops_dsf.simulator.certainty import Certainty
from gitops_dsf.simulator.scheduler import as_people_wrote
from gitops_dsf.views.preview.applied import applied
from gitops_dsf.views.preview.reasons import (
    DecisionReason,
    Followed,
    is_bounded,
    open_reason,
    reason_of,
    sums_by_people,
)
from gitops_dsf.views.preview.verdictpairs import VerdictPair
from gitops_dsf.views.worded import Worded

Unknown = Literal["unknown"]
"""The text in place of a value that is unknown before the changed scorers have run."""
UNKNOWN: Final[Unknown] = "unknown"
MAX_STANDINGS: Final = 3
"""Clusters that a Placement leaves, and clusters that it moves to, whose scores are in the preview.

A Placement may select hundreds.
"""


class MoveKind(StrEnum):
    """The kind of a changed decision."""

    MOVE = "move"
    """It leaves clusters for others."""
    NEW = "new"
    """Its Placement is new, and gets its first clusters."""
    START = "start"
    """It was on no cluster."""
    GROW = "grow"
    """It gets more clusters, and stays where it is."""
    SHRINK = "shrink"
    """It loses clusters without others in their place, and stays on the rest."""
    HOMELESS = "homeless"
    """It loses its last cluster, and no other one is eligible."""
    REMOVE = "remove"
    """Its Placement is removed, and those that follow it as well."""
    FOLLOW = "follow"
    """Its Placement is removed, and all that followed it follow another one."""
    OPEN = "open"
    """Scores that are not known yet decide."""


class WrittenPlacement(Struct, frozen=True, kw_only=True, rename="camel"):
    """The Placement as people wrote it: the clusters that it may use, and the scores that rank."""

    number_of_clusters: int | None
    """None for every eligible cluster."""
    cluster_sets: tuple[str, ...]
    labels: tuple[str, ...]
    """The labels that clusters must have, such as `region in (eu)`."""
    scores: tuple[str, ...]
    """Scorers, with their weight where it is not 1, such as `cost x-2`."""
    stickiness: int
    """Points by which another cluster must be better."""


class StandingTerm(Struct, frozen=True, kw_only=True, rename="camel"):
    """The part of one prioritizer in a cluster's sum, before and after; None if it has no entry."""

    name: str
    before: int | None
    after: int | Unknown | None
    weight_before: int | None
    weight_after: int | None
    unknown_because: str | None
    after_low: int | None = None
    """The lowest score that it can be after the change.

    None if `after` is known, or if nothing bounds it.
    """
    after_high: int | None = None


class ClusterStanding(Struct, frozen=True, kw_only=True, rename="camel"):
    """One cluster in one Placement, before and after: its weighted sum and the terms."""

    cluster: str
    before: int | None
    """The sum; None if the cluster was not ranked."""
    after: int | Unknown | None
    """The sum; None if the cluster is not ranked."""
    terms: tuple[StandingTerm, ...]
    after_low: int | None = None
    """The lowest sum that it can have after the change.

    None if `after` is known, or if nothing bounds it.
    """
    after_high: int | None = None


class DecisionMove(
    Struct,
    frozen=True,
    kw_only=True,
    rename={
        "origin": "from",
        "target": "to",
        "standings": "scores",
        "open_places": "openPlaces",
        "written": "placement",
    },
):
    """A Placement whose decision changes, or may change."""

    application: str
    """The Placement, `namespace/name`."""
    followers: tuple[str, ...]
    """ApplicationSets that follow its decision, sorted; empty if only other consumers read it."""
    origin: tuple[str, ...]
    """Clusters that it leaves, sorted; those that it may leave if the target is unknown."""
    target: tuple[str, ...] | Unknown
    """Clusters that it moves to, sorted. Unknown if scores decide that are not known yet."""
    stays: int
    """The number of clusters where it certainly stays."""
    reason: Worded[DecisionReason]
    standings: tuple[ClusterStanding, ...]
    """The clusters of the move, those that it leaves first."""
    possible: tuple[str, ...] = ()
    """Clusters that may be selected and may not, sorted; empty if the target is known."""
    open_places: int | None = None
    """The number of clusters of `possible` that are selected.

    None if the target is known, or if a predicate reads an unknown score.
    """
    kind: MoveKind = MoveKind.MOVE
    written: WrittenPlacement | UnsetType = UNSET
    """The written Placement, if a ScoredApplication or ScoredPlacement is new."""
    bounded: bool = True
    """Whether all scores that decide are known, or have known bounds that are not everything."""


class _WeightedScore(NamedTuple):
    """The weighted score that one prioritizer gives a cluster."""

    weight: int | None
    """None if the Placement does not have this prioritizer."""
    score: int | None
    """None if the cluster is not ranked."""


_NO_SCORE: Final = _WeightedScore(weight=None, score=None)


def moves(
    pairs: Iterable[VerdictPair], base: CheckedFleet | None, head: CheckedFleet
) -> tuple[DecisionMove, ...]:
    """Returns one move per Placement whose decision changes or may change."""
    followers = dict(applied(head).followers)
    if base is not None:
        # A Placement that is removed has followers in the base only.
        followers = {**applied(base).followers, **followers}
    resolved = {placement.key: placement for placement in head.placements}
    moving = []
    for pair in pairs:
        if not pair.touched:
            continue
        move = _move(pair, followers.get(pair.placement, ()), head)
        if move is None:
            continue
        # The requirements of an adopted Placement are shown in its edit; it starts nowhere.
        is_new = pair.before is None and not pair.running
        if is_new and pair.placement in resolved:
            move = structs.replace(move, written=_written(resolved[pair.placement].ranking))
        moving.append(move)
    return tuple(moving)


def _move(pair: VerdictPair, followers: tuple[str, ...], head: CheckedFleet) -> DecisionMove | None:
    """The move of a Placement; None if it certainly stays."""
    before = pair.running if pair.before is None else pair.before.chosen
    after = frozenset[str]() if pair.after is None else pair.after.chosen
    if pair.certainty is not None:
        # A decision that unknown scores may change is not shown, not even as the likely one.
        after = pair.certainty.certain
    if before == after and pair.is_decided:
        return None
    origin = tuple(sorted(before - after))
    target = tuple(sorted(after - before))
    possible: tuple[str, ...] = ()
    open_places = None
    listed = (*origin[:MAX_STANDINGS], *target[:MAX_STANDINGS])
    bounded = pair.is_decided or is_bounded(pair)
    if pair.is_decided or pair.after is None or pair.certainty is None:
        reason = reason_of(pair, origin, target)
    else:
        possible = tuple(sorted(pair.certainty.open))
        open_places = _open_places(pair.after, pair.certainty)
        reason = open_reason(pair, pair.after, possible=possible, places=open_places)
        others = [cluster for cluster in possible if cluster not in origin]
        listed = origin[:MAX_STANDINGS]
        # Without bounds nothing is known of the clusters that may come, so their points say
        # nothing.
        if bounded:
            listed = (*listed, *others[:MAX_STANDINGS])
    bounds = sums_by_people(pair)
    followed = tuple(_followed_instead(pair.placement, followers, head))
    stays = len(before & after)
    standings: list[ClusterStanding] = []
    for cluster in listed:
        standings.append(_standing(pair, cluster, bounds))
    kind = _kind(pair, origin=origin, target=target, stays=stays)
    if kind is MoveKind.REMOVE and followers and len(followed) == len(followers):
        kind = MoveKind.FOLLOW
    return DecisionMove(
        application=pair.placement,
        followers=followers,
        origin=origin,
        target=target if pair.is_decided else UNKNOWN,
        stays=stays,
        reason=Worded(replace(reason, followed=followed)),
        standings=tuple(standings),
        possible=possible,
        open_places=open_places,
        kind=kind,
        bounded=bounded,
    )


def _kind(
    pair: VerdictPair, *, origin: tuple[str, ...], target: tuple[str, ...], stays: int
) -> MoveKind:
    if pair.after is None:
        return MoveKind.REMOVE
    if not pair.is_decided:
        return MoveKind.OPEN
    if pair.before is None and not pair.running:
        return MoveKind.NEW
    if origin and target:
        return MoveKind.MOVE
    if origin:
        return MoveKind.SHRINK if stays else MoveKind.HOMELESS
    return MoveKind.GROW if stays else MoveKind.START


def _written(ranking: Ranking) -> WrittenPlacement:
    """The Placement as people wrote it."""
    rules = ranking.placement
    labels: tuple[str, ...] = ()
    if rules.cluster_selector is not None:
        labels = tuple(map(str, rules.cluster_selector.compiled.requirements))
    return WrittenPlacement(
        number_of_clusters=rules.number_of_clusters,
        cluster_sets=tuple(rules.cluster_sets),
        labels=labels,
        scores=tuple(map(_score_text, ranking.scores)),
        stickiness=ranking.stickiness,
    )


def _score_text(score: Score) -> str:
    """`cpu`, `cost x-2`, or `cost/spot` where people name the item."""
    return str(score) if score.weight == 1 else f"{score} x{score.weight}"


def _open_places(verdict: Verdict, certain: Certainty) -> int | None:
    """The number of clusters that are selected beside those that certainly are."""
    if verdict.ranking is None or not certain.sums:
        return None
    return verdict.ranking.selected - len(certain.certain)


def _followed_instead(
    key: str, followers: tuple[str, ...], head: CheckedFleet
) -> Iterator[Followed]:
    """The Placements that the followers of a removed Placement follow from now on."""
    # An application that only changes its Placement is not removed.
    head_followers = applied(head).followers
    if key in head_followers:
        return
    followed: dict[str, str] = {}
    for placement, names in head_followers.items():
        for name in names:
            followed[name] = placement
    for name in followers:
        if name in followed:
            yield Followed(application_set=name, placement=followed[name])


def _standing(pair: VerdictPair, cluster: str, bounds: Certainty | None) -> ClusterStanding:
    """The standing by the weights that people wrote, also for a paced Placement."""
    # The items of moves are not scores, and no reviewer can do anything with sums that hold them.
    before = None if pair.before is None else as_people_wrote(pair.before)
    after = None if pair.after is None else as_people_wrote(pair.after)
    terms = tuple(_terms(pair, cluster, before, after))
    standing = ClusterStanding(
        cluster=cluster, before=_sum(before, cluster), after=_sum(after, cluster), terms=terms
    )
    unknown = [term for term in terms if term.unknown_because]
    if not unknown:
        return standing
    # One unknown term makes the sum unknown, and one without bounds leaves the sum without any.
    standing = structs.replace(standing, after=UNKNOWN)
    sums = None if bounds is None else bounds.sums.get(cluster)
    if sums is None or any(term.after_low is None for term in unknown):
        return standing
    return structs.replace(standing, after_low=sums.low, after_high=sums.high)


def _terms(
    pair: VerdictPair, cluster: str, before: Verdict | None, after: Verdict | None
) -> Iterator[StandingTerm]:
    """The prioritizers of both verdicts, those of the first one first."""
    old = _weighted_scores(before, cluster)
    new = _weighted_scores(after, cluster)
    is_ranked = _index(after, cluster) is not None
    for name in {**old, **new}:
        was = old.get(name, _NO_SCORE)
        becomes = new.get(name, _NO_SCORE)
        term = StandingTerm(
            name=name,
            before=was.score,
            after=becomes.score,
            weight_before=was.weight,
            weight_after=becomes.weight,
            unknown_because=None,
        )
        cell = None
        if is_ranked and name in new:
            cell = pair.unknown.get(_resource(name), {}).get(cluster)
        yield term if cell is None else _unknown_term(term, cell)


def _unknown_term(term: StandingTerm, cell: NextScore) -> StandingTerm:
    """The term with what is known of its score after the change."""
    interval = cell.interval(term.name.rpartition("/")[2])
    if interval.exact:
        return structs.replace(term, after=interval.low)
    term = structs.replace(term, after=UNKNOWN, unknown_because=cell.why)
    if not cell.bounded:
        return term
    return structs.replace(term, after_low=interval.low, after_high=interval.high)


def _resource(prioritizer: str) -> str:
    """The AddOnPlacementScore of a prioritizer `AddOn/cpu/cpu`; empty for a built-in one."""
    kind, _, score = prioritizer.partition("/")
    return score.partition("/")[0] if kind == "AddOn" else ""


def _index(verdict: Verdict | None, cluster: str) -> int | None:
    """The index of a cluster in the ranking; None if it is not ranked."""
    if verdict is None or verdict.ranking is None:
        return None
    position = verdict.state.positions.get(cluster)
    if position not in verdict.ranking.clusters:
        return None
    return verdict.ranking.clusters.index(position)


def _sum(verdict: Verdict | None, cluster: str) -> int | None:
    if verdict is None or verdict.scores is None:
        return None
    return verdict.scores.get(cluster)


def _weighted_scores(verdict: Verdict | None, cluster: str) -> dict[str, _WeightedScore]:
    """The weighted scores of a cluster, by name of the prioritizer."""
    if verdict is None:
        return {}
    index = _index(verdict, cluster)
    by_name = {}
    for result in verdict.prioritizers:
        score = None if index is None else result.values[index]
        by_name[result.name] = _WeightedScore(result.weight, score)
    return by_name
