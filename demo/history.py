"""The history of a demo: scores and decisions over time, events, and moves. Times are Unix seconds."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


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
    """An event caused by people or the outside world."""

    time: float
    kind: Literal["start", "commit", "load"]
    text: str


@dataclass(frozen=True, kw_only=True)
class Move:
    """A decision that changed."""

    time: float
    origin: tuple[str, ...]
    """Empty for the first decision."""
    target: tuple[str, ...]
    before: Observation | None
    """The observation of the previous decision, with which scores are compared."""
    after: Observation
    cause: Event | None
    """The last event before the move."""

    @property
    def reason(self) -> str:
        """One sentence with the numbers that decided."""
        best = _best(self.target, self.after.points)
        if not self.origin:
            return f"First decision: {best} has the most points, {self.after.points[best]:.1f}"
        old = self.origin[0]
        if old not in self.after.points:
            return f"{old} is no longer eligible; {best} has the most points, {self.after.points[best]:.1f}"
        lead = self.after.points[best] - self.after.points[old]
        return (
            f"{best} has {self.after.points[best]:.1f} points and {old} has {self.after.points[old]:.1f}:"
            f" a lead of {lead:.1f}, {_against(lead, self.after.stickiness)}"
        )

    def changes(self) -> list[tuple[str, str, int, int]]:
        """(score, cluster, before, after) for the clusters of the move. Only changes of 3 points or more, the
        largest first.
        """
        if self.before is None:
            return []
        found = [
            (name, cluster, self.before.scores[name][cluster], values[cluster])
            for name, values in self.after.scores.items()
            for cluster in (*self.origin, *self.target)
            if cluster in values and cluster in self.before.scores.get(name, {})
        ]
        return sorted(
            (item for item in found if abs(item[3] - item[2]) >= 3), key=lambda item: -abs(item[3] - item[2])
        )


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command as a person would type it, with its output."""

    text: str
    output: str
    code: int


@dataclass(kw_only=True)
class Step:
    """A step of the story."""

    number: int
    title: str
    lines: list[str] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)


@dataclass(kw_only=True)
class History:
    """Everything that the report shows."""

    clusters: tuple[str, ...]
    application: str
    source: str
    """The source of the metrics, for people."""
    observations: list[Observation] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    preview: str = ""
    """The output of `gitops-dsf diff` for the pull request."""
    backtest: str = ""
    """The output of `gitops-dsf backtest` over the time of the demo."""

    @property
    def start(self) -> float:
        """Zero of the report's clock: the first observation."""
        return self.observations[0].time if self.observations else 0.0

    def event(self, event: Event) -> None:
        """Adds an event."""
        self.events.append(event)

    def add(self, observation: Observation) -> Move | None:
        """Adds an observation, and the move that it shows."""
        last = self.observations[-1] if self.observations else None
        self.observations.append(observation)
        if last is not None and last.chosen == observation.chosen:
            return None
        if not observation.chosen:
            return None
        basis = self.moves[-1].after if self.moves else None
        move = Move(
            time=observation.time,
            origin=last.chosen if last else (),
            target=observation.chosen,
            before=self._calm_before(observation.time) or basis,
            after=observation,
            cause=next((item for item in reversed(self.events) if item.time <= observation.time), None),
        )
        self.moves.append(move)
        return move

    def stays(self) -> str | None:
        """Why the application stays although another cluster has more points at the end; None if no other
        cluster has.
        """
        last = self.observations[-1] if self.observations else None
        here = [last.points[name] for name in last.chosen if name in last.points] if last else []
        others = (
            {name: value for name, value in last.points.items() if name not in last.chosen} if last else {}
        )
        if last is None or not here or not others:
            return None
        best = _best(tuple(others), others)
        lead = others[best] - min(here)
        return (
            f"{best} is ahead by {lead:.1f} points, not more than the stickiness of {last.stickiness:g}"
            if lead > 0
            else None
        )

    def _calm_before(self, when: float) -> Observation | None:
        """The last observation before the most recent event: the state before the event."""
        event = next((item for item in reversed(self.events) if item.time <= when), None)
        if event is None:
            return None
        return next((item for item in reversed(self.observations[:-1]) if item.time <= event.time), None)

    def to_dict(self) -> dict[str, Any]:
        """Returns the numbers as JSON data for other programs. Times are seconds since the start."""
        zero = self.start
        return {
            "application": self.application,
            "clusters": list(self.clusters),
            "source": self.source,
            "stays": self.stays(),
            "looks": [
                {
                    "seconds": round(observation.time - zero, 2),
                    "points": {name: round(value, 2) for name, value in observation.points.items()},
                    "scores": {name: dict(values) for name, values in observation.scores.items()},
                    "load": {name: round(value, 1) for name, value in observation.load.items()},
                    "chosen": list(observation.chosen),
                }
                for observation in self.observations
            ],
            "events": [
                {"seconds": round(item.time - zero, 2), "kind": item.kind, "text": item.text}
                for item in self.events
            ],
            "moves": [
                {
                    "seconds": round(item.time - zero, 2),
                    "from": list(item.origin),
                    "to": list(item.target),
                    "reason": item.reason,
                    "cause": item.cause.text if item.cause else None,
                }
                for item in self.moves
            ],
        }


def _best(clusters: tuple[str, ...], points: Mapping[str, float]) -> str:
    return max(clusters, key=lambda name: points.get(name, float("-inf")))


def _against(lead: float, stickiness: float) -> str:
    """Compares the lead of a cluster with the stickiness that it had to overcome. Of clusters with equal sums
    OCM takes the first by name.
    """
    if math.isclose(lead, stickiness, abs_tol=1e-9):
        return f"exactly the stickiness of {stickiness:g}: a tie, which OCM decides by name"
    if lead > stickiness:
        return f"more than the stickiness of {stickiness:g}"
    return f"less than the stickiness of {stickiness:g} by now: the scores changed after the decision"
