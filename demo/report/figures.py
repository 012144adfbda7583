"""The charts of a demo, made of its history."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from demo.history import History, Look
from demo.report.chart import Band, Chart, Line, Mark, Span
from demo.report.clock import clock

COLOURS: Final = 6
MOST_POINTS: Final = 400
MOST_MARKS: Final = 10


class Figures:
    """Looks and events on the report's clock."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.looks = thin(history.looks, MOST_POINTS)
        self.end = history.looks[-1].time - history.start if history.looks else 0.0

    def colour(self, cluster: str) -> str:
        """The class of a cluster, the same in every chart."""
        names = self.history.clusters
        return f"c{names.index(cluster) % COLOURS}" if cluster in names else "c0"

    def marks(self) -> list[Mark]:
        """Events that the page numbers: the last ones, where there are more than a chart can hold."""
        found = [
            Mark(seconds=event.time - self.history.start, number=number, kind=event.kind, text=event.text)
            for number, event in enumerate(self.history.events, start=1)
            if event.time >= self.history.start
        ]
        return found[-MOST_MARKS:]

    def spans(self) -> list[Span]:
        """Who had the application, and when."""
        moves = self.history.moves
        found = []
        for index, move in enumerate(moves):
            until = moves[index + 1].time if index + 1 < len(moves) else self.history.start + self.end
            if until < self.history.start:
                continue
            name = ", ".join(move.target)
            found.append(
                Span(
                    start=max(move.time - self.history.start, 0.0),
                    end=until - self.history.start,
                    name=name,
                    colour=self.colour(move.target[0]),
                )
            )
        return found

    def points(self) -> Chart:
        """The chart of the decision: points of every cluster, stickiness, and who has the application."""
        values = [value for look in self.looks for value in look.points.values()]
        top = [
            look.points[name] + look.stickiness
            for look in self.looks
            for name in look.chosen
            if name in look.points
        ]
        low = math.floor((min(values, default=0.0) - 2) / 10) * 10
        high = math.ceil((max([*values, *top], default=100.0) + 1) / 10) * 10
        spans = self.spans()
        told = "; ".join(f"{span.name} from {clock(span.start)} to {clock(span.end)}" for span in spans)
        return Chart(
            key="points",
            heading="Points of each cluster",
            title=f"Points of each cluster and where {self.history.application} runs",
            description=(
                f"Lines of the weighted mean of the scores of {len(self.history.clusters)} clusters. "
                f"{self.history.application} runs on {told}. The table of numbers below has the values."
            ),
            lines=self._lines(lambda look: look.points),
            low=float(low),
            high=float(high),
            end=self.end,
            marks=self.marks(),
            spans=spans,
            bands=self._bands(),
        )

    def scores(self) -> list[Chart]:
        """One chart for each score."""
        names = sorted({name for look in self.looks for name in look.scores})
        return [
            self._small(f"score-{index}", name, "", partial(_scores_of, name))
            for index, name in enumerate(names)
        ]

    def load(self) -> Chart:
        """The input of it all."""
        return self._small("load", "CPU use", "%", lambda look: look.load)

    def _small(self, key: str, title: str, unit: str, values: Callable[[Look], Mapping[str, float]]) -> Chart:
        lines = self._lines(values)
        ends = "; ".join(
            f"{line.name} {line.points[0][1]:.0f} to {line.points[-1][1]:.0f}"
            for line in lines
            if line.points
        )
        return Chart(
            key=key,
            heading=title,
            title=f"{title} of each cluster",
            description=(
                f"From the first to the last look: {ends}. The table of numbers below has the values between."
            ),
            lines=lines,
            low=0.0,
            high=100.0,
            end=self.end,
            marks=self.marks(),
            unit=unit,
        )

    def _lines(self, values: Callable[[Look], Mapping[str, float]]) -> list[Line]:
        start = self.history.start
        found = []
        for cluster in self.history.clusters:
            points = [
                (look.time - start, float(values(look)[cluster]))
                for look in self.looks
                if cluster in values(look)
            ]
            if points:
                found.append(Line(name=cluster, colour=self.colour(cluster), points=points))
        return found

    def _bands(self) -> list[Band]:
        """A band for each stretch: what a rival had to rise above."""
        found: list[Band] = []
        for span in self.spans():
            name = span.name.split(", ")[0]
            inside = [
                (look.time - self.history.start, look.points[name])
                for look in self.looks
                if span.start <= look.time - self.history.start < span.end + 0.001
                and look.chosen
                and name in look.chosen
                and name in look.points
            ]
            if len(inside) > 1 and self.looks[-1].stickiness > 0:
                found.append(Band(colour=span.colour, points=inside, height=self.looks[-1].stickiness))
        return found


def _scores_of(name: str, look: Look) -> Mapping[str, float]:
    return look.scores.get(name, {})


def thin(looks: Sequence[Look], most: int) -> list[Look]:
    """At most about so many, evenly spread, the last one always among them."""
    if len(looks) <= most:
        return list(looks)
    step = math.ceil(len(looks) / most)
    kept = list(looks[::step])
    return kept if kept[-1] is looks[-1] else [*kept, looks[-1]]
