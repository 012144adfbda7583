"""A backtest in sentences, which the terminal, Markdown and the page share.

Each function takes a part of a result and returns whole sentences. Nothing is computed here but
counts and durations.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from msgspec import UNSET

from gitops_dsf.backtest.figures import is_short
from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.result import (
    AdvisedField,
    Figures,
    OrderFigures,
    PacedFigures,
    Trial,
    VerifierEstimate,
)
from gitops_dsf.fleetbacktest.result import RevisionResult
from gitops_dsf.show.movechecks import bound_text, seconds_text
from gitops_dsf.wording import and_text, names_text, plural, prioritizer_text

MAX_NAMED: Final = 3
ORDERS: Final = "the order in which Kueue would have offered clusters to jobs"
"""The heading above the sentences of `ordered`."""
ESTIMATE: Final = "how often verification would have failed (an estimate)"
"""The heading above the sentences of `verified`."""


class DemandText(NamedTuple):
    """Advice on a demand."""

    sentence: str
    field: str
    """The field to write it to."""


def moved(now: Figures, before: Figures | None = None) -> str:
    """`19 moves (17 to 22) instead of 2, 14 of them back and forth between eu-1 and eu-2 (cpu)`."""
    parts: list[str] = []
    if before is None:
        parts.append(f"{plural(now.moves, 'move')}{_range(now)}")
    elif (before.moves, before.moves_range) == (now.moves, now.moves_range):
        parts += [f"{plural(now.moves, 'move')}{_range(now)}", "as before"]
    else:
        parts.append(
            f"{plural(now.moves, 'move')}{_range(now)} instead of {before.moves}{_range(before)}"
        )
    # Moves back and forth are what a setting is changed for, so the clusters and the cause follow.
    if now.returns:
        clusters: set[str] = set()
        for episode in now.flapping:
            clusters.update(episode.clusters)
        between = listed(sorted(clusters))
        if now.causes:
            parts.append(
                f"{now.returns} of them back and forth between {between} ({listed(now.causes)})"
            )
        else:
            parts.append(f"{now.returns} of them back and forth between {between}")
    clauses = [", ".join(parts)]
    if now.paced is not UNSET:
        clauses += _without_pace(now.paced)
    return "; ".join(clauses)


def _without_pace(paced: PacedFigures) -> Iterator[str]:
    """`without the pace 19 moves, 12 of them back and forth` and `longest wait 40 min`."""
    moves = plural(paced.moves_without, "move")
    if paced.returns_without:
        yield f"without the pace {moves}, {paced.returns_without} of them back and forth"
    else:
        yield f"without the pace {moves}"
    if paced.waits:
        minutes = paced.longest_wait_seconds / 60
        # "100 min" is read at once, "1.7 h" must be computed.
        if minutes < 120:
            yield f"longest wait {minutes:.0f} min"
        else:
            yield f"longest wait {minutes / 60:.1f} h"


def _range(figures: Figures) -> str:
    """` (27 to 35)`: the fewest and the most moves; nothing if they are equal."""
    moves = figures.moves_range
    if moves is None or moves[0] == moves[1]:
        return ""
    return f" ({moves[0]} to {moves[1]})"


def time_on(result: RevisionResult, key: str) -> str:
    """`eu-1 61 %, eu-2 39 %`: the share of the span for which each cluster was chosen."""
    span = result.grid.count * result.grid.step
    shares: list[str] = []
    for cluster, seconds in result.side.placements[key].seconds_on.items():
        shares.append(f"{cluster} {100 * seconds / span:.0f} %")
    return names_text(shares, max_names=MAX_NAMED)


def regret(result: RevisionResult, key: str, before: Figures | None = None) -> str:
    """`0.3 (was 1.1)`; `4.2 (was 0.0), the sum of 3 clusters`."""
    text = f"{result.side.placements[key].regret:.1f}"
    if before is not None:
        text = f"{text} (was {before.regret:.1f})"
    clusters = result.backtest.lines[key].max_clusters
    return f"{text}, the sum of {clusters} clusters" if clusters > 1 else text


def advised(result: RevisionResult, key: str) -> str:
    """`stickiness 20 instead of 5: 2 moves instead of 19, ...`; `keep stickiness 5: ...`."""
    advice = result.side.advice[key]
    figures = result.side.placements[key]
    stickiness = advice.recommended.stickiness
    written_stickiness = advice.written.stickiness
    if not advice.changes:
        parts = [f"keep stickiness {written_stickiness}"]
    elif stickiness != written_stickiness:
        parts = [f"stickiness {stickiness} instead of {written_stickiness}"]
    else:
        parts = [f"stickiness {stickiness}"]
    if advice.changes and advice.recommended.deadband is not None:
        parts.append(f"with a deadband of {advice.recommended.deadband}")
    if figures.paced is UNSET:
        clauses = [f"{', '.join(parts)}: {advice.reason}"]
    else:
        clauses = [f"{', '.join(parts)} (without the pace): {advice.reason}"]
    moves = figures.moves_range
    # The advice tries settings at the points of the history only. With agents that score at other
    # moments there may be more moves than that, so "keep it" is said with a doubt.
    if not advice.changes and moves is not None and moves[1] > advice.written.moves:
        clauses.append(
            f"if the agents had scored at other times, up to {plural(moves[1], 'move')}: a larger"
            " stickiness may be better"
        )
    return "; ".join(clauses)


def advised_fields(result: RevisionResult, key: str) -> Iterator[str]:
    """`apps/portal.yaml:12: spec.stickiness: 25 instead of 20`; nothing without a change."""
    for field in result.side.advice[key].fields:
        if field.also:
            yield f"{_field(field)}; it also concerns {listed(field.also)}"
        else:
            yield _field(field)


def demanded(result: RevisionResult, key: str) -> Iterator[DemandText]:
    """The demands of a Placement that recorded moves show."""
    for demand in result.side.demands.get(key, ()):
        sentence = (
            f"demand {demand.field.after} of {demand.scorer} instead of {demand.field.before}:"
            f" {demand.cases} recorded arrivals took {demand.mean:.1f} points on average, with a"
            f" standard deviation of {demand.spread:.1f}"
        )
        yield DemandText(sentence, _field(demand.field))


def verified(result: RevisionResult) -> Iterator[str]:
    """`argocd/shop: slo at least 80 for 10 min: 2 times, for 0.5 of 310.0 h with a known score`."""
    if result.side.verification is UNSET:
        return
    for key, estimates in result.side.verification.items():
        for estimate in estimates:
            yield f"{key}: {_estimate(estimate)}"


def ordered(result: RevisionResult) -> Iterator[str]:
    """`kueue-system/gpu-jobs: reordered 12 times, 4.0 a day; first: eu-1 80 %, eu-2 20 %`."""
    if result.side.orders is UNSET:
        return
    for key, order in result.side.orders.items():
        yield f"{key}: {_order(order)}"


def _order(order: OrderFigures) -> str:
    # Without any order the sum is 0, and there is no share to divide.
    total = sum(order.seconds_first.values()) or 1.0
    shares: list[str] = []
    for name, seconds in order.seconds_first.items():
        shares.append(f"{name} {100 * seconds / total:.0f} %")
    times = plural(order.changes, "time")
    if order.changes_per_day is None:
        clauses = [f"reordered {times}"]
    else:
        clauses = [f"reordered {times}, {order.changes_per_day:.1f} a day"]
    clauses.append(f"first: {names_text(shares) or 'no cluster'}")
    if order.most_left_out:
        clauses.append(f"no room for up to {plural(order.most_left_out, 'cluster')}")
    return "; ".join(clauses)


def _estimate(estimate: VerifierEstimate) -> str:
    name = prioritizer_text(f"{estimate.scorer}/{estimate.dimension}")
    bound = bound_text(estimate.at_least, estimate.no_worse_than)
    check = f"{name} {bound} for {seconds_text(estimate.for_seconds)}"
    hours = estimate.seconds / 3600
    if estimate.unknown:
        return f"{check}: not known: {estimate.unknown}"
    if not estimate.seconds:
        return f"{check}: not known: the history has no score of it where it would have run"
    if not estimate.failures:
        return f"{check}: never in {hours:.1f} h with a known score"
    times = plural(estimate.failures, "time")
    failing = estimate.failing_seconds / 3600
    return f"{check}: {times}, for {failing:.1f} of {hours:.1f} h with a known score"


def _field(field: AdvisedField) -> str:
    return f"{field.file}:{field.line}: {field.field}: {field.after} instead of {field.before}"


def settings(trial: Trial) -> str:
    """`stickiness 20`, or `stickiness 20 and deadband 5`."""
    if trial.deadband is None:
        return f"stickiness {trial.stickiness}"
    return f"stickiness {trial.stickiness} and deadband {trial.deadband}"


def undecided(result: RevisionResult) -> Iterator[str]:
    """The Placements that are not decided, and why."""
    for key, reason in result.side.unknown.items():
        yield f"{key}: {reason}"


def gaps(result: RevisionResult) -> Iterator[str]:
    """The missing parts: points of the history, ranges of moves, and Placements in the pace."""
    for resource, shares in result.side.gaps.items():
        worst: list[str] = []
        for name in sorted(shares, key=lambda name: (-shares[name], name)):
            worst.append(f"{name} {100 * shares[name]:.0f} %")
        yield (
            f"{resource} has gaps on {plural(len(shares), 'cluster')}:"
            f" {names_text(worst, max_names=MAX_NAMED)} of the points are missing"
        )
    yield from _without_range(result)
    if result.side.placements and is_short(result.grid):
        minutes = (result.grid.end - result.grid.start) / 60
        yield (
            f"{minutes:.1f} minutes of history are too few for a rate a day and for advice, which"
            " need at least an hour"
        )
    if result.side.unpaced:
        reasons = [f"{key} ({reason})" for key, reason in result.side.unpaced.items()]
        yield (
            f"{plural(len(reasons), 'paced Placement')} left out of the pace:"
            f" {names_text(reasons, max_names=MAX_NAMED)}"
        )


def _without_range(result: RevisionResult) -> Iterator[str]:
    """A sentence on Placements whose range of moves is not known, if there are any."""
    count = 0
    for figures in result.side.placements.values():
        if figures.moves_range is None:
            count += 1
    if not count:
        return
    if result.is_part:
        yield (
            f"if the agents had scored at other times, {plural(count, 'Placement')} might have"
            " moved more or less often: too large to try here, decided pass by pass, or paced"
        )
    else:
        yield (
            f"if the agents had scored at other times, {plural(count, 'Placement')} might have"
            " moved more or less often: too large to try here (--placement asks for one), decided"
            " pass by pass, or paced"
        )


def span(result: RevisionResult) -> str:
    """`14.0 days from 2026-11-08 16:00 to 2026-11-22 16:00 UTC, a point every 60 s`.

    It also says why the span does not begin earlier.
    """
    if result.waited_for:
        return f"{_span(result.grid)}; before that, {result.waited_for} has no scores"
    return _span(result.grid)


def _span(grid: TimeGrid) -> str:
    hours = (grid.count - 1) * grid.step / 3600
    # In minutes, a short span would begin and end at nearly the same time.
    form = "%Y-%m-%d %H:%M:%S" if hours < 1 else "%Y-%m-%d %H:%M"
    start = datetime.fromtimestamp(grid.start, UTC).strftime(form)
    end = datetime.fromtimestamp(grid.end, UTC).strftime(form)
    if hours < 1:
        return f"{hours * 60:.1f} minutes from {start} to {end} UTC, a point every {grid.step:g} s"
    if hours < 24:
        return f"{hours:.1f} hours from {start} to {end} UTC, a point every {grid.step:g} s"
    return f"{hours / 24:.1f} days from {start} to {end} UTC, a point every {grid.step:g} s"


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b, c and 2 more`."""
    if len(names) > MAX_NAMED:
        return names_text(names, max_names=MAX_NAMED)
    return and_text(names)
