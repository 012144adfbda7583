"""Applications that would move: from where, to where, why, and what each score was and becomes."""

from collections.abc import Iterable
from typing import Final, Literal

from msgspec import Struct, structs

from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.simulator import Outcome, Verdict, explain
from gitops_dsf.simulator.scheduler import as_people_wrote
from gitops_dsf.views.preview.applied import applied
from gitops_dsf.views.preview.verdictpairs import VerdictPair
from gitops_dsf.wording import names_text

Unknown = Literal["unknown"]
"""In place of a value that cannot be known before the changed scorers have run."""
UNKNOWN: Final[Unknown] = "unknown"


class Term(Struct, frozen=True, kw_only=True, rename="camel"):
    """The part of one prioritizer in a cluster's sum, before and after; None if it has no entry."""

    name: str
    before: int | None
    after: int | Unknown | None
    weight_before: int | None
    weight_after: int | None
    unknown_because: str | None


class Standing(Struct, frozen=True, kw_only=True):
    """One cluster in one Placement, before and after: its weighted sum and the terms."""

    cluster: str
    before: int | None
    """The sum; None if the cluster was not ranked."""
    after: int | Unknown | None
    """The sum; None if the cluster is not ranked."""
    terms: tuple[Term, ...]


class Move(
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
    standings: tuple[Standing, ...]
    """The clusters of the move, those that it leaves first."""


_SHOWN = 3
"""How many clusters of one move are shown with their scores."""


def moves(
    found: Iterable[VerdictPair], base: CheckedFleet | None, head: CheckedFleet
) -> tuple[Move, ...]:
    """Returns one move per Placement whose decision changes or may change."""
    now = {name: key for key, names in applied(head).followers.items() for name in names}
    followers = {**(applied(base).followers if base else {}), **applied(head).followers}
    moving = []
    for item in found:
        names = followers.get(item.placement, ())
        move = _move(item, names) if item.touched else None
        if move is not None:
            # The applications of a removed Placement may follow another one from now on.
            kept = (
                []
                if item.placement in applied(head).followers
                else [name for name in names if name in now]
            )
            reasons = (move.reason, *(f"{name} follows {now[name]} now" for name in kept))
            moving.append(structs.replace(move, reason="; ".join(reasons)))
    return tuple(moving)


def _move(item: VerdictPair, followers: tuple[str, ...]) -> Move | None:
    before = item.before.chosen if item.before else frozenset[str]()
    after = item.after.chosen if item.after else frozenset[str]()
    certainty = item.certainty
    is_open = certainty is not None and not certainty.decided
    if certainty is not None:
        after = certainty.certain
    if before == after and not is_open:
        return None
    left, joined = tuple(sorted(before - after)), tuple(sorted(after - before))
    if certainty is not None and is_open and item.after is not None:
        reason = f"{_whys(item, item.after)}: {len(certainty.possible)} clusters could be selected"
        if item.before is not None and item.after.chosen == before:
            reason += "; if the scores stayed as they are, it would stay"
    else:
        reason = _reason(item, left, joined)
    shown = left[:_SHOWN] if is_open else (*left[:_SHOWN], *joined[:_SHOWN])
    return Move(
        application=item.placement,
        followers=followers,
        origin=left,
        target=UNKNOWN if is_open else joined,
        stays=len(before & after),
        reason=reason,
        standings=tuple(_standing(item, cluster) for cluster in shown),
    )


def _whys(item: VerdictPair, verdict: Verdict) -> str:
    whys: dict[str, str] = {}
    candidates = frozenset(verdict.candidates)
    for result in verdict.prioritizers:
        resource = result.prioritizer.resource
        for cluster, cell in item.unknown.get(resource, {}).items():
            if cluster in candidates:
                whys.setdefault(f"{resource}: {cell.why}", cluster)
    return "; ".join(whys) or "scores are not known"


def _reason(item: VerdictPair, left: tuple[str, ...], joined: tuple[str, ...]) -> str:
    if item.after is None:
        return "the Placement is removed"
    verdict = item.after
    if verdict.outcome is not Outcome.SCHEDULED or verdict.ranking is None:
        return verdict.notes[0] if verdict.notes else str(verdict.outcome)
    by_scores = as_people_wrote(verdict)
    if item.before is None:
        return f"new Placement; {_explained(by_scores, joined[0])}"
    reason = _explained(by_scores, (left or joined)[0])
    if joined and not by_scores.chosen.issuperset(joined):
        return f"{reason}; {names_text(joined)} is where the reconciler planned that it goes"
    return reason


def _explained(verdict: Verdict, cluster: str) -> str:
    if cluster not in verdict.state.positions:
        return f"{cluster} is no longer in clusters/"
    explanation = explain(verdict, cluster)
    dropped = f"dropped by {explanation.filter}: " if explanation.filter else ""
    return f"{cluster}: {dropped}{explanation.reason}"


def _standing(item: VerdictPair, cluster: str) -> Standing:
    """By the weights that people wrote, also for a paced Placement."""
    verdict_before, verdict_after = (
        None if each is None else as_people_wrote(each) for each in (item.before, item.after)
    )
    old, new = _terms(verdict_before, cluster), _terms(verdict_after, cluster)
    is_ranked = _place(verdict_after, cluster) is not None
    terms: list[Term] = []
    for name in {**old, **new}:
        kind, _, score = name.partition("/")
        cells = item.unknown.get(score.partition("/")[0], {}) if kind == "AddOn" else {}
        cell = cells.get(cluster) if is_ranked and name in new else None
        weight_before, before = old.get(name, (None, None))
        weight_after, after = new.get(name, (None, None))
        terms.append(
            Term(
                name=name,
                before=before,
                after=UNKNOWN if cell else after,
                weight_before=weight_before,
                weight_after=weight_after,
                unknown_because=cell.why if cell else None,
            )
        )
    unknown = any(term.unknown_because for term in terms)
    return Standing(
        cluster=cluster,
        before=_sum(verdict_before, cluster),
        after=UNKNOWN if unknown else _sum(verdict_after, cluster),
        terms=tuple(terms),
    )


def _place(verdict: Verdict | None, cluster: str) -> int | None:
    """The index of a cluster in the ranking; None if it is not ranked."""
    if verdict is None or verdict.ranking is None or cluster not in verdict.state.positions:
        return None
    position = verdict.state.positions[cluster]
    return (
        verdict.ranking.clusters.index(position) if position in verdict.ranking.clusters else None
    )


def _sum(verdict: Verdict | None, cluster: str) -> int | None:
    return None if verdict is None or verdict.scores is None else verdict.scores.get(cluster)


def _terms(verdict: Verdict | None, cluster: str) -> dict[str, tuple[int, int | None]]:
    """Weights by prioritizer, with the scores of a ranked cluster."""
    place = _place(verdict, cluster)
    return {
        item.name: (item.weight, None if place is None else item.values[place])
        for item in (verdict.prioritizers if verdict else ())
    }
