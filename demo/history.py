"""The history of a demo: scores, decisions, events, moves, raw scores. Times are Unix seconds."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dsf_wire.rawscores import CLUSTER_LABEL, METRIC, SCORE_NAME_LABEL


@dataclass(frozen=True, kw_only=True)
class Observation:
    """The state of the hub at one moment."""

    time: float
    scores: Mapping[str, Mapping[str, int]]
    """Published score by AddOnPlacementScore name, then by cluster."""
    points: Mapping[str, float]
    """Weighted mean of the scores of each ranked cluster: what the decision compares."""
    stickiness: float
    """Points that the current cluster has in addition."""
    chosen: tuple[str, ...]
    load: Mapping[str, float]
    """CPU use in percent, by cluster."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """A commit, or a change of the load."""

    time: float
    text: str


@dataclass(frozen=True, kw_only=True)
class RecordedMove:
    """A decision that changed."""

    time: float
    origin: tuple[str, ...]
    """Empty for the first decision."""
    target: tuple[str, ...]
    reason: str
    """One sentence with the numbers that decided."""
    cause: str
    """The last event before the move."""


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command as a person would type it, with its output."""

    text: str
    output: str


@dataclass(kw_only=True)
class History:
    """Everything that was observed."""

    observations: list[Observation] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    moves: list[RecordedMove] = field(default_factory=list)

    def add(self, observation: Observation) -> RecordedMove | None:
        """Adds an observation, and the move that it shows."""
        origin: tuple[str, ...] = ()
        if self.observations:
            origin = self.observations[-1].chosen
        self.observations.append(observation)
        if not observation.chosen or origin == observation.chosen:
            return None
        cause = ""
        if self.events:
            cause = self.events[-1].text
        move = RecordedMove(
            time=observation.time,
            origin=origin,
            target=observation.chosen,
            reason=_reason(origin, observation),
            cause=cause,
        )
        self.moves.append(move)
        return move


def _reason(origin: tuple[str, ...], after: Observation) -> str:
    points = after.points
    # With several clusters, the sentence is about the best of them.
    best = max(after.chosen, key=lambda name: points.get(name, float("-inf")))
    if not origin:
        return f"First decision: {best} has the most points, {points[best]:.1f}"
    old = origin[0]
    if old not in points:
        return f"{old} is no longer eligible; {best} has the most points, {points[best]:.1f}"
    lead = points[best] - points[old]
    return (
        f"{best} has {points[best]:.1f} points and {old} has {points[old]:.1f}:"
        f" a lead of {lead:.1f}, {_against(lead, after.stickiness)}"
    )


def _against(lead: float, stickiness: float) -> str:
    """A lead beside the stickiness that it had to overcome.

    Of equal sums OCM takes the first name.
    """
    # Points are quotients of whole sums, and so equal sums can differ in the last digit.
    if math.isclose(lead, stickiness, abs_tol=1e-9):
        return f"exactly the stickiness of {stickiness:g}: a tie, which OCM decides by name"
    if lead > stickiness:
        return f"more than the stickiness of {stickiness:g}"
    return (
        f"less than the stickiness of {stickiness:g} by now: the scores changed after the decision"
    )


class Recording:
    """Raw scores as a metric store would keep them, a sample for each second.

    Times never go back.
    """

    def __init__(self) -> None:
        self._samples: dict[tuple[str, str], dict[int, float]] = {}
        """Samples by score name and cluster, then by second."""

    def add(self, now: float, raw: Mapping[str, Mapping[str, float]]) -> None:
        """Adds raw scores by cluster, then by score name."""
        # Never down: a backtest must not know at a second what was measured only after it.
        second = math.ceil(now)
        for cluster, scores in raw.items():
            for name, value in scores.items():
                samples = self._samples.setdefault((name, cluster), {})
                # A second that was not observed has the value before.
                last = next(reversed(samples), second)
                samples |= dict.fromkeys(range(last + 1, second), samples.get(last, value))
                samples[second] = value

    @property
    def span(self) -> tuple[int, int]:
        """The first second at which every series has a sample, and the last one."""
        series = self._samples.values()
        # Scorers that are added later have no samples before, and a backtest needs all of them.
        first = max(min(samples) for samples in series)
        last = min(max(samples) for samples in series)
        return first, last

    def answer(self) -> dict[str, Any]:
        """The answer that /api/v1/query_range would give, with a point every second."""
        rows: list[dict[str, Any]] = []
        for (name, cluster), samples in sorted(self._samples.items()):
            metric = {"__name__": METRIC, SCORE_NAME_LABEL: name, CLUSTER_LABEL: cluster}
            # A Prometheus writes values as strings, because JSON has no NaN and no infinity.
            values = [(second, repr(value)) for second, value in samples.items()]
            rows.append({"metric": metric, "values": values})
        return {"status": "success", "data": {"resultType": "matrix", "result": rows}}
