"""Past decisions of Placements as bars over time."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple

from gitops_dsf.journal.record import Record
from gitops_dsf.journal.timeline import by_placement, times
from gitops_dsf.show.charts import (
    COLOUR_OF_OTHERS,
    OTHERS,
    DrawnSpan,
    Label,
    decision_bar,
    short_names,
    span_of,
    ticks,
)

WIDTH: Final = 1200
LEFT: Final = 190
ROW: Final = 26
AXIS: Final = 26
MAX_ROWS: Final = 40
"""Placements that are drawn. The table below has the moves of all."""
MAX_NAME: Final = 24
MAX_TIMES: Final = 10


class LegendEntry(NamedTuple):
    """A cluster with its colour."""

    colour: str
    name: str


@dataclass(frozen=True, kw_only=True)
class TimeLine:
    """A drawing with one row for each Placement that moved."""

    title: str
    description: str
    width: int
    height: int
    labels: tuple[Label, ...]
    ticks: tuple[Label, ...]
    spans: tuple[DrawnSpan, ...]
    legend: tuple[LegendEntry, ...]
    others: bool
    """Whether a bar has the colour of all other clusters."""
    hidden: int
    """Placements that moved and have no row, because there are too many."""


class _Stretch(NamedTuple):
    """A decision, from one moment to another in Unix seconds."""

    placement: str
    start: float
    end: float
    clusters: tuple[str, ...]


def time_line(records: Sequence[Record], *, start: float, end: float) -> TimeLine | None:
    """The decisions between two times, those that moved most first; None if nothing moved."""
    histories = by_placement(record for record in records if record.changes_decision)
    moves: dict[str, int] = {}
    for name, of_placement in histories.items():
        count = _moves(of_placement, start)
        # A row of one colour from end to end says nothing that the table of now does not.
        if count:
            moves[name] = count
    if not moves:
        return None
    moved = sorted(moves, key=lambda name: (-moves[name], name))
    drawn = moved[:MAX_ROWS]
    stretches: list[_Stretch] = []
    for name in drawn:
        stretches += _stretches(name, histories[name], start=start, end=end)
    colours = _colours(stretches)
    # A span of a moment would divide by 0.
    scale = (WIDTH - LEFT) / max(end - start, 1.0)
    short = short_names(drawn, max_characters=MAX_NAME)
    spans: list[DrawnSpan] = []
    for stretch in stretches:
        row = drawn.index(stretch.placement)
        spans.append(_span(stretch, colours, row=row, start=start, scale=scale))
    labels: list[Label] = []
    for row, name in enumerate(drawn):
        labels.append(Label("0", str(row * ROW + 17), short[name], title=name))
    bottom = len(drawn) * ROW
    times_on_axis: list[Label] = []
    for seconds in ticks(end - start, max_ticks=MAX_TIMES):
        x = f"{LEFT + seconds * scale:.1f}"
        times_on_axis.append(Label(x, str(bottom + 18), _time(start + seconds)))
    used = {span.colour for span in spans}
    return TimeLine(
        title="Where Placements ran",
        description=f"The decisions of {len(drawn)} Placements over time; a table follows.",
        width=WIDTH,
        height=bottom + AXIS,
        labels=tuple(labels),
        ticks=tuple(times_on_axis),
        spans=tuple(spans),
        legend=tuple(LegendEntry(colour, name) for name, colour in colours.items()),
        others=COLOUR_OF_OTHERS in used,
        hidden=len(moved) - len(drawn),
    )


def _moves(records: Iterable[Record], start: float) -> int:
    """The number of changes of a decision since the start. A first record is not a move."""
    return sum(record.kind != "Start" and record.time.timestamp() >= start for record in records)


def _stretches(
    placement: str, records: Sequence[Record], *, start: float, end: float
) -> Sequence[_Stretch]:
    stretches: list[_Stretch] = []
    begins = times(records)
    first = records[0]
    # The first record of the span says where the Placement was before it.
    if first.from_ is not None and begins[0] > start:
        stretches.append(_Stretch(placement, start, begins[0], first.from_))
    for index, record in enumerate(records):
        until = begins[index + 1] if index + 1 < len(records) else end
        begin = max(begins[index], start)
        # Records before the start are read as well, for where a Placement was at the start.
        if until > begin:
            # A decision of very many clusters is not named; its count is.
            clusters = record.to if record.to is not None else (f"{record.count} clusters",)
            stretches.append(_Stretch(placement, begin, min(until, end), clusters))
    return stretches


def _colours(stretches: Iterable[_Stretch]) -> dict[str, str]:
    """The clusters with the longest time, each with a colour."""
    seconds: Counter[str] = Counter()
    for stretch in stretches:
        if stretch.clusters:
            seconds[stretch.clusters[0]] += int(stretch.end - stretch.start)
    colours: dict[str, str] = {}
    for name, _ in seconds.most_common(OTHERS):
        colours[name] = f"c{len(colours)}"
    return colours


def _span(
    stretch: _Stretch, colours: dict[str, str], *, row: int, start: float, scale: float
) -> DrawnSpan:
    bar = decision_bar(stretch.clusters, start=stretch.start, end=stretch.end, colours=colours)
    return span_of(
        bar,
        start=LEFT + (stretch.start - start) * scale,
        end=LEFT + (stretch.end - start) * scale,
        top=row * ROW + 4,
        title=(
            f"{stretch.placement} on {bar.name} from {_time(stretch.start)}"
            f" to {_time(stretch.end)} UTC"
        ),
    )


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%d %b %H:%M")
