"""The frame of a page, which may load nothing, and lines over time as SVG, in the colours of its style."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Final

from gitops_dsf.show.markup import escape

LABEL_GAP: Final = 15
TOP: Final = 26
AXIS: Final = 22
LEFT: Final = 34
RIGHT: Final = 150
"""Space for the names at the ends of the lines."""
NAME_LETTERS: Final = 16
"""Of a name there, beside the value."""
WIDTH: Final = 960
HEIGHT: Final = 330
MOMENTS: Final = 12
"""Most times on the axis."""
SPAN_HEIGHT: Final = 30
STEPS: Final = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400)
"""Seconds between two times on the axis."""
LETTER: Final = 6.8
"""Estimated width of a letter in the chart's units, rather too large."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """One cluster: seconds and values. ``colour`` is a class of the page's style."""

    name: str
    colour: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class Span:
    """A period in which one cluster had the application."""

    start: float
    end: float
    name: str
    colour: str


@dataclass(frozen=True, kw_only=True)
class Chart:
    key: str
    """A prefix that makes the IDs of this chart unique on the page."""
    title: str
    """The title for screen readers, with more detail than the heading beside it."""
    description: str
    lines: Sequence[Line]
    bounds: Sequence[Sequence[tuple[float, float]]]
    """Dashed lines without a name, in pieces: what another cluster must reach."""
    low: float
    high: float
    end: float
    spans: Sequence[Span]
    label: Callable[[float], str]
    """Text of a time, given its seconds since the start."""

    def draw(self) -> str:
        return "".join(self._parts())

    @property
    def _bottom(self) -> float:
        return HEIGHT - AXIS - (SPAN_HEIGHT if self.spans else 0)

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
        key = self.key
        yield (
            f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="{key}-t {key}-d">'
            f'<title id="{key}-t">{escape(self.title)}</title>'
            f'<desc id="{key}-d">{escape(self.description)}</desc>'
        )
        yield from self._grid()
        for piece in self.bounds:
            yield f'<path class="bound" d="{self._path(piece)}"/>'
        for line in self.lines:
            yield f'<path class="line {line.colour}" d="{self._path(line.points)}"/>'
        yield from self._ends()
        yield from self._stretches()
        yield "</svg>"

    def _grid(self) -> Iterator[str]:
        left, right = self._x(0), self._x(self._length)
        for value in _steps(self.low, self.high):
            height = self._y(value)
            yield f'<path class="grid" d="M{left:.1f} {height:.1f}H{right:.1f}"/>'
            yield (
                f'<text class="axis" x="{left - 7:.1f}" y="{height + 4:.1f}"'
                f' text-anchor="end">{value:g}</text>'
            )
        for moment in ticks(self._length, most=MOMENTS):
            yield (
                f'<text class="axis" x="{self._x(moment):.1f}" y="{HEIGHT - 5}"'
                f' text-anchor="middle">{escape(self.label(moment))}</text>'
            )

    def _path(self, points: Sequence[tuple[float, float]]) -> str:
        return "".join(
            f"{'L' if index else 'M'}{self._x(t):.1f} {self._y(v):.1f}"
            for index, (t, v) in enumerate(points)
        )

    def _ends(self) -> Iterator[str]:
        ends = [(self._y(line.points[-1][1]), line) for line in self.lines if line.points]
        for height, line in ends:
            yield (
                f'<circle class="end {line.colour}" cx="{self._x(line.points[-1][0]):.1f}" cy="{height:.1f}"'
                ' r="3.5"/>'
            )
        # Names must not overlap: from the top down, each is at least a gap below the previous one.
        ends.sort(key=itemgetter(0))
        heights = _apart([height for height, _ in ends], low=TOP, high=self._bottom)
        names = short_names([line.name for _, line in ends], most=NAME_LETTERS)
        for at, (_, line) in zip(heights, ends, strict=True):
            text = f"{escape(names[line.name])} {line.points[-1][1]:.0f}"
            yield (
                f'<text class="name {line.colour}" x="{self._x(self._length) + 9:.1f}"'
                f' y="{at + 4:.1f}"><title>{escape(line.name)}</title>{text}</text>'
            )

    def _stretches(self) -> Iterator[str]:
        top = self._bottom + 8
        for span in self.spans:
            left, right = self._x(span.start), self._x(span.end)
            said = f"{span.name} from {self.label(span.start)} to {self.label(span.end)}"
            yield f'<g class="span {span.colour}"><title>{escape(said)}</title>'
            yield (
                f'<rect x="{left:.1f}" y="{top:.1f}" width="{max(right - left - 1.5, 1.0):.1f}" height="18"'
                ' rx="3"/>'
            )
            if span.name and right - left - 10 >= len(span.name) * LETTER:
                yield (
                    f'<text x="{(left + right) / 2:.1f}" y="{top + 13:.1f}"'
                    f' text-anchor="middle">{escape(span.name)}</text>'
                )
            yield "</g>"


def short_names(names: Sequence[str], *, most: int) -> dict[str, str]:
    """Names of at most this many characters that still differ. Of a long one the part stays by which it
    differs from the name that is most like it.
    """
    found: dict[str, str] = {}
    for name in names:
        alike = max((_alike(name, other) for other in names if other != name), default=0)
        if len(name) <= most:
            found[name] = name
        elif alike + 1 < most:
            found[name] = f"{name[: most - 1]}…"
        else:
            # Two letters before the difference show where it is.
            rest = name[max(0, min(alike - 2, len(name) - most + 1)) :]
            found[name] = f"…{rest}" if len(rest) < most else f"…{rest[: most - 2]}…"
    # Others may become alike by that.
    return found if len(set(found.values())) == len(found) else {name: name for name in names}


def _alike(name: str, other: str) -> int:
    """How many characters both begin with."""
    pairs = enumerate(zip(name, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(name), len(other)))


def _apart(heights: list[float], *, low: float, high: float) -> list[float]:
    """Moves sorted positions down to keep the gap, then up if they are outside of the chart."""
    found: list[float] = []
    for height in heights:
        found.append(max(height, found[-1] + LABEL_GAP if found else low))
    for index in reversed(range(len(found))):
        limit = high if index == len(found) - 1 else found[index + 1] - LABEL_GAP
        found[index] = min(found[index], limit)
    return found


def _steps(low: float, high: float) -> list[float]:
    step = next((step for step in (5, 10, 20, 25, 50) if (high - low) / step <= 6), 50)
    first = -(-int(low) // step) * step
    return [float(value) for value in range(first, int(high) + 1, step)]


def ticks(end: float, *, most: int) -> list[float]:
    """Round times from 0 to the end, at most this many."""
    days = -(-int(end) // (86_400 * (most - 1)))
    step = next((step for step in STEPS if end / step <= most - 1), days * 86_400)
    return [float(moment) for moment in range(0, int(end) + 1, step)]


STYLE: Final = Path(__file__).with_name("style.css")
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


def document(title: str, body: str) -> str:
    """A whole page. `title` is text, `body` is HTML."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport"'
        ' content="width=device-width,initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><title>{escape(title)}</title>'
        f"<style>{STYLE.read_text('utf-8')}</style></head><body>{body}</body></html>\n"
    )


def section(heading: str, note: str, content: str, *, anchor: str = "") -> str:
    """A box of the page. `note` and `content` are HTML, `anchor` is its ID."""
    below = f'<p class="muted">{note}</p>' if note else ""
    named = f' id="{anchor}"' if anchor else ""
    return f"<section{named}><h2>{escape(heading)}</h2>{below}{content}</section>"


def facts(pairs: list[tuple[str, str]]) -> str:
    """Short facts side by side: a value and what it is."""
    return f'<ul class="facts">{"".join(f"<li><b>{escape(value)}</b><span>{escape(what)}</span></li>" for value, what in pairs)}</ul>'  # noqa: E501
