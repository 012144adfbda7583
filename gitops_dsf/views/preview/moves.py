"""Placements whose decision changes: from where, to where, why, and what each score was and becomes.

The reasons are sentences already here, because they are part of the JSON output.
"""

from collections.abc import Iterable, Iterator
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.simulator import Outcome, Verdict, explain
from gitops_dsf.simulator.scheduler import as_people_wrote
from gitops_dsf.views.preview.applied import applied
from gitops_dsf.views.preview.verdictpairs import VerdictPair
from gitops_dsf.wording import names_text

Unknown = Literal["unknown"]
"""In place of a value that cannot be known before the changed scorers have run."""
UNKNOWN: Final[Unknown] = "unknown"
MAX_STANDINGS: Final = 3
"""Clusters that a Placement leaves, and clusters that it moves to, whose scores are in the preview.

A Placement may select hundreds.
"""


class StandingTerm(Struct, frozen=True, kw_only=True, rename="camel"):
    """The part of one prioritizer in a cluster's sum, before and after; None if it has no entry."""

    name: str
    before: int | None
    after: int | Unknown | None
    weight_before: int | None
    weight_after: int | None
    unknown_because: str | None


class ClusterStanding(Struct, frozen=True, kw_only=True):
    """One cluster in one Placement, before and after: its weighted sum and the terms."""

    cluster: str
    before: int | None
    """The sum; None if the cluster was not ranked."""
    after: int | Unknown | None
    """The sum; None if the cluster is not ranked."""
    terms: tuple[StandingTerm, ...]


