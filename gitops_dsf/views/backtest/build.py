"""Prepares a backtest of one or two revisions of a fleet repository, feeds it with history, and compares."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec
import numpy as np

from dsf_wire import query
from dsf_wire.summary import SCORED_BY_API, PublishRule
from gitops_dsf.backtest.advice import DEADBANDS, Stickiness, advise
from gitops_dsf.backtest.contest import Contest
from gitops_dsf.backtest.decisions import DecisionLine
from gitops_dsf.backtest.figures import figures
from gitops_dsf.backtest.grid import Grid
from gitops_dsf.backtest.lapses import Tracks
from gitops_dsf.backtest.phases import moves_with_phases
from gitops_dsf.backtest.publication import Publication, add_page
from gitops_dsf.backtest.publisher import Labels
from gitops_dsf.backtest.rawscores import Page, Values
from gitops_dsf.backtest.result import Advice, AdvisedField, Figures, Trial
from gitops_dsf.backtest.run import Backtest, run
from gitops_dsf.backtest.vectorised import ScoreColumns
from gitops_dsf.hub.flapping import WINDOW_SECONDS
from gitops_dsf.hub.placements import ranked_by
from gitops_dsf.hub.snapshot import Snapshot
from gitops_dsf.hub.timestamp import timestamp_of
from gitops_dsf.plan.summaries import cluster_label, summarise
from gitops_dsf.resolve.stickiness import expressible
from gitops_dsf.resolve.types import EffectiveScorer, ResolvedPlacement
from gitops_dsf.views.preview.hub import hub_state, typed_placements
from gitops_dsf.views.preview.scorers import raw_causes
from gitops_dsf.views.preview.version import FleetVersion

SHOWN_GAP: Final = 0.01
"""Missing points are told from this share on."""
MOST_POINTS: Final = 1_000_000
"""Points of a grid: two years of minutes."""
WAITED: Final = 0.1
"""Clusters whose first score comes within this part of the span after the first one of all are waited for."""
LATEST: Final = 0.9
"""A score that begins after this part of the span has too little of a past."""
OUT_OF_TIME: Final = "the time limit was over before it was decided"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A score whose history is needed."""

    score_name: str
    step: int
    """Seconds between two points: the interval of the scorer."""
    query: str = ""
    """A query to evaluate anew; empty for the raw scores that agents exported."""
    label: str = ""
    """With a query: the label of the series that names the cluster."""
    clusters: tuple[tuple[str, str], ...] = ()
    """With a query: values of the label, and the clusters that they mean."""


