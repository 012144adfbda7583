"""Compares shadows with their live scorers, and simulates their promotion."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from gitops_dsf.hub.placements import resources_read
from gitops_dsf.hub.scores import Scores
from gitops_dsf.hub.shadows import Agreement, Shadow, agreement
from gitops_dsf.simulator import HubState, Outcome
from gitops_dsf.simulator.settle import settle


@dataclass(frozen=True, kw_only=True, slots=True)
class ShadowMove:
    """A Placement whose decision a promotion would change."""

    placement: str
    """namespace/name."""
    followers: tuple[str, ...]
    """ApplicationSets that follow the decision, sorted."""
    origin: tuple[str, ...]
    """Clusters that it would leave, sorted."""
    target: tuple[str, ...]
    """Clusters that it would move to, sorted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Moves:
    """What a promotion would move, if the scores stayed as they are."""

    found: tuple[ShadowMove, ...]
    """In order of the Placements."""
    stay: int
    """How many Placements read the live score, and would decide as before."""
    open: tuple[str, ...] = ()
    """Placements whose decision the simulator cannot compute, sorted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ShadowView:
    """One shadow and its live scorer."""

    shadow: Shadow
    agreement: Agreement
    moves: Moves | None
    """None if the objects that OCM decides by are not known."""


def shadow_views(
    shadows: Iterable[Shadow],
    scores: Scores,
    state: HubState | None,
    *,
    followers: Mapping[str, Sequence[str]],
    now: datetime,
) -> tuple[ShadowView, ...]:
    """Returns one view per shadow, in order of name. `state` has every Placement of the hub that reads the
    score of a live scorer.
    """
    return tuple(
        _view(shadow, scores, state, followers, now) for shadow in sorted(shadows, key=lambda item: item.name)
    )


def _view(
    shadow: Shadow,
    scores: Scores,
    state: HubState | None,
    followers: Mapping[str, Sequence[str]],
    now: datetime,
) -> ShadowView:
    promoted = shadow.promoted(scores.get(shadow.resource, {}))
    return ShadowView(
        shadow=shadow,
        agreement=agreement(scores.get(shadow.live_resource, {}), promoted, now=now),
        moves=None
        if state is None
        else moves_after(
            state.scoring({**scores, shadow.live_resource: promoted}),
            before=state,
            placements=_readers(state, shadow.live_resource),
            followers=followers,
            now=now,
        ),
    )


def moves_after(
    state: HubState,
    *,
    before: HubState,
    placements: Iterable[str],
    followers: Mapping[str, Sequence[str]],
    now: datetime,
) -> Moves:
    """What moves when the hub `before` becomes `state`. Moves that OCM would make anyway are not counted: the
    Placements decide by the scores before first.
    """
    verdicts, decisions = settle(before, placements, now)
    after, _ = settle(state.deciding(decisions), verdicts, now)
    found, unsure = [], []
    for key, old in sorted(verdicts.items()):
        new = after[key]
        if Outcome.UNSUPPORTED in (old.outcome, new.outcome):
            unsure.append(key)
        elif old.chosen != new.chosen:
            found.append(
                ShadowMove(
                    placement=key,
                    followers=tuple(followers.get(key, ())),
                    origin=tuple(sorted(old.chosen - new.chosen)),
                    target=tuple(sorted(new.chosen - old.chosen)),
                )
            )
    return Moves(found=tuple(found), stay=len(verdicts) - len(found) - len(unsure), open=tuple(unsure))


def _readers(state: HubState, resource: str) -> list[str]:
    """Placements that read a score, or may read it."""
    return [
        item.key
        for item in state.placements.values()
        if (read := resources_read(item)) is None or resource in read
    ]