class DecisionMove(
    Struct,
    frozen=True,
    kw_only=True,
    rename={"origin": "from", "target": "to", "standings": "scores"},
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
    reason: str
    standings: tuple[ClusterStanding, ...]
    """The clusters of the move, those that it leaves first."""


class _WeightedScore(NamedTuple):
    """What one prioritizer gives a cluster."""

    weight: int
    score: int | None
    """None if the cluster is not ranked."""


def moves(
    pairs: Iterable[VerdictPair], base: CheckedFleet | None, head: CheckedFleet
) -> tuple[DecisionMove, ...]:
    """Returns one move per Placement whose decision changes or may change."""
    followers = dict(applied(head).followers)
    if base is not None:
        followers = {**applied(base).followers, **followers}
    moving = []
    for pair in pairs:
        move = _move(pair, followers.get(pair.placement, ()), head) if pair.touched else None
        if move is not None:
            moving.append(move)
    return tuple(moving)


def _move(pair: VerdictPair, followers: tuple[str, ...], head: CheckedFleet) -> DecisionMove | None:
    """What a Placement does; None if it certainly stays."""
    before = frozenset[str]() if pair.before is None else pair.before.chosen
    after = frozenset[str]() if pair.after is None else pair.after.chosen
    if pair.certainty is not None:
        after = pair.certainty.certain
    if before == after and pair.is_decided:
        return None
    left = tuple(sorted(before - after))
    joined = tuple(sorted(after - before))
    shown = left[:MAX_STANDINGS]
    if pair.is_decided:
        shown += joined[:MAX_STANDINGS]
    reasons = [_reason(pair, left, joined), *_followed_instead(pair.placement, followers, head)]
    return DecisionMove(
        application=pair.placement,
        followers=followers,
        origin=left,
        target=joined if pair.is_decided else UNKNOWN,
        stays=len(before & after),
        reason="; ".join(reasons),
        standings=tuple(_standing(pair, cluster) for cluster in shown),
    )


def _followed_instead(key: str, followers: tuple[str, ...], head: CheckedFleet) -> Iterator[str]:
    """Which Placements the followers of a removed Placement follow from now on."""
    head_followers = applied(head).followers
    if key in head_followers:
        return
    followed = {name: placement for placement, names in head_followers.items() for name in names}
    for name in followers:
        if name in followed:
            yield f"{name} follows {followed[name]} now"


def _reason(pair: VerdictPair, left: tuple[str, ...], joined: tuple[str, ...]) -> str:
    """Why the decision changes, by the first cluster that it leaves, or else that it moves to."""
    verdict = pair.after
    if verdict is None:
        return "the Placement is removed"
    if pair.certainty is not None and not pair.certainty.decided:
        return _open_reason(pair, verdict, possible=len(pair.certainty.possible))
    if verdict.outcome is not Outcome.SCHEDULED or verdict.ranking is None:
        return verdict.notes[0] if verdict.notes else str(verdict.outcome)
    by_scores = as_people_wrote(verdict)
    if pair.before is None:
        return f"new Placement; {_explained(by_scores, joined[0])}"
    reason = _explained(by_scores, (left or joined)[0])
    if joined and not by_scores.chosen.issuperset(joined):
        # A paced Placement ranks by items of moves, so it can go where the scores do not lead.
        return f"{reason}; {names_text(joined)} is where the reconciler planned that it goes"
    return reason


def _open_reason(pair: VerdictPair, verdict: Verdict, *, possible: int) -> str:
    """Which scores are unknown, and how many clusters could be selected because of that."""
    causes = "; ".join(_causes(pair, verdict)) or "scores are not known"
    if pair.before is not None and verdict.chosen == pair.before.chosen:
        return (
            f"{causes}: {possible} clusters could be selected; if the scores stayed as they are,"
            " it would stay"
        )
    return f"{causes}: {possible} clusters could be selected"


def _causes(pair: VerdictPair, verdict: Verdict) -> list[str]:
    """Why scores of candidates are unknown, each cause once, in order of prioritizers."""
    candidates = frozenset(verdict.candidates)
    causes = {}
    for result in verdict.prioritizers:
        resource = result.prioritizer.resource
        for cluster, cell in pair.unknown.get(resource, {}).items():
            if cluster in candidates:
                causes[f"{resource}: {cell.why}"] = True
    return list(causes)


def _explained(verdict: Verdict, cluster: str) -> str:
    if cluster not in verdict.state.positions:
        return f"{cluster} is no longer in clusters/"
    explanation = explain(verdict, cluster)
    if explanation.filter:
        return f"{cluster}: dropped by {explanation.filter}: {explanation.reason}"
    return f"{cluster}: {explanation.reason}"


def _standing(pair: VerdictPair, cluster: str) -> ClusterStanding:
    """By the weights that people wrote, also for a paced Placement."""
    before = None if pair.before is None else as_people_wrote(pair.before)
    after = None if pair.after is None else as_people_wrote(pair.after)
    terms = tuple(_terms(pair, cluster, before, after))
    sum_after: int | Unknown | None = _sum(after, cluster)
    if any(term.unknown_because for term in terms):
        sum_after = UNKNOWN
    return ClusterStanding(
        cluster=cluster, before=_sum(before, cluster), after=sum_after, terms=terms
    )


def _terms(
    pair: VerdictPair, cluster: str, before: Verdict | None, after: Verdict | None
) -> Iterator[StandingTerm]:
    """The prioritizers of both verdicts, those of the first one first."""
    old = _weighted_scores(before, cluster)
    new = _weighted_scores(after, cluster)
    is_ranked = _index(after, cluster) is not None
    for name in {**old, **new}:
        cell = None
        if is_ranked and name in new:
            cell = pair.unknown.get(_resource(name), {}).get(cluster)
        was = old.get(name)
        becomes = new.get(name)
        score_after: int | Unknown | None = None if becomes is None else becomes.score
        yield StandingTerm(
            name=name,
            before=None if was is None else was.score,
            after=score_after if cell is None else UNKNOWN,
            weight_before=None if was is None else was.weight,
            weight_after=None if becomes is None else becomes.weight,
            unknown_because=None if cell is None else cell.why,
        )


def _resource(prioritizer: str) -> str:
    """The AddOnPlacementScore of a prioritizer such as `AddOn/cpu/cpu`; empty for a built-in one."""
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
    """What each prioritizer gives a cluster, by name of the prioritizer."""
    if verdict is None:
        return {}
    index = _index(verdict, cluster)
    by_name = {}
    for result in verdict.prioritizers:
        score = None if index is None else result.values[index]
        by_name[result.name] = _WeightedScore(result.weight, score)
    return by_name
