"""A backtest as an HTML page.

It shows the scores of clusters over time, where each Placement ran, and the advice.

Not guaranteed: that every line has all its points. A line is drawn with at most
`scorelines.MAX_POINTS` points, and clusters without a colour of their own share one; the tables
have all names.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from gitops_dsf.backtest.decisions import DecisionLine
from gitops_dsf.backtest.result import Figures, Trial
from gitops_dsf.fleetbacktest.result import ComparedFigures, RevisionResult, compared, limits
from gitops_dsf.fleetbacktest.scorelines import ScoreLines, score_lines
from gitops_dsf.show.backtest import sentences
from gitops_dsf.show.charts import (
    COLOUR_OF_OTHERS,
    OTHERS,
    Chart,
    ChartBar,
    ChartLine,
    Drawing,
    decision_bar,
)
from gitops_dsf.show.pages.kit import Fact, render
from gitops_dsf.wording import plural

SHORT_SECONDS: Final = 600.0
"""The length in seconds below which ticks are less than a minute apart."""
# A chart of a thousand Placements each would be a page that no browser opens.
MAX_CHARTS: Final = 30
MAX_BARS: Final = 400
"""Decisions that are drawn. A Placement with more is flapping in any case."""


class _IndexRow(NamedTuple):
    """A Placement in the table of all."""

    key: str
    anchor: str
    """The anchor of its charts; empty if it has none."""
    moves: str
    returns: int
    regret: str
    time_on: str


class _LegendLine(NamedTuple):
    colour: str
    name: str
    value: str


class _ChartSide(NamedTuple):
    """The chart of one revision, with its caption and legend."""

    heading: str
    legend: Sequence[_LegendLine]
    others: bool
    """Whether a bar has the colour of all other clusters."""
    several: bool
    """Whether the Placement decides for more than one cluster."""
    stickiness: str
    """Points by which another cluster must be better; empty without a bound."""
    chart: Drawing


class _TrialRow(NamedTuple):
    """A setting among which the advice chose."""

    settings: str
    moves: int
    returns: int
    regret: str
    writes: int
    mark: str


class _Advice(NamedTuple):
    text: str
    fields: Sequence[str]
    trials: Sequence[_TrialRow]


class _Section(NamedTuple):
    """One Placement: its charts and the advice."""

    key: str
    anchor: str
    note: str
    sides: Sequence[_ChartSide]
    advice: _Advice | None
    demands: Sequence[sentences.DemandText]


class _ShownPlacement(NamedTuple):
    """A Placement that is decided after the change."""

    key: str
    """namespace/name."""
    before: Figures | None
    after: Figures


class _ShownSide(NamedTuple):
    """One revision in the charts of a Placement."""

    result: RevisionResult
    figures: Figures
    caption: str
    """Empty if there is no other revision."""


class _Scale(NamedTuple):
    """The scale that the charts of a Placement share."""

    low: float
    high: float
    start: float
    """Unix seconds."""
    end: float


def page(results: Sequence[RevisionResult], *, notes: Sequence[str] = ()) -> str:
    """The whole page. It shows the first Placements with charts, and all of them in a table."""
    head = results[-1]
    rows = compared(results)
    placements = _shown(rows)
    sections: list[_Section] = []
    for number, placement in enumerate(placements[:MAX_CHARTS]):
        sections.append(_section(results, placement, anchor=_anchor(number)))
    return render(
        "backtest.html",
        verb="backtest",
        title=_title(results),
        lead=_lead(results),
        facts=tuple(_facts(results, rows)),
        # One Placement alone needs no index.
        index=_index(head, placements) if len(placements) > 1 else (),
        index_note=_index_note(placements),
        placements=sections,
        estimates=tuple(sentences.verified(head)),
        orders=tuple(sentences.ordered(head)),
        unknown=(*sentences.undecided(head), *notes, *sentences.gaps(head), *limits(results)),
    )


def _shown(rows: Sequence[ComparedFigures]) -> Sequence[_ShownPlacement]:
    """The Placements that are decided after the change, those that flap most first."""
    placements: list[_ShownPlacement] = []
    for key, before, after in rows:
        if after is not None:
            placements.append(_ShownPlacement(key, before, after))
    return sorted(placements, key=lambda row: (-row.after.returns, -row.after.moves, row.key))


def _title(results: Sequence[RevisionResult]) -> str:
    if len(results) > 1:
        return "What this would have decided"
    return "What this fleet would have decided"


def _lead(results: Sequence[RevisionResult]) -> str:
    head = results[-1]
    if len(results) == 1:
        return f"{sentences.span(head)}."
    return f"{sentences.span(head)}. {results[0].side.title} compared with {head.side.title}."


def _facts(results: Sequence[RevisionResult], rows: Sequence[ComparedFigures]) -> Iterator[Fact]:
    moves = 0
    returns = 0
    placements = 0
    changed = 0
    for row in rows:
        changed += row.differs
        if row.after is not None:
            placements += 1
            moves += row.after.moves
            returns += row.after.returns
    yield _counted(placements, "Placement", "with a known past")
    yield _counted(moves, "move")
    yield Fact(str(returns), "of them back and forth")
    if len(results) > 1:
        yield Fact(str(changed), "would have decided differently")


def _counted(count: int, noun: str, more: str = "") -> Fact:
    number, _, words = plural(count, noun).partition(" ")
    return Fact(number, f"{words} {more}".strip())


def _anchor(number: int) -> str:
    return f"placement-{number + 1}"


def _index_note(placements: Sequence[_ShownPlacement]) -> str:
    if len(placements) > MAX_CHARTS:
        return (
            "Those that moved back and forth most come first."
            f" The first {MAX_CHARTS} have a chart below."
        )
    return "Those that moved back and forth most come first."


def _index(head: RevisionResult, placements: Sequence[_ShownPlacement]) -> Sequence[_IndexRow]:
    """All Placements, with the anchors of their charts."""
    rows: list[_IndexRow] = []
    for number, (key, before, after) in enumerate(placements):
        moves = str(after.moves)
        if before is not None:
            moves += f" (was {before.moves})"
        rows.append(
            _IndexRow(
                key=key,
                anchor=_anchor(number) if number < MAX_CHARTS else "",
                moves=moves,
                returns=after.returns,
                regret=sentences.regret(head, key, before),
                time_on=sentences.time_on(head, key),
            )
        )
    return rows


def _section(
    results: Sequence[RevisionResult], placement: _ShownPlacement, *, anchor: str
) -> _Section:
    key, before, after = placement
    head = results[-1]
    note = (
        f"{sentences.moved(after, before)}. Most of the time on {sentences.time_on(head, key)}."
        f" Regret in points: {sentences.regret(head, key, before)}."
    )
    sides = [_ShownSide(head, after, "after the change" if before is not None else "")]
    # Two equal charts would make a reader look for a difference that is not there.
    if before is not None and ComparedFigures(key, before, after).differs:
        base = results[0]
        sides.append(_ShownSide(base, before, f"as in {base.side.title}"))
    return _Section(
        key=key,
        anchor=anchor,
        note=note,
        sides=_charts(sides, key),
        advice=_advice(head, key) if key in head.side.advice else None,
        demands=tuple(sentences.demanded(head, key)),
    )


def _charts(sides: Sequence[_ShownSide], key: str) -> Sequence[_ChartSide]:
    """A chart for each revision, with the same colours of clusters and the same scale."""
    # Where it ran for longest gets a colour of its own, in both charts the same one.
    spent: Counter[str] = Counter()
    start = math.inf
    end = -math.inf
    for side in sides:
        spent.update(side.figures.seconds_on)
        start = min(start, side.result.grid.start)
        end = max(end, side.result.grid.end)
    longest_first = sorted(spent, key=lambda name: (-spent[name], name))
    drawn = [score_lines(side.result.backtest, key, longest_first, start=start) for side in sides]
    names: list[str] = []
    # A chart always has 0, from which points count, and a height even if all scores are equal.
    low = 0.0
    high = 10.0
    for scores in drawn:
        names.extend(scores.lines)
        for line in scores.lines.values():
            for point in line:
                low = min(low, point.value)
                high = max(high, point.value)
        for bound in scores.bounds:
            for point in bound:
                # No score is above 100: a bound above it would only make the lines flat.
                high = max(high, min(100.0, point.value))
    colours: dict[str, str] = {}
    for number, name in enumerate(dict.fromkeys(names)):
        colours[name] = f"c{min(number, OTHERS)}"
    scale = _Scale(low, high, start, end)
    charts: list[_ChartSide] = []
    for side, scores in zip(sides, drawn, strict=True):
        charts.append(_chart(side, key, scores, colours=colours, scale=scale))
    return charts


def _chart(
    side: _ShownSide,
    key: str,
    scores: ScoreLines,
    *,
    colours: Mapping[str, str],
    scale: _Scale,
) -> _ChartSide:
    """The chart of one revision, with its caption and legend."""
    backtest = side.result.backtest
    bars = _bars(side.result, backtest.lines[key], colours, start=scale.start)
    heading = f"{key} {side.caption}".strip()
    length = scale.end - scale.start
    form = "%H:%M:%S" if length <= SHORT_SECONDS else "%d %b %H:%M"

    def label(seconds: float) -> str:
        return datetime.fromtimestamp(scale.start + seconds, UTC).strftime(form)

    lines: list[ChartLine] = []
    for name, points in scores.lines.items():
        lines.append(ChartLine(name=name, colour=colours[name], points=points))
    # A number stands for the key of the Placement, whose slash no selector takes as it is.
    number = list(backtest.placements).index(key)
    chart = Chart(
        key=f"p{number}{side.caption.partition(' ')[0]}",
        title="Scores of the clusters of " + heading,
        description=(
            f"The weighted mean of the scores of {plural(len(lines), 'cluster')}, and where it ran."
        ),
        lines=lines,
        bounds=scores.bounds,
        low=scale.low,
        high=scale.high,
        end=length,
        bars=bars,
        label=label,
    )
    # With the last value: on a narrow screen the ends of the lines are outside the view.
    legend = [_LegendLine(line.colour, line.name, f"{line.points[-1][1]:.0f}") for line in lines]
    return _ChartSide(
        heading=heading if side.caption else "",
        legend=legend,
        others=any(bar.colour == COLOUR_OF_OTHERS for bar in bars),
        several=backtest.lines[key].max_clusters > 1,
        stickiness=f"{scores.stickiness:.3g}" if scores.bounds else "",
        chart=chart.draw(),
    )


def _bars(
    result: RevisionResult, line: DecisionLine, colours: Mapping[str, str], *, start: float
) -> Sequence[ChartBar]:
    """A bar for each decision, at most `MAX_BARS`."""
    grid = result.grid
    begin = grid.start - start
    bars: list[ChartBar] = []
    for held in line.held(end=grid.count - 1):
        if len(bars) == MAX_BARS:
            break
        bars.append(
            decision_bar(
                held.clusters,
                start=begin + held.first * grid.step,
                end=begin + held.end * grid.step,
                colours=colours,
            )
        )
    return bars


def _advice(result: RevisionResult, key: str) -> _Advice:
    """The advice, and the settings among which it chose."""
    advice = result.side.advice[key]
    return _Advice(
        text=sentences.advised(result, key),
        fields=tuple(sentences.advised_fields(result, key)),
        trials=[_trial_row(trial, advice.mark(trial)) for trial in advice.shown],
    )


def _trial_row(trial: Trial, mark: str) -> _TrialRow:
    return _TrialRow(
        settings=sentences.settings(trial),
        moves=trial.moves,
        returns=trial.returns,
        regret=f"{trial.regret:.1f}",
        writes=trial.writes,
        mark=mark,
    )
