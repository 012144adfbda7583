"""Lines over time as SVG, in the colours of the page's style."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final, NamedTuple

from gitops_dsf.show.markup import escape

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
STEPS: Final = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400)
"""Seconds between two times on the axis."""
LETTER: Final = 6.8
"""Estimated width of a letter in the chart's units, rather too large."""

Points = Sequence[tuple[float, float]]
"""Seconds since the start of the chart, and values."""


@dataclass(frozen=True, kw_only=True)
class ChartLine:
    """The values of one cluster. ``colour`` is a class of the page's style."""

    name: str
    colour: str
    points: Points


@dataclass(frozen=True, kw_only=True)
class ChartBar:
    """A period in which one cluster had the application, in seconds since the start."""

    start: float
    end: float
    name: str
    colour: str


class _LineEnd(NamedTuple):
    """Where a line ends."""

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
    bounds: Sequence[Points]
    """Dashed lines without a name, in pieces: what another cluster must reach."""
    low: float
    high: float
    end: float
    bars: Sequence[ChartBar]
    label: Callable[[float], str]
    """Text of a time, given its seconds since the start."""

    def draw(self) -> str:
        """The chart as SVG."""
        return "".join(self._parts())

    @property
    def _bottom(self) -> float:
        return HEIGHT - AXIS - (BAR_HEIGHT if self.bars else 0)

    @property
    def _length(self) -> float:
        return max(self.end, 1.0)

    def _x(self, seconds: float) -> float:
        part = min(max(seconds / self._length, 0.0), 1.0)
        return LEFT + part * (WIDTH - LEFT - RIGHT)

    def _y(self, value: float) -> float:
        part = (value - self.low) / (self.high - self.low)
        return self._bottom - min(max(part, 0.0), 1.0) * (self._bottom - TOP)

    def _parts(self) -> Iterator[str]:
        yield (
            f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
            f' aria-labelledby="{self.key}-t {self.key}-d">'
            f'<title id="{self.key}-t">{escape(self.title)}</title>'
            f'<desc id="{self.key}-d">{escape(self.description)}</desc>'
        )
        yield from self._grid()
        for piece in self.bounds:
            yield f'<path class="bound" d="{self._path(piece)}"/>'
        for line in self.lines:
            yield f'<path class="line {line.colour}" d="{self._path(line.points)}"/>'
        yield from self._ends()
        yield from self._bars()
        yield "</svg>"

    def _grid(self) -> Iterator[str]:
        left_edge = self._x(0)
        right = self._x(self._length)
        for value in _steps(self.low, self.high):
            height = self._y(value)
            yield f'<path class="grid" d="M{left_edge:.1f} {height:.1f}H{right:.1f}"/>'
            yield (
                f'<text class="axis" x="{left_edge - 7:.1f}" y="{height + 4:.1f}"'
                f' text-anchor="end">{value:g}</text>'
            )
        for seconds in ticks(self._length, most=MAX_TIMES):
            yield (
                f'<text class="axis" x="{self._x(seconds):.1f}" y="{HEIGHT - 5}"'
                f' text-anchor="middle">{escape(self.label(seconds))}</text>'
            )

    def _path(self, points: Points) -> str:
        path = ""
        for seconds, value in points:
            path += f"{'L' if path else 'M'}{self._x(seconds):.1f} {self._y(value):.1f}"
        return path

    def _ends(self) -> Iterator[str]:
        """A dot and a name at the end of each line."""
        ends = [_LineEnd(self._y(line.points[-1][1]), line) for line in self.lines if line.points]
        for end in ends:
            yield (
                f'<circle class="end {end.line.colour}" cx="{self._x(end.seconds):.1f}"'
                f' cy="{end.height:.1f}" r="3.5"/>'
            )
        # Names must not overlap: from the top down, each is at least a gap below the one before.
        ends.sort(key=lambda end: end.height)
        heights = _apart([end.height for end in ends], low=TOP, high=self._bottom)
        names = short_names([end.line.name for end in ends], most=MAX_NAME)
        for height, end in zip(heights, ends, strict=True):
            name = escape(names[end.line.name])
            yield (
                f'<text class="name {end.line.colour}" x="{self._x(self._length) + 9:.1f}"'
                f' y="{height + 4:.1f}"><title>{escape(end.line.name)}</title>'
                f"{name} {end.value:.0f}</text>"
            )

    def _bars(self) -> Iterator[str]:
        """Below the lines: where the application ran."""
        top = self._bottom + 8
        for bar in self.bars:
            left_edge = self._x(bar.start)
            right = self._x(bar.end)
            yield f'<g class="span {bar.colour}"><title>{escape(self._text(bar))}</title>'
            yield (
                f'<rect x="{left_edge:.1f}" y="{top:.1f}"'
                f' width="{max(right - left_edge - 1.5, 1.0):.1f}" height="18" rx="3"/>'
            )
            # A name that does not fit is only in the title.
            if bar.name and right - left_edge - 10 >= len(bar.name) * LETTER:
                yield (
                    f'<text x="{(left_edge + right) / 2:.1f}" y="{top + 13:.1f}"'
                    f' text-anchor="middle">{escape(bar.name)}</text>'
                )
            yield "</g>"

    def _text(self, bar: ChartBar) -> str:
        return f"{bar.name} from {self.label(bar.start)} to {self.label(bar.end)}"


def short_names(names: Sequence[str], *, most: int) -> dict[str, str]:
    """Names of at most this many characters that still differ.

    Of a long name the part stays by which it differs from the name that is most like it.
    """
    short: dict[str, str] = {}
    for name in names:
        # The name that is most alike decides, because it is the one to be told apart from.
        alike = max((_alike(name, other) for other in names if other != name), default=0)
        if len(name) <= most:
            short[name] = name
        elif alike + 1 < most:
            short[name] = f"{name[: most - 1]}…"
        else:
            # Two letters before the difference show where it is.
            rest = name[max(0, min(alike - 2, len(name) - most + 1)) :]
            short[name] = f"…{rest}" if len(rest) < most else f"…{rest[: most - 2]}…"
    # Others may become alike by that.
    if len(set(short.values())) < len(short):
        return {name: name for name in names}
    return short


def _alike(name: str, other: str) -> int:
    """How many characters both begin with."""
    alike = 0
    for letter, letter_of_other in zip_longest(name, other):
        if letter != letter_of_other:
            break
        alike += 1
    return alike


def _apart(heights: Sequence[float], *, low: float, high: float) -> list[float]:
    """Moves sorted positions down to keep the gap, then up if they are outside of the chart."""
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
    first = -(-int(low) // step) * step
    return list(map(float, range(first, int(high) + 1, step)))


def ticks(end: float, *, most: int) -> list[float]:
    """Round times from 0 to the end, at most this many."""
    days = -(-int(end) // (86_400 * (most - 1)))
    step = next((step for step in STEPS if end / step <= most - 1), days * 86_400)
    return list(map(float, range(0, int(end) + 1, step)))