@dataclass(kw_only=True)
class Side:
    """One revision, while its history is read."""

    title: str
    fleet: FleetVersion
    keys: tuple[str, ...]
    """namespace/name of the Placements."""
    unknown: dict[str, str]
    """Placements that cannot be decided, and why."""
    publications: dict[int | None, dict[str, dict[str, Publication]]]
    """By deadband that is tried (None: as written), by name of the AddOnPlacementScore, then by cluster."""
    scorers: dict[str, EffectiveScorer]
    """By name of the AddOnPlacementScore."""
    asked: dict[str, Asked] = field(default_factory=dict)
    """By name of the AddOnPlacementScore."""
    missing: dict[str, dict[str, int]] = field(default_factory=dict)
    """Points without a result, by name of the AddOnPlacementScore, then by cluster."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """What one revision would have decided."""

    title: str
    fleet: FleetVersion
    grid: Grid
    waited_for: str
    """Name of the score whose beginning is the start of the grid; empty if that is the start of the span."""
    contests: Mapping[str, Contest]
    """By namespace/name of the Placement."""
    lines: Mapping[str, DecisionLine]
    """The same keys, without those that are unknown."""
    figures: Mapping[str, Figures]
    """The same keys as `lines`."""
    unknown: Mapping[str, str]
    """Placements that cannot be decided, and why."""
    gaps: Mapping[str, Mapping[str, float]]
    """The share of points without a result of each cluster that misses any, in order of name, by name of the
    AddOnPlacementScore.
    """
    tracks: Tracks
    columns: ScoreColumns
    advice: Mapping[str, Advice]
    """By namespace/name of the Placement, without those for which there was no time; empty if no advice was
    asked for.
    """


class HistoryError(ValueError):
    """The asked span of time makes no sense."""


class BacktestBuilder:
    """Takes the history of scores page by page, for one or two revisions at once."""

    def __init__(
        self,
        *,
        head: FleetVersion,
        base: FleetVersion | None,
        titles: tuple[str, str],
        start: float,
        end: float,
        snapshot: Snapshot | None = None,
        only: Collection[str] | None = None,
        advice: bool = False,
        can_query: bool = False,
    ) -> None:
        """`can_query` says that the history comes from a store that evaluates queries."""
        self._snapshot = snapshot
        self._can_query = can_query
        self._tried: tuple[int | None, ...] = (None, *DEADBANDS) if advice else (None,)
        self._start, self._end = start, end
        self._head = head
        sides = [(base, titles[0]), (head, titles[1])]
        self._sides = [
            self._side(fleet, title, before=base if fleet is head else None, only=only)
            for fleet, title in sides
            if fleet is not None
        ]

    def asked(self) -> Sequence[Asked]:
        """The scores whose history is needed, in order of name."""
        found = {asked for side in self._sides for asked in side.asked.values()}
        return sorted(found, key=lambda each: (each.score_name, each.step, each.query))

    def grid(self, step: float) -> Grid:
        """The points of a scorer: multiples of its interval within the span."""
        first = math.ceil(self._start / step) * step
        count = math.floor((self._end - first) / step) + 1
        if count < 1 or count > MOST_POINTS:
            msg = (
                f"between start and end are {max(0, count)} points of {step:g} s; write a span with 1 to"
                f" {MOST_POINTS:,}"
            )
            raise HistoryError(msg)
        return Grid(start=first, step=step, count=count)

    def add(self, asked: Asked, page: Page) -> None:
        """Takes a page of the history of a score."""
        for side in self._sides:
            for resource, known in side.asked.items():
                if known == asked:
                    _add(side, resource, page)

    def leave_out(self, asked: Asked, reason: str) -> None:
        """Decides no Placement that ranks by a score, because its history was not read to the end."""
        for side in self._sides:
            resources = {resource for resource, known in side.asked.items() if known == asked}
            for key, placement in typed_placements(side.fleet, side.keys).items():
                if any(each.resource in resources for each in ranked_by(placement)):
                    side.unknown.setdefault(key, reason)
            for resource in resources:
                for publications in side.publications.values():
                    publications.pop(resource, None)
                side.missing.pop(resource, None)

    def results(
        self, *, window: float = WINDOW_SECONDS, stop: Callable[[], bool] = lambda: False
    ) -> tuple[Result, ...]:
        """Decides all Placements: those of the base first, if there is one. Only the last one gets advice.
        When `stop` becomes true, the rest is not decided.
        """
        histories = [
            {deadband: _tracks(found) for deadband, found in side.publications.items()}
            for side in self._sides
        ]
        begin = Begin(at=self._start, score="")
        for side, found in zip(self._sides, histories, strict=True):
            _forget_without_past(side, found[None])
            begin = max(begin, _begin(side, found[None], self._whole(side)), key=lambda each: each.at)
        return tuple(
            self._result(side, found, begin, window=window, stop=stop)
            for side, found in zip(self._sides, histories, strict=True)
        )

    def expected_samples(self) -> int:
        """How many samples the history has at least, if no cluster misses any."""
        return sum(self.grid(asked.step).count * len(self.clusters_of(asked)) for asked in self.asked())

    def clusters_of(self, asked: Asked) -> frozenset[str]:
        """The clusters whose scores are of use."""
        return frozenset(
            cluster
            for side in self._sides
            for resource, known in side.asked.items()
            if known == asked
            for cluster in side.publications[None][resource]
        )

    def _whole(self, side: Side) -> Grid:
        """The points of the whole span at which a side decides."""
        return self.grid(min((item.interval for item in side.scorers.values()), default=60))

    def _side(
        self, fleet: FleetVersion, title: str, *, before: FleetVersion | None, only: Collection[str] | None
    ) -> Side:
        keys = tuple(key for key in fleet.placements if only is None or key in only)
        side = Side(title=title, fleet=fleet, keys=keys, unknown={}, publications={}, scorers={})
        for key, placement in typed_placements(fleet, keys).items():
            for each in ranked_by(placement):
                item = fleet.by_resource.get(each.resource)
                if item is None:
                    side.unknown.setdefault(key, f"no scorer of this repository publishes {each.resource}")
                    continue
                causes = _causes(item, before)
                anew = self._anew(item, fleet) if causes else None
                if causes and anew is None:
                    side.unknown.setdefault(key, f"{item.name}: {causes}")
                    continue
                side.scorers[each.resource] = item
                side.asked[each.resource] = anew or Asked(score_name=item.score_name, step=item.interval)
        dimensions = _dimensions(fleet, keys)
        for deadband in self._tried if fleet is self._head else (None,):
            side.publications[deadband] = {
                resource: self._publications(fleet, item, deadband, dimensions[resource])
                for resource, item in side.scorers.items()
            }
        return side

    def _anew(self, item: EffectiveScorer, fleet: FleetVersion) -> Asked | None:
        """The question that evaluates a changed query over the past. None if that is not possible: the store
        has the metrics of all clusters only for scorers on the hub, and a scoring API cannot be asked again.
        """
        label = item.spec.source.cluster_label
        if not self._can_query or not item.on_hub or item.scoring_type == SCORED_BY_API or label is None:
            return None
        hub = fleet.plan.hub_scoring
        if hub is None or len(query.split(item.query)) != 1:
            return None
        identity = cluster_label(label).identity
        return Asked(
            score_name=item.score_name,
            step=item.interval,
            query=item.query,
            label=label.name,
            clusters=tuple(
                (each.values[identity] if identity else each.name, each.name)
                for each in hub.clusters
                if not identity or identity in each.values
            ),
        )

    def _publications(
        self, fleet: FleetVersion, item: EffectiveScorer, deadband: int | None, keep: Sequence[str]
    ) -> dict[str, Publication]:
        summary, grid = summarise(item), self.grid(item.interval)
        if deadband is not None:
            rule = PublishRule(deadband=deadband, min_interval_seconds=item.spec.publish.min_interval_seconds)
            summary = msgspec.structs.replace(summary, publish=rule)
        return {
            cluster: Publication(scorer=summary, cluster=cluster, grid=grid, keep=keep)
            for cluster in sorted(fleet.runs_on[item.name])
        }

    def _result(
        self,
        side: Side,
        histories: Mapping[int | None, Tracks],
        begin: "Begin",
        *,
        window: float,
        stop: Callable[[], bool],
    ) -> Result:
        tracks, grid = histories[None], _from(begin.at, self._whole(side))
        known = [key for key in side.keys if key not in side.unknown]
        state = hub_state(side.fleet, self._snapshot, scores={}, only=known)
        placements = typed_placements(side.fleet, known).values()
        found = run(placements, state=state, tracks=tracks, grid=grid, stop=stop)
        columns = found.columns
        replayed = moves_with_phases(
            [found.contests[key] for key in found.lines],
            tracks=tracks,
            grid=grid,
            intervals={name: item.interval for name, item in side.scorers.items()},
            at_once=frozenset(name for name, item in side.scorers.items() if item.on_hub),
            stop=stop,
        )
        return Result(
            title=side.title,
            fleet=side.fleet,
            grid=grid,
            waited_for=begin.score,
            contests=found.contests,
            lines=found.lines,
            figures={
                key: figures(
                    line,
                    contest=found.contests[key],
                    columns=columns,
                    grid=grid,
                    window=window,
                    replayed=replayed.get(key, ()),
                )
                for key, line in found.lines.items()
            },
            unknown=side.unknown
            | {
                key: item.undecided or OUT_OF_TIME
                for key, item in found.contests.items()
                if key not in found.lines
            },
            gaps=dict(_gaps(side, self)),
            tracks=tracks,
            columns=columns,
            advice=dict(_advice(side, found, histories, window, stop)) if len(histories) > 1 else {},
        )


def _tracks(publications: Mapping[str, Mapping[str, Publication]]) -> Tracks:
    for by_cluster in publications.values():
        for publication in by_cluster.values():
            publication.finish()
    return {
        resource: {cluster: item.track() for cluster, item in by_cluster.items()}
        for resource, by_cluster in publications.items()
    }


def _forget_without_past(side: Side, tracks: Tracks) -> None:
    """Decides no Placement that ranks by a score of which the history has nothing on any cluster: the metric
    or its label is called otherwise, or the scorer did not run.
    """
    without = {name for name, found in tracks.items() if found and not any(map(len, found.values()))}
    for key, placement in typed_placements(side.fleet, side.keys).items():
        for each in ranked_by(placement):
            if each.resource in without:
                score = side.scorers[each.resource].score_name
                side.unknown.setdefault(key, f"the history has no result of {score} in this time")


@dataclass(frozen=True, kw_only=True, slots=True)
class Begin:
    """When all scores are known."""

    at: float
    score: str
    """The name of the one that is known last."""


def _begin(side: Side, tracks: Tracks, grid: Grid) -> Begin:
    """When all scores are known by which a side ranks. A cluster that has its first score long after the
    others did not exist before. Placements that rank by a score that begins too late are not decided.
    """
    begins: dict[str, float] = {}
    for resource, by_cluster in tracks.items():
        firsts = [track.at[0] for track in by_cluster.values() if len(track)]
        waited = min(firsts, default=grid.start) + WAITED * (grid.end - grid.start)
        begins[resource] = max((at for at in firsts if at <= waited), default=grid.start)
    latest = grid.start + LATEST * (grid.end - grid.start)
    ranked: set[str] = set()
    for key, placement in typed_placements(side.fleet, side.keys).items():
        resources = {each.resource for each in ranked_by(placement)} & begins.keys()
        for resource in sorted(resources):
            if begins[resource] > latest:
                score = side.scorers[resource].score_name
                moment = timestamp_of(begins[resource])
                side.unknown.setdefault(
                    key, f"{score} begins only at {moment}; --from {moment} decides the time since then"
                )
        if key not in side.unknown:
            ranked |= resources
    last = max(sorted(ranked), key=begins.__getitem__, default=None)
    if last is None or begins[last] <= grid.start:
        return Begin(at=grid.start, score="")
    return Begin(at=begins[last], score=side.scorers[last].score_name)


def _from(begin: float, grid: Grid) -> Grid:
    """The points of a grid from a moment on."""
    number = min(max(0, math.ceil((begin - grid.start) / grid.step)), grid.count - 1)
    return Grid(start=grid.at(number), step=grid.step, count=grid.count - number)


def _causes(item: EffectiveScorer, before: FleetVersion | None) -> str:
    """Why the history of a scorer says nothing about its changed definition; empty if it does."""
    old = before.scorers.get(item.name) if before is not None else None
    if before is not None and old is None:
        return "it is new, so it has no history"
    causes = raw_causes(old, item) if old is not None else ()
    return (
        f"{', '.join(causes)} changed, so the raw scores of the past are those of another definition"
        if causes
        else ""
    )


def _dimensions(fleet: FleetVersion, keys: Collection[str]) -> Mapping[str, Sequence[str]]:
    found: dict[str, set[str]] = {}
    for placement in typed_placements(fleet, keys).values():
        for each in ranked_by(placement):
            found.setdefault(each.resource, set()).add(each.dimension)
    return {resource: sorted(names) for resource, names in found.items()}


def _add(side: Side, resource: str, page: Page) -> None:
    nothing: dict[Labels, Values] = {_NOWHERE: np.full(page.count, np.nan)}
    results = {cluster: page.results.get(cluster) or nothing for cluster in side.publications[None][resource]}
    for publications in side.publications.values():
        add_page(publications[resource], page.first, results)
    missing = side.missing.setdefault(resource, {})
    for cluster, found in results.items():
        points = min(int(np.count_nonzero(np.isnan(each))) for each in found.values())
        missing[cluster] = missing.get(cluster, 0) + points


_NOWHERE: Final = ("",) * 7


def _gaps(side: Side, builder: BacktestBuilder) -> Iterator[tuple[str, Mapping[str, float]]]:
    for resource, missing in side.missing.items():
        count = builder.grid(side.scorers[resource].interval).count
        shares = {
            cluster: points / count
            for cluster, points in sorted(missing.items())
            if points >= SHOWN_GAP * count
        }
        if shares:
            yield resource, shares


def _advice(
    side: Side,
    found: Backtest,
    histories: Mapping[int | None, Tracks],
    window: float,
    stop: Callable[[], bool],
) -> Iterator[tuple[str, Advice]]:
    for item in side.fleet.resolved.placements:
        contest = found.contests.get(f"{item.namespace}/{item.name}")
        if contest is None or contest.special or contest.key not in found.lines:
            continue
        values = expressible([score.weight for score in item.scores])
        advice = advise(
            contest,
            values=[
                Stickiness(points=points, factor=weights.factor, steady=weights.steady)
                for points, weights in values.items()
            ],
            written=Stickiness(
                points=item.ranking.stickiness, factor=item.score_factor, steady=item.steady_weight
            ),
            histories=histories,
            grid=found.grid,
            window=window,
            stop=stop,
        )
        if advice is not None:
            fields = tuple(_fields(advice.recommended, item, side.fleet))
            yield contest.key, msgspec.structs.replace(advice, fields=fields)


def _fields(setting: Trial, item: ResolvedPlacement, fleet: FleetVersion) -> Iterator[AdvisedField]:
    """What to write to follow the advice for one Placement; nothing if that is what is written."""
    key = f"{item.namespace}/{item.name}"
    if setting.stickiness != item.ranking.stickiness:
        position = item.written.at("spec", "stickiness")
        yield AdvisedField(
            file=position.file,
            line=position.line,
            field="spec.stickiness",
            before=item.ranking.stickiness,
            after=setting.stickiness,
        )
    if setting.deadband is None:
        return
    for name in sorted({score.scorer for score in item.scores}):
        scorer = fleet.scorers[name]
        if scorer.spec.publish.deadband != setting.deadband:
            yield AdvisedField(
                file=scorer.position.file,
                line=scorer.position.line,
                field="spec.publish.deadband",
                before=scorer.spec.publish.deadband,
                after=setting.deadband,
                also=tuple(
                    other
                    for other, placement in typed_placements(fleet).items()
                    if other != key
                    and any(each.resource == scorer.resource_name for each in ranked_by(placement))
                ),
            )
