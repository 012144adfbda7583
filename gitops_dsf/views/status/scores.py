"""Scorers by clusters: what is published, how old it is by the hub's clock, and what is missing."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Final

from gitops_dsf.hub.metadata import timestamp
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.scores import LIVE, Score, State, state_of, state_of_absent
from gitops_dsf.hub.targets import TargetClusters
from gitops_dsf.views.status.inputs import Inputs, Part
from gitops_dsf.views.status.model import Cell, ScorerView

USUAL: Final = frozenset({State.FRESH, State.EXPIRING, State.MASKED})
"""States without a problem, which are not listed per cluster."""


def scorer_views(
    scorers: Iterable[DynamicScorer], inputs: Inputs, *, cluster: str | None = None
) -> tuple[ScorerView, ...]:
    """Returns every scorer on every cluster, or on one, in order of name."""
    addons = inputs.addons if inputs.knows(Part.ADDONS) else None
    targets = TargetClusters(clusters=inputs.snapshot.clusters, addons=addons, masks=inputs.masks)
    return tuple(
        _view(_column(scorer, targets, inputs, cluster), inputs)
        for scorer in sorted(scorers, key=lambda item: item.name)
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

    def entries(self) -> Iterator[tuple[str, Score | None, State, float | None]]:
        """Cluster, score, state and age, in order of cluster."""
        # By the end of a score, because thousands end in the same second.
        known: dict[datetime | None, tuple[State, float | None]] = {}
        # They are published in this order but for those that are missing, so sorting has little to do.
        missing = (self.expected | self.masked) - self.published.keys()
        for cluster in sorted(chain(self.published, missing)):
            score = self.published.get(cluster)
            if score is None:
                state = State.MASKED
                if cluster in self.expected:
                    since = max(self.scorer.created, self.targets.since(cluster, self.scorer))
                    state = state_of_absent(since=since, interval=self.scorer.interval, now=self.now)
                yield cluster, None, state, None
                continue
            found = known.get(score.valid_until)
            if found is None:
                found = known[score.valid_until] = self._published(score.valid_until)
            yield cluster, score, found[0] if score.values else State.EMPTY, found[1]

    def _published(self, valid_until: datetime | None) -> tuple[State, float | None]:
        ttl, until = self.scorer.ttl, None if valid_until is None else valid_until.timestamp()
        age = None if until is None else max(0.0, ttl - (until - self.now))
        return state_of(until, filled=True, ttl=ttl, now=self.now), age

    def cells(self) -> Iterator[Cell]:
        for cluster, score, state, age in self.entries():
            until = score.valid_until if score is not None else None
            yield Cell(
                cluster=cluster,
                state=state,
                values=dict(score.items()) if score is not None else {},
                valid_until=None if until is None else timestamp(until),
                age_seconds=None if age is None else round(age),
                expected=cluster in self.expected,
            )


def _column(scorer: DynamicScorer, targets: TargetClusters, inputs: Inputs, cluster: str | None) -> _Column:
    published: Mapping[str, Score] = {}
    expected = masked = frozenset[str]()
    if inputs.knows(Part.SCORES, Part.CLUSTERS):
        published = inputs.snapshot.scores.get(scorer.resource, {})
        expected = targets.expected(scorer)
        masked = (targets.selected(scorer) & targets.masked(scorer.score_name)) - expected
    if cluster is not None:
        published = {cluster: published[cluster]} if cluster in published else {}
        expected, masked = expected & {cluster}, masked & {cluster}
    return _Column(
        scorer=scorer,
        targets=targets,
        published=published,
        expected=expected,
        masked=masked,
        now=inputs.now.timestamp(),
    )


def _view(column: _Column, inputs: Inputs) -> ScorerView:
    scorer = column.scorer
    counts = Counter[State]()
    unusual: dict[State, list[str]] = {}
    live, ages = list[tuple[int, ...]](), set[float]()
    for cluster, score, state, age in column.entries():
        counts[state] += 1
        if state not in USUAL:
            unusual.setdefault(state, []).append(cluster)
        if score is not None and state in LIVE:
            live.append(score.values)
        if age is not None:
            ages.add(age)
    return ScorerView(
        scorer=scorer,
        suspended=(
            "git" if scorer.spec.suspend else "reconciler" if scorer.score_name in inputs.suspended else ""
        ),
        known=inputs.knows(Part.SCORES, Part.CLUSTERS),
        counts=counts,
        expected=column.expected,
        unusual={state: tuple(names) for state, names in unusual.items()},
        unexpected=tuple(sorted(column.published.keys() - column.expected)),
        published=column.published.keys(),
        histogram=Counter(chain.from_iterable(live)),
        oldest=max(ages, default=None),
        cells=column.cells,
    )
