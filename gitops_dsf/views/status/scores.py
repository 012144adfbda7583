"""Scorers by clusters: what is published, how old it is, and what is missing. Times are those of the hub's
clock.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from gitops_dsf.hub.freshness import LIVE, State, state_of, state_of_absent
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.scores import Score
from gitops_dsf.hub.targets import TargetClusters
from gitops_dsf.hub.timestamp import timestamp
from gitops_dsf.views.status.inputs import Inputs, Part
from gitops_dsf.views.status.model import Cell, ScorerView

NOTHING: Final[Mapping[str, int]] = {}
USUAL: Final = frozenset({State.FRESH, State.EXPIRING, State.MASKED})
"""States without a problem, which are not listed per cluster."""


def scorer_views(
    scorers: Iterable[DynamicScorer], inputs: Inputs, *, cluster: str | None = None
) -> tuple[ScorerView, ...]:
    """Returns every scorer on every cluster, or on one, in order of name."""
    addons = inputs.addons if inputs.knows(Part.ADDONS) else None
    targets = TargetClusters(clusters=inputs.snapshot.clusters, addons=addons, masks=inputs.masks)
    return tuple(
        _view(scorer, targets, inputs, cluster) for scorer in sorted(scorers, key=lambda item: item.name)
    )


def _view(scorer: DynamicScorer, targets: TargetClusters, inputs: Inputs, cluster: str | None) -> ScorerView:
    suspended = (
        "git" if scorer.spec.suspend else "reconciler" if scorer.score_name in inputs.suspended else ""
    )
    known = inputs.knows(Part.SCORES, Part.CLUSTERS)
    column = _Column.of(scorer, targets, inputs, cluster) if known else _Column.nothing(scorer, inputs)
    found = _Sums(column)
    return ScorerView(
        scorer=scorer,
        suspended=suspended,
        known=known,
        counts=found.counts,
        expected=column.expected,
        unusual={state: tuple(sorted(names)) for state, names in found.unusual.items()},
        unexpected=tuple(sorted(found.unexpected)),
        published=column.published.keys(),
        histogram=found.histogram,
        oldest=found.oldest,
        each=column.cells,
        only=cluster,
    )


@dataclass(frozen=True, kw_only=True)
class _Column:
    """One scorer: its scores, and its target clusters."""

    scorer: DynamicScorer
    targets: TargetClusters
    published: Mapping[str, Score]
    # Suspended by the reconciler, scores stay until they expire. Suspended in git, they are removed.
    expected: frozenset[str]
    masked: frozenset[str]
    """Clusters that its selector matches and masks exclude."""
    now: float

    @classmethod
    def of(
        cls, scorer: DynamicScorer, targets: TargetClusters, inputs: Inputs, cluster: str | None
    ) -> "_Column":
        published = inputs.snapshot.scores.get(scorer.resource, {})
        expected = targets.expected(scorer)
        masked = (targets.selected(scorer) & targets.masked(scorer.score_name)) - expected
        if cluster is not None:
            published = {cluster: published[cluster]} if cluster in published else {}
            expected, masked = expected & {cluster}, masked & {cluster}
        return cls(
            scorer=scorer,
            targets=targets,
            published=published,
            expected=expected,
            masked=masked,
            now=inputs.now.timestamp(),
        )

    @classmethod
    def nothing(cls, scorer: DynamicScorer, inputs: Inputs) -> "_Column":
        """A column without known scores."""
        targets = TargetClusters(clusters={}, addons=None, masks=None)
        nobody = frozenset[str]()
        return cls(
            scorer=scorer,
            targets=targets,
            published={},
            expected=nobody,
            masked=nobody,
            now=inputs.now.timestamp(),
        )

    def state(
        self, score: Score, ttl: int, *, known: dict[datetime | None, tuple[State, float | None]]
    ) -> tuple[State, float | None]:
        """State and age. `known` caches them by the end of a score, because thousands end in
        the same second.
        """
        found = known.get(score.valid_until)
        if found is None:
            until = None if score.valid_until is None else score.valid_until.timestamp()
            age = None if until is None else max(0.0, ttl - (until - self.now))
            found = known[score.valid_until] = (state_of(until, filled=True, ttl=ttl, now=self.now), age)
        return found if score.values else (State.EMPTY, found[1])

    def absent(self, cluster: str) -> State:
        """The state of a score that is expected and not published."""
        since = max(self.scorer.created, self.targets.since(cluster, self.scorer))
        return state_of_absent(since=since, interval=self.scorer.interval, now=self.now)

    def cells(self) -> Iterator[Cell]:
        """Cells in order of cluster."""
        known: dict[datetime | None, tuple[State, float | None]] = {}
        ttl = self.scorer.ttl
        for cluster in sorted(self.published.keys() | self.expected | self.masked):
            score, expected = self.published.get(cluster), cluster in self.expected
            if score is not None:
                state, age = self.state(score, ttl, known=known)
                values = dict(score.items())
                yield Cell(
                    cluster=cluster,
                    state=state,
                    values=values,
                    valid_until=None if score.valid_until is None else timestamp(score.valid_until),
                    age_seconds=None if age is None else round(age),
                    expected=expected,
                )
            else:
                state = self.absent(cluster) if expected else State.MASKED
                yield Cell(
                    cluster=cluster,
                    state=state,
                    values=NOTHING,
                    valid_until=None,
                    age_seconds=None,
                    expected=expected,
                )


class _Sums:
    """The sums of a column, computed in one pass."""

    def __init__(self, column: _Column) -> None:
        self.counts: Counter[State] = Counter()
        self.unusual: dict[State, list[str]] = {}
        self.unexpected: list[str] = list(column.published.keys() - column.expected)
        self.histogram: Counter[int] = Counter()
        self.oldest: float | None = None
        self._published(column)
        for cluster in column.expected - column.published.keys():
            self._add(column.absent(cluster), (cluster,))
        self.counts[State.MASKED] += len(column.masked - column.published.keys())
        self.counts = +self.counts

    def _published(self, column: _Column) -> None:
        known: dict[datetime | None, tuple[State, float | None]] = {}
        # By validUntil and values, which are shared: a fleet has few different ones.
        by_parts: dict[tuple[datetime | None, tuple[int, ...]], list[str]] = {}
        for cluster, score in column.published.items():
            by_parts.setdefault((score.valid_until, score.values), []).append(cluster)
        ttl = column.scorer.ttl
        for (until, values), clusters in by_parts.items():
            state, age = column.state(Score(until, (), values), ttl, known=known)
            self._add(state, clusters)
            if age is not None and (self.oldest is None or age > self.oldest):
                self.oldest = age
            if state in LIVE:
                for value in values:
                    self.histogram[value] += len(clusters)

    def _add(self, state: State, clusters: Collection[str]) -> None:
        self.counts[state] += len(clusters)
        if state not in USUAL:
            self.unusual.setdefault(state, []).extend(clusters)
