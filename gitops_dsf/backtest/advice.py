"""Advice on stickiness and deadband: every value that OCM can express, tried over the same history. And how
many points of a score an application takes where it runs, by what its arrivals did to the score.

More stickiness means fewer moves and more regret. Nothing says how many points a move is worth, so the advice
is a compromise: of the values with the least flapping, the candidates, the one on the Pareto front of moves
and regret that is nearest to the best of both, each measured by its range on the front.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from gitops_dsf.backtest.expiry import score_expiries, tracks_of
from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.gridscores import GridScores
from gitops_dsf.backtest.placement import PreparedPlacement
from gitops_dsf.backtest.result import Advice, Trial
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
    contest: PreparedPlacement,
    *,
    values: Mapping[int, Weights],
    written: int,
    histories: Mapping[int | None, Tracks],
    grid: TimeGrid,
    window: float,
    stop: Callable[[], bool] = lambda: False,
) -> Advice | None:
    """Tries all values of stickiness with all histories. None if `stop` became true before the end.

    `histories` are the published scores by deadband; None is the key of those with the written deadbands.
    `written` is the stickiness that the contest's weights express, one of the values.
    """
    factor = values[written].factor
    terms = tuple(replace(term, weight=term.weight // factor) for term in contest.terms)
    plain = replace(contest, terms=terms, steady=0)
    trials: list[Trial] = []
    for deadband, tracks in histories.items():
        columns, found = (
            GridScores(tracks=tracks, grid=grid),
            score_expiries(plain, tracks, grid=grid),
        )
        writes = sum(len(track) for _, _, track in tracks_of(plain, tracks, plain.candidates))
        for points, weights in sorted(values.items()):
            if stop():
                return None
            line = decide(
                plain,
                columns=columns,
                found=found,
                multiplier=weights.factor,
                steady=weights.steady,
            )
            changes = tuple(line.changes(grid))
            trials.append(
                Trial(
                    stickiness=points,
                    deadband=deadband,
                    moves=len(changes),
                    returns=moves_back(returns(changes, window=window)),
                    regret=line.regret,
                    writes=writes,
                )
            )
    return _advice(tuple(trials), next(item for item in trials if item.setting == (written, None)))


def _front(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """The Pareto front of moves and regret: fewest moves first. Of equal trials the first one stays."""
    found: list[Trial] = []
    for trial in sorted(trials, key=lambda item: (item.moves, item.regret)):
        if not found or trial.regret < found[-1].regret:
            found.append(trial)
    return tuple(found)


def _advice(trials: tuple[Trial, ...], written: Trial) -> Advice:
    # A deadband concerns other Placements, too, so it changes only where stickiness alone does not help.
    tried = [item for item in trials if item.deadband is None]
    if min(item.returns for item in trials) < min(item.returns for item in tried):
        tried = list(trials)
    least = min(item.returns for item in tried)
    candidates = [item for item in tried if item.returns == least]
    front = _front(sorted(candidates, key=lambda item: item is not written))
    better = [
        item
        for item in front
        if item.moves <= written.moves and item.regret < written.regret - CLEARLY
    ]
    if written in candidates and not better:
        recommended = written
        reason = _kept(least, other="stickiness" if len(tried) < len(trials) else "setting")
    else:
        recommended = min(
            better if written in candidates else front,
            key=lambda item: (_distance(item, front), item.stickiness),
        )
        reason = _changed(recommended, written)
    return Advice(
        written=written, trials=trials, front=front, recommended=recommended, reason=reason
    )


def _kept(returns: int, *, other: str) -> str:
    if returns:
        return (
            f"no setting that was tried stops it from moving back and forth {plural(returns, 'time')}, and no"
            f" other {other} with as few has clearly less regret without more moves"
        )
    return f"it does not flap, and no other {other} without flapping has clearly less regret without more moves"


def _changed(best: Trial, written: Trial) -> str:
    moves = f"{plural(best.moves, 'move')} instead of {written.moves}"
    back = (
        f"{best.returns} back and forth instead of {written.returns}"
        if best.returns or written.returns
        else "none back and forth"
    )
    stops = "; no setting that was tried stops it" if best.returns else ""
    return f"{moves}, {back}{stops}; regret {best.regret:.1f} instead of {written.regret:.1f}"


def _distance(item: Trial, front: Sequence[Trial]) -> float:
    moves = [each.moves for each in front]
    regrets = [each.regret for each in front]
    wide, deep = max(moves) - min(moves) or 1, max(regrets) - min(regrets) or 1.0
    return float(
        (((item.moves - min(moves)) / wide) ** 2 + ((item.regret - min(regrets)) / deep) ** 2)
        ** 0.5
    )
