"""Charts of lines over time: places the lines, axes, bars and names of a chart on a drawing.

A template of `pages` writes the drawing as SVG. Positions are texts in units of the drawing, so
that equal data gives equal bytes.

Guaranteed: values and times outside of the scale are drawn at its edge, and a chart of one point or
without points is drawn as well. Names at the ends of lines keep a gap where there is room, and
names that are cut still differ.

Not guaranteed: that a text fits. The width of letters is an estimate, which is rather too large.
Names and titles are not escaped here; the template does that.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final, NamedTuple

WIDTH: Final = 960
HEIGHT: Final = 330
TOP: Final = 26
AXIS: Final = 22
LEFT: Final = 34
RIGHT: Final = 150
"""Space for the names at the ends of the lines."""
LABEL_GAP: Final = 15
MAX_NAME: Final = 16
"""Letters of a name there, beside the value."""
MAX_TIMES: Final = 12
"""Times on the axis."""
BAR_HEIGHT: Final = 30
# Each divides a minute, an hour or a day, so that the times on an axis are round.
STEPS: Final = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400)
"""Seconds between two times on the axis."""
LETTER: Final = 6.8
"""Estimated width of a letter in the chart's units, rather too large."""
OTHERS: Final = 5
"""Number of the colour that all clusters share for which there is no other one."""
COLOUR_OF_OTHERS: Final = f"c{OTHERS}"

ChartPoints = Sequence[tuple[float, float]]
"""Seconds since the start of the chart, and values."""


@dataclass(frozen=True, kw_only=True)
class ChartLine:
    """The values of one cluster. ``colour`` is a class of the page's style."""

    name: str
    colour: str
    points: ChartPoints


@dataclass(frozen=True, kw_only=True)
class ChartBar:
    """A period with one decision. Its times count from where the chart's times count."""

    start: float
    end: float
    name: str
    colour: str


class Label(NamedTuple):
    """A text in a drawing. Positions are in the drawing's units, as SVG writes them."""

    x: str
    y: str
    text: str
    colour: str = ""
    title: str = ""


class GridLine(NamedTuple):
    """A horizontal line with its value."""

    path: str
    x: str
    y: str
    text: str


class DrawnLine(NamedTuple):
    """The path of a line."""

    colour: str
    path: str


class Dot(NamedTuple):
    """The end of a line."""

    colour: str
    x: str
    y: str


class DrawnSpan(NamedTuple):
    """A bar for a period. ``text`` is empty where the name does not fit."""

    colour: str
    title: str
    x: str
    y: str
    width: str
    height: str
    text: str
    middle: str
    baseline: str


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A chart of which every part has its place."""

    key: str
    title: str
    description: str
    grid: tuple[GridLine, ...]
    ticks: tuple[Label, ...]
    bounds: tuple[str, ...]
    lines: tuple[DrawnLine, ...]
    ends: tuple[Dot, ...]
    names: tuple[Label, ...]
    spans: tuple[DrawnSpan, ...]
    width: int = WIDTH
    height: int = HEIGHT


class _LineEnd(NamedTuple):
    """The end of a line."""

    height: float
    line: ChartLine

    @property
    def seconds(self) -> float:
        return self.line.points[-1][0]

    @property
    def value(self) -> float:
        return self.line.points[-1][1]


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A chart with its data."""

    key: str
    """A prefix that makes the IDs of this chart unique on the page."""
    title: str
    """The title for screen readers, with more detail than the heading beside it."""
    description: str
    lines: Sequence[ChartLine]
    bounds: Sequence[ChartPoints]
    """Dashed lines without a name, in pieces: what another cluster must reach."""
    low: float
    high: float
    end: float
    bars: Sequence[ChartBar]
    label: Callable[[float], str]
    """Text of a time, given its seconds since the start."""

    def draw(self) -> Drawing:
        """The chart with the place of every part."""
        lines: list[DrawnLine] = []
        ends: list[_LineEnd] = []
        dots: list[Dot] = []
        for line in self.lines:
            lines.append(DrawnLine(line.colour, self._path(line.points)))
            # A line without points has no end at which its name could stand.
            if line.points:
                end = _LineEnd(self._y(line.points[-1][1]), line)
                ends.append(end)
                dots.append(Dot(line.colour, _unit(self._x(end.seconds)), _unit(end.height)))
        return Drawing(
            key=self.key,
            title=self.title,
            description=self.description,
            grid=tuple(self._grid()),
            ticks=tuple(self._ticks()),
            bounds=tuple(map(self._path, self.bounds)),
            lines=tuple(lines),
            ends=tuple(dots),
            names=tuple(self._names(ends)),
            spans=tuple(self._spans()),
        )

    @property
    def _bottom(self) -> float:
        return HEIGHT - AXIS - (BAR_HEIGHT if self.bars else 0)

    @property
    def _length(self) -> float:
        # A history of one point has no length, by which a position is divided.
        return max(self.end, 1.0)

    def _x(self, seconds: float) -> float:
        part = min(max(seconds / self._length, 0.0), 1.0)
        return LEFT + part * (WIDTH - LEFT - RIGHT)

    def _y(self, value: float) -> float:
        # SVG counts from the top down. What is outside the scale is drawn at its edge.
        part = (value - self.low) / (self.high - self.low)
        return self._bottom - min(max(part, 0.0), 1.0) * (self._bottom - TOP)

    def _grid(self) -> Iterator[GridLine]:
        left_edge = self._x(0)
        right = _unit(self._x(self._length))
        for value in _steps(self.low, self.high):
            height = self._y(value)
            yield GridLine(
                path=f"M{_unit(left_edge)} {_unit(height)}H{right}",
                x=_unit(left_edge - 7),
                y=_unit(height + 4),
                text=f"{value:g}",
            )

    def _ticks(self) -> Iterator[Label]:
        for seconds in ticks(self._length, max_ticks=MAX_TIMES):
            yield Label(_unit(self._x(seconds)), str(HEIGHT - 5), self.label(seconds))

    def _path(self, points: ChartPoints) -> str:
        path = ""
        for seconds, value in points:
            path += f"{'L' if path else 'M'}{_unit(self._x(seconds))} {_unit(self._y(value))}"
        return path

    def _names(self, ends: Sequence[_LineEnd]) -> Iterator[Label]:
        """A name with its value at the end of each line."""
        # Names must not overlap: from the top down, each is at least a gap below the one before.
        ordered = sorted(ends, key=lambda end: end.height)
        heights = _apart([end.height for end in ordered], low=TOP, high=self._bottom)
        names = short_names([end.line.name for end in ordered], max_characters=MAX_NAME)
        for height, end in zip(heights, ordered, strict=True):
            yield Label(
                x=_unit(self._x(self._length) + 9),
                y=_unit(height + 4),
                text=f"{names[end.line.name]} {end.value:.0f}",
                colour=end.line.colour,
                title=end.line.name,
            )

    def _spans(self) -> Iterator[DrawnSpan]:
        """Below the lines: where the application ran."""
        top = self._bottom + 8
        for bar in self.bars:
            yield span_of(
                bar,
                start=self._x(bar.start),
                end=self._x(bar.end),
                top=top,
                title=f"{bar.name} from {self.label(bar.start)} to {self.label(bar.end)}",
            )


