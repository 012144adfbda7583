"""What was seen during a demo: scores and decisions over time, what happened, and who moved. Times are Unix
seconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True)
class Look:
    """One look at the hub."""

    time: float
    scores: Mapping[str, Mapping[str, int]]
    """Published score by AddOnPlacementScore name, then by cluster."""
    points: Mapping[str, float]
    """Weighted mean of the scores of each ranked cluster: what the decision compares."""
    stickiness: float
    """Points that the present cluster has on top."""
    chosen: tuple[str, ...]
    load: Mapping[str, float]
    """CPU use in percent, by cluster."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that people or the world did."""

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
    before: Look | None
    """When the decision before this one was made: what the scores are compared with."""
    after: Look
    cause: Event | None
    """The last event before it."""

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
            f"{best} has {self.after.points[best]:.1f} points and {old} has {self.after.points[old]:.1f}: "
            f"a lead of {lead:.1f}, more than the stickiness of {self.after.stickiness:g}"
        )

    def changes(self) -> list[tuple[str, str, int, int]]:
        """(score, cluster, before, after) for the clusters that take part; those that changed by 3 points or
        more, the largest first.
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
    """A command that was run, as a person would type it, with what it said."""

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
    """Everything that the report is made of."""

    clusters: tuple[str, ...]
    application: str
    source: str
    """Where the metrics came from, for people."""
    looks: list[Look] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    preview: str = ""
    """What `gitops-dsf diff` said of the pull request."""

    @property
    def start(self) -> float:
        """Zero of the report's clock: the first look."""
        return self.looks[0].time if self.looks else 0.0

    def event(self, event: Event) -> None:
        """Remembers an event."""
        self.events.append(event)

    def look(self, look: Look) -> Move | None:
        """Remembers a look, and the move that it shows."""
        last = self.looks[-1] if self.looks else None
        self.looks.append(look)
        if last is not None and last.chosen == look.chosen:
            return None
        if not look.chosen:
            return None
        basis = self.moves[-1].after if self.moves else None
        move = Move(
            time=look.time,
            origin=last.chosen if last else (),
            target=look.chosen,
            before=self._calm_before(look.time) or basis,
            after=look,
            cause=next((item for item in reversed(self.events) if item.time <= look.time), None),
        )
        self.moves.append(move)
        return move

    def stays(self) -> str | None:
        """Why the application stays although another cluster has more points at the end; None where
        none has.
        """
        last = self.looks[-1] if self.looks else None
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

    def _calm_before(self, when: float) -> Look | None:
        """The last look before the event that came before a moment: the state that the event found."""
        event = next((item for item in reversed(self.events) if item.time <= when), None)
        if event is None:
            return None
        return next((item for item in reversed(self.looks[:-1]) if item.time <= event.time), None)

    def to_dict(self) -> dict[str, Any]:
        """The numbers as JSON data, for other programs; seconds since the start."""
        zero = self.start
        return {
            "application": self.application,
            "clusters": list(self.clusters),
            "source": self.source,
            "stays": self.stays(),
            "looks": [
                {
                    "seconds": round(look.time - zero, 2),
                    "points": {name: round(value, 2) for name, value in look.points.items()},
                    "scores": {name: dict(values) for name, values in look.scores.items()},
                    "load": {name: round(value, 1) for name, value in look.load.items()},
                    "chosen": list(look.chosen),
                }
                for look in self.looks
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
