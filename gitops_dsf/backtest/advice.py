"""Advice on stickiness and deadband: every value that OCM can express, tried over the same history.

More stickiness means fewer moves and more regret. Nothing says how many points a move is worth, so
the advice is a compromise. The candidates are the values with the least flapping. Of these it takes
the one on the Pareto front of moves and regret that is nearest to the best of both. Each of them is
measured by its range on the front.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gitops_dsf.backtest.expiry import score_expiries
from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.gridscores import GridScores
from gitops_dsf.backtest.placement import PreparedPlacement, tracks_on_candidates
from gitops_dsf.backtest.result import Advice, Trial, TriedSetting
from gitops_dsf.backtest.track import Tracks
from gitops_dsf.backtest.vectorised import decide
from gitops_dsf.hub.moves.flapping import moves_back, returns
from gitops_dsf.resolve.stickiness import Weights
from gitops_dsf.wording import plural

DEADBANDS: Final = (0, 1, 2, 3, 5, 8, 12, 20)
"""Deadbands that are tried beside the written ones."""
CLEARLY: Final = 0.5
"""Score points of regret for which a setting that does not flap is changed."""


def advise(
    prepared: PreparedPlacement,
    *,
    values: Mapping[int, Weights],
    written: int,
    histories: Mapping[int | None, Tracks],
    grid: TimeGrid,
    window: float,
    stop: Callable[[], bool] = lambda: False,
) -> Advice | None:
    """Tries all values of stickiness with all histories. None if `stop` became true before the end.

    `histories` are the published scores by deadband; None is the key of those with the written
    deadbands. `written` is the stickiness that the Placement's weights express, one of the values.
    `window` is that of returns, in seconds.
    """
    # The weights of a stickiness are a factor for all scores, and Steady. Without the written ones
    # all values can be tried on the same sums.
    factor = values[written].factor
    terms = tuple(replace(term, weight=term.weight // factor) for term in prepared.terms)
    plain = replace(prepared, terms=terms, steady=0)
    trials: list[Trial] = []
    # Columns and expiries are those of a deadband, so they are computed once for all its trials.
    for deadband, tracks in histories.items():
        scores = GridScores(tracks=tracks, grid=grid)
        expiries = score_expiries(plain, tracks, grid=grid)
        writes = sum(len(ranked.track) for ranked in tracks_on_candidates(plain, tracks))
        for stickiness, weights in sorted(values.items()):
            if stop():
                return None
            line = decide(
                plain,
                scores=scores,
                expiries=expiries,
                multiplier=weights.factor,
                steady=weights.steady,
            )
            changes = tuple(line.changes(grid))
            trials.append(
                Trial(
                    stickiness=stickiness,
                    deadband=deadband,
                    moves=len(changes),
                    returns=moves_back(returns(changes, window=window)),
                    regret=line.regret,
                    writes=writes,
                )
            )
    return _advice(trials, written=_with_setting(trials, stickiness=written, deadband=None))


@dataclass(frozen=True, kw_only=True)
class _Recommendation:
    """A recommended setting, and why."""

    trial: Trial
    reason: str


def _advice(trials: Sequence[Trial], *, written: Trial) -> Advice:
    considered = _considered(trials)
    least = _fewest_returns(considered)
    candidates = [trial for trial in considered if trial.returns == least]
    # If trials are equal, the front keeps the first one, which must be the written one.
    front = _front(sorted(candidates, key=lambda trial: trial is not written))
    choice = _choose(candidates, front=front, written=written)
    if choice is None:
        other = "stickiness" if len(considered) < len(trials) else "setting"
        choice = _Recommendation(trial=written, reason=_kept(least, other=other))
    return Advice(
        written=written,
        trials=tuple(trials),
        front=front,
        recommended=choice.trial,
        reason=choice.reason,
    )


def _with_setting(trials: Sequence[Trial], *, stickiness: int, deadband: int | None) -> Trial:
    return next(trial for trial in trials if trial.setting == TriedSetting(stickiness, deadband))


def _considered(trials: Sequence[Trial]) -> Sequence[Trial]:
    """The trials among which the advice chooses.

    A deadband concerns other Placements, too, so it changes only where stickiness alone does not
    help.
    """
    with_written_deadbands = [trial for trial in trials if trial.deadband is None]
    if _fewest_returns(trials) < _fewest_returns(with_written_deadbands):
        return trials
    return with_written_deadbands


def _fewest_returns(trials: Sequence[Trial]) -> int:
    return min(trial.returns for trial in trials)


def _front(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """The Pareto front of moves and regret, fewest moves first.

    Of equal trials the first one stays.
    """
    front: list[Trial] = []
    for trial in sorted(trials, key=lambda trial: (trial.moves, trial.regret)):
        if not front or trial.regret < front[-1].regret:
            front.append(trial)
    return tuple(front)


def _choose(
    candidates: Sequence[Trial], *, front: Sequence[Trial], written: Trial
) -> _Recommendation | None:
    """The best compromise; None if what is written stays."""
    choices = list(front)
    if written in candidates:
        # The written value does not flap more than the others, so a change must be worth it.
        choices = [trial for trial in front if _is_worth_it(trial, written)]
    if not choices:
        return None
    # If two are equally near, the smaller stickiness is taken, which follows the scores sooner.
    best = min(choices, key=lambda trial: (_distance(trial, front), trial.stickiness))
    return _Recommendation(trial=best, reason=_changed(best, written))


def _is_worth_it(trial: Trial, written: Trial) -> bool:
    """Whether a trial has clearly less regret, and no more moves."""
    return trial.moves <= written.moves and trial.regret < written.regret - CLEARLY


def _distance(trial: Trial, front: Sequence[Trial]) -> float:
    """The distance of a trial from the fewest moves and the least regret, by the front's ranges."""
    # The front is in order of moves, and then the regret falls.
    fewest_moves = front[0].moves
    least_regret = front[-1].regret
    # A front of one trial has no range.
    range_of_moves = front[-1].moves - fewest_moves or 1
    range_of_regrets = front[0].regret - least_regret or 1.0
    more_moves = (trial.moves - fewest_moves) / range_of_moves
    more_regret = (trial.regret - least_regret) / range_of_regrets
    return float((more_moves**2 + more_regret**2) ** 0.5)


def _kept(returns: int, *, other: str) -> str:
    if returns:
        return (
            "no setting that was tried stops it from moving back and forth"
            f" {plural(returns, 'time')}, and no other {other} with as few has clearly less regret"
            " without more moves"
        )
    return (
        f"it does not flap, and no other {other} without flapping has clearly less regret without"
        " more moves"
    )


def _changed(best: Trial, written: Trial) -> str:
    if best.returns:
        return (
            f"{plural(best.moves, 'move')} instead of {written.moves}, {best.returns} back and"
            f" forth instead of {written.returns}; no setting that was tried stops it; regret"
            f" {best.regret:.1f} instead of {written.regret:.1f}"
        )
    if written.returns:
        return (
            f"{plural(best.moves, 'move')} instead of {written.moves}, 0 back and forth instead of"
            f" {written.returns}; regret {best.regret:.1f} instead of {written.regret:.1f}"
        )
    return (
        f"{plural(best.moves, 'move')} instead of {written.moves}, none back and forth; regret"
        f" {best.regret:.1f} instead of {written.regret:.1f}"
    )