def decision_bar(
    clusters: Sequence[str], *, start: float, end: float, colours: Mapping[str, str]
) -> ChartBar:
    """The bar of a decision. One of several clusters has the colour of the first."""
    first = clusters[0] if clusters else ""
    return ChartBar(
        start=start,
        end=end,
        name=", ".join(clusters) or "nowhere",
        colour=colours.get(first, COLOUR_OF_OTHERS),
    )


def span_of(
    bar: ChartBar, *, start: float, end: float, top: float, title: str, height: int = 18
) -> DrawnSpan:
    """A bar between two positions. Its name is left out where it does not fit."""
    # Names are measured by a mean letter: a drawing is made where no font can be asked.
    fits = bar.name and end - start - 10 >= len(bar.name) * LETTER
    return DrawnSpan(
        colour=bar.colour,
        title=title,
        x=_unit(start),
        y=_unit(top),
        width=_unit(max(end - start - 1.5, 1.0)),
        height=str(height),
        text=bar.name if fits else "",
        middle=_unit((start + end) / 2),
        baseline=_unit(top + 13),
    )


def _unit(value: float) -> str:
    """A number of the drawing's units."""
    return f"{value:.1f}"


def short_names(names: Sequence[str], *, max_characters: int) -> dict[str, str]:
    """Names of at most this many characters that still differ.

    Of a long name the part stays by which it differs from the name that is most like it.
    """
    short: dict[str, str] = {}
    for name in names:
        # The most similar name decides, because it is the one that the shown name must differ from.
        alike = 0
        for other in names:
            if other != name:
                alike = max(alike, _alike(name, other))
        if len(name) <= max_characters:
            short[name] = name
        elif alike + 1 < max_characters:
            short[name] = f"{name[: max_characters - 1]}…"
        else:
            # Two letters before the difference show where it is.
            rest = name[max(0, min(alike - 2, len(name) - max_characters + 1)) :]
            short[name] = (
                f"…{rest}" if len(rest) < max_characters else f"…{rest[: max_characters - 2]}…"
            )
    # Others may become alike by that.
    if len(set(short.values())) < len(short):
        return {name: name for name in names}
    return short


def _alike(name: str, other: str) -> int:
    """The number of characters that both have in common at the beginning."""
    alike = 0
    for letter, letter_of_other in zip_longest(name, other):
        if letter != letter_of_other:
            break
        alike += 1
    return alike


def _apart(heights: Sequence[float], *, low: float, high: float) -> list[float]:
    """Moves sorted positions down to keep the gap, then up if they are outside the chart."""
    apart: list[float] = []
    least = low
    for height in heights:
        apart.append(max(height, least))
        least = apart[-1] + LABEL_GAP
    # From the bottom up, so that names that were moved down push those above them.
    most = high
    for index in reversed(range(len(apart))):
        apart[index] = min(apart[index], most)
        most = apart[index] - LABEL_GAP
    return apart


def _steps(low: float, high: float) -> list[float]:
    """Round values between two others, at most seven."""
    step = next((step for step in (5, 10, 20, 25, 50) if (high - low) / step <= 6), 50)
    # Rounded up: the first line is the first multiple of the step above the lower end.
    first = -(-int(low) // step) * step
    return list(map(float, range(first, int(high) + 1, step)))


def ticks(end: float, *, max_ticks: int) -> list[float]:
    """Round times from 0 to the end, at most this many."""
    # Beyond the longest step, whole days, so that every time is the same time of a day.
    days = -(-int(end) // (86_400 * (max_ticks - 1)))
    step = next((step for step in STEPS if end / step <= max_ticks - 1), days * 86_400)
    return list(map(float, range(0, int(end) + 1, step)))
