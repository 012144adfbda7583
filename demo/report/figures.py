"""The charts of a demo, made from its history."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from demo.history import History, Observation
from gitops_dsf.views.page.chart import Band, Chart, Line, Mark, Span
from gitops_dsf.views.page.clock import clock

COLOURS: Final = 6
MOST_POINTS: Final = 400
MOST_MARKS: Final = 10


class Figures:
    """Observations and events on the report's clock."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.observations = thin(history.observations, MOST_POINTS)
        self.end = history.observations[-1].time - history.start if history.observations else 0.0

    def colour(self, cluster: str) -> str:
        """The class of a cluster, the same in every chart."""
        names = self.history.clusters
        return f"c{names.index(cluster) % COLOURS}" if cluster in names else "c0"

    def marks(self) -> list[Mark]:
        """The events that have a number on the page: the last ones, if not all fit into a chart."""
        found = [
            Mark(seconds=event.time - self.history.start, number=number, kind=event.kind, text=event.text)
            for number, event in enumerate(self.history.events, start=1)
            if event.time >= self.history.start
        ]
        return found[-MOST_MARKS:]

    def spans(self) -> list[Span]:
        """Which cluster had the application, and when."""
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
        """The chart of the decision: points of every cluster, stickiness, and which cluster has the
        application.
        """
        values = [value for observation in self.observations for value in observation.points.values()]
        top = [
            observation.points[name] + observation.stickiness
            for observation in self.observations
            for name in observation.chosen
            if name in observation.points
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
            lines=self._lines(lambda observation: observation.points),
            low=float(low),
            high=float(high),
            end=self.end,
            marks=self.marks(),
            spans=spans,
            bands=self._bands(),
        )

    def scores(self) -> list[Chart]:
        """One chart for each score."""
        names = sorted({name for observation in self.observations for name in observation.scores})
        return [
            self._small(f"score-{index}", name, "", partial(_scores_of, name))
            for index, name in enumerate(names)
        ]

    def load(self) -> Chart:
        """The chart of the load."""
        return self._small("load", "CPU use", "%", lambda observation: observation.load)

    def _small(
        self, key: str, title: str, unit: str, values: Callable[[Observation], Mapping[str, float]]
    ) -> Chart:
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
                f"From the first to the last observation: {ends}. The table of numbers below has the values"
                " between."
            ),
            lines=lines,
            low=0.0,
            high=100.0,
            end=self.end,
            marks=self.marks(),
            unit=unit,
        )

    def _lines(self, values: Callable[[Observation], Mapping[str, float]]) -> list[Line]:
        start = self.history.start
        found = []
        for cluster in self.history.clusters:
            points = [
                (observation.time - start, float(values(observation)[cluster]))
                for observation in self.observations
                if cluster in values(observation)
            ]
            if points:
                found.append(Line(name=cluster, colour=self.colour(cluster), points=points))
        return found

    def _bands(self) -> list[Band]:
        """A band for each period: the points that another cluster had to exceed."""
        found: list[Band] = []
        for span in self.spans():
            name = span.name.split(", ")[0]
            inside = [
                (observation.time - self.history.start, observation.points[name])
                for observation in self.observations
                if span.start <= observation.time - self.history.start < span.end + 0.001
                and observation.chosen
                and name in observation.chosen
                and name in observation.points
            ]
            if len(inside) > 1 and self.observations[-1].stickiness > 0:
                found.append(Band(colour=span.colour, points=inside, height=self.observations[-1].stickiness))
        return found


def _scores_of(name: str, observation: Observation) -> Mapping[str, float]:
    return observation.scores.get(name, {})


def thin(observations: Sequence[Observation], most: int) -> list[Observation]:
    """About this number of items at most, evenly spread, always including the last one."""
    if len(observations) <= most:
        return list(observations)
    step = math.ceil(len(observations) / most)
    kept = list(observations[::step])
    return kept if kept[-1] is observations[-1] else [*kept, observations[-1]]
