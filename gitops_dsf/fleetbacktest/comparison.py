"""Prepares a backtest of one or two revisions of a fleet repository, feeds it with history, and compares."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec
import numpy as np

from dsf_wire import query
from dsf_wire.summary import SCORED_BY_API, PublishRule
from gitops_dsf.backtest.advice import DEADBANDS
from gitops_dsf.backtest.figures import figures, is_short
from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.gridpublisher import GridPublisher
from gitops_dsf.backtest.phases import moves_with_phases
from gitops_dsf.backtest.publisher import Labels
from gitops_dsf.backtest.rawscores import Results, Values
from gitops_dsf.backtest.result import BacktestResult, BacktestSide, BacktestSpan
from gitops_dsf.backtest.run import Backtest, run
from gitops_dsf.backtest.track import Track, Tracks
from gitops_dsf.errors import UsageError
from gitops_dsf.fleetbacktest.advice import advice_on, demands_of
from gitops_dsf.hub.moves.flapping import WINDOW_SECONDS
from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.pace import paced_ranking
from gitops_dsf.hub.placements import ranked_by
from gitops_dsf.hub.snapshots.snapshot import Snapshot
from gitops_dsf.hub.times import timestamp_of
from gitops_dsf.journal.record import Record
from gitops_dsf.pacing.desired import Paced
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.plan.summaries import cluster_label, summarise
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.views.preview.applied import applied
from gitops_dsf.views.preview.hubstate import hub_state
from gitops_dsf.views.preview.paced import is_paced
from gitops_dsf.views.preview.placements import typed_placements
from gitops_dsf.views.preview.scorershift import raw_causes

SHOWN_GAP: Final = 0.01
"""Missing points are told from this share on."""
MOST_POINTS: Final = 1_000_000
"""Points of a grid: two years of minutes."""
WAITED: Final = 0.1
"""Clusters whose first score comes within this part of the span after the first one of all are waited for."""
LATEST: Final = 0.9
"""A score that begins after this part of the span has too little of a past."""
OUT_OF_TIME: Final = "the time limit was over before it was decided"
_RANGES: Final = (
    "agents score at moments of their own: the numbers in brackets are the fewest and the most moves with"
    " four sets of such moments"
)
_LIMITS: Final = (
    "an application that moves takes its load with it; the scores of the past do not know that",
    "clusters, labels and taints are those of now, and clusters that did not exist have no scores",
    "several results with equal labels were exported once, so an aggregation over them cannot be repeated",
)
_NOTHING: Final[Labels] = ("",) * 7


@dataclass(frozen=True, kw_only=True)
class HistoryQuestion:
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
    parameters: tuple[tuple[str, str], ...] = ()
    """With a query: the URL parameters of its source."""
    fails_on_partial: bool = False
    """With a query: whether the scorer takes no answer in which the source says that data is missing."""


@dataclass(kw_only=True)
class _Side:
    """One revision, while its history is read. Names of scores are those of the AddOnPlacementScores."""

    title: str
    fleet: CheckedFleet
    placements: Mapping[str, Placement]
    """By namespace/name, with the weights that people wrote."""
    paced: Mapping[str, Paced]
    alone: tuple[str, ...]
    """Paced Placements that are not asked for."""
    ranks: Mapping[str, tuple[str, ...]]
    unknown: dict[str, str] = field(default_factory=dict)
    """Placements that cannot be decided, and why."""
    scorers: dict[str, EffectiveScorer] = field(default_factory=dict)
    """By score."""
    asked: dict[str, HistoryQuestion] = field(default_factory=dict)
    """By score."""
    publications: dict[int | None, dict[str, dict[str, GridPublisher]]] = field(
        default_factory=dict
    )
    """By deadband that is tried (None: as written), by score, then by cluster."""
    missing: dict[str, dict[str, int]] = field(default_factory=dict)
    """Points without a result, by score, then by cluster."""
    leading: dict[str, dict[str, int]] = field(default_factory=dict)
    """How many of these come before the first result."""

    def forget(self, reasons: Mapping[str, str]) -> None:
        """Decides no Placement that ranks by one of these scores, and says why."""
        for key, resources in self.ranks.items():
            for resource in resources:
                if resource in reasons:
                    self.unknown.setdefault(key, reasons[resource])

    def add(self, resource: str, first: int, count: int, results: Results) -> None:
        nothing: dict[Labels, Values] = {_NOTHING: np.full(count, np.nan)}
        missing, leading = (
            self.missing.setdefault(resource, {}),
            self.leading.setdefault(resource, {}),
        )
        for cluster in self.publications[None][resource]:
            found = results.get(cluster) or nothing
            for publications in self.publications.values():
                publications[resource][cluster].add(first, found)
            if leading.get(cluster, 0) == first:
                known = ~np.isnan([*found.values()]).all(axis=0)
                leading[cluster] = first + (int(known.argmax()) if known.any() else count)
            points = min(int(np.count_nonzero(np.isnan(each))) for each in found.values())
            missing[cluster] = missing.get(cluster, 0) + points

    def tracks(self) -> dict[int | None, Tracks]:
        """What was published, by deadband. Forgets Placements by scores of which the history has nothing."""
        found = dict[int | None, Tracks]()
        for deadband, by_resource in self.publications.items():
            for publication in (
                item for by_cluster in by_resource.values() for item in by_cluster.values()
            ):
                publication.finish()
            found[deadband] = {
                resource: {cluster: item.track for cluster, item in by_cluster.items()}
                for resource, by_cluster in by_resource.items()
            }
        self.forget(
            {
                resource: f"the history has no result of {self.scorers[resource].score_name} in this time"
                for resource, tracks in found[None].items()
                if tracks and not any(map(len, tracks.values()))
            }
        )
        return found

    def begin(self, tracks: Tracks, grid: TimeGrid, *, earliest: float) -> tuple[float, str]:
        """When all scores are known, and which is the last; empty if they are from the start. A cluster whose
        first score comes long after the others did not exist before. Too late a score decides no Placement.
        What is long and late is measured by the history that there is: `earliest` is its first score.
        """
        length = grid.end - max(grid.start, earliest)
        begins: dict[str, float] = {}
        for resource, by_cluster in tracks.items():
            firsts = [track.at[0] for track in by_cluster.values() if len(track)]
            waited = min(firsts, default=grid.start) + WAITED * length
            begins[resource] = max((at for at in firsts if at <= waited), default=grid.start)
        latest = grid.end - (1 - LATEST) * length
        late = {resource: timestamp_of(at) for resource, at in begins.items() if at > latest}
        reasons = {
            resource: f"begins only at {at}; --from {at} decides the time since then"
            for resource, at in late.items()
        }
        self.forget(
            {key: f"{self.scorers[key].score_name} {reason}" for key, reason in reasons.items()}
        )
        ranked = {
            each for key, found in self.ranks.items() if key not in self.unknown for each in found
        }
        waiting = sorted(each for each in ranked if begins.get(each, grid.start) > grid.start)
        last = max(waiting, key=begins.__getitem__, default=None)
        return (grid.start, "") if last is None else (begins[last], self.scorers[last].score_name)


@dataclass(frozen=True, kw_only=True)
class RevisionResult:
    """What one revision would have decided."""

    side: BacktestSide
    """What is told of it, by namespace/name of the Placement."""
    backtest: Backtest
    waited_for: str
    """Name of the score whose beginning is the start of the grid; empty if that is the start of the span."""
    is_part: bool
    """Whether only some Placements were asked for."""

    @property
    def grid(self) -> TimeGrid:
        return self.backtest.grid


def document(results: Sequence[RevisionResult], *, notes: Sequence[str] = ()) -> BacktestResult:
    head, grid = results[-1], results[-1].grid
    return BacktestResult(
        span=BacktestSpan(
            start=grid.start, end=grid.end, step=grid.step, waited_for=head.waited_for
        ),
        base=results[0].side if len(results) > 1 else None,
        head=head.side,
        notes=notes,
        limits=limits(results),
    )


def limits(results: Sequence[RevisionResult]) -> tuple[str, ...]:
    """What a backtest cannot know. That of moments of the agents only where it shows a range of moves."""
    ranges = [item.moves_range for each in results for item in each.side.placements.values()]
    shown = any(found is not None and found[0] < found[1] for found in ranges)
    return (_RANGES, *_LIMITS) if shown else _LIMITS


class RevisionComparison:
    """Takes the history of scores page by page, for one or two revisions at once."""

    def __init__(
        self,
        *,
        head: CheckedFleet,
        base: CheckedFleet | None,
        titles: tuple[str, str],
        start: float,
        end: float,
        snapshot: Snapshot | None = None,
        only: Collection[str] | None = None,
        advice: bool = False,
        can_query: bool = False,
        records: Sequence[Record] = (),
    ) -> None:
        """`can_query`: a store evaluates queries. `records`: of the journal, for demands."""
        self._records, self._snapshot, self._can_query = records, snapshot, can_query
        self._start, self._end = start, end
        self._is_part = only is not None
        self._sides = [] if base is None else [self._side(base, titles[0], before=None, only=only)]
        tried = DEADBANDS if advice else ()
        self._sides.append(self._side(head, titles[1], before=base, only=only, tried=tried))

    def asked(self) -> Sequence[HistoryQuestion]:
        found = {asked for side in self._sides for asked in side.asked.values()}
        return sorted(found, key=lambda each: (each.score_name, each.step, each.query))

    def grid(self, step: float) -> TimeGrid:
        first = math.ceil(self._start / step) * step
        count = math.floor((self._end - first) / step) + 1
        if count < 1 or count > MOST_POINTS:
            points = f"{max(0, count)} points of {step:g} s"
            raise UsageError(
                f"between start and end are {points}; write a span with 1 to {MOST_POINTS:,}"
            )
        return TimeGrid(start=first, step=step, count=count)

    def add(self, asked: HistoryQuestion, first: int, count: int, results: Results) -> None:
        """Takes the results of a score at `count` points of its grid, from `first` on."""
        for side, resource in self._asking(asked):
            side.add(resource, first, count, results)

    def leave_out(self, asked: HistoryQuestion, reason: str) -> None:
        """Decides no Placement that ranks by a score, because its history was not read to the end."""
        for side, resource in self._asking(asked):
            side.forget({resource: reason})
            for publications in side.publications.values():
                publications.pop(resource, None)
            side.missing.pop(resource, None)

    def results(
        self, *, window: float = WINDOW_SECONDS, stop: Callable[[], bool] = lambda: False
    ) -> tuple[RevisionResult, ...]:
        """Decides all Placements, the base's first, until `stop` is true. Only the last side gets advice."""
        histories = [side.tracks() for side in self._sides]
        firsts = (
            track.at[0] for found in histories for track in _tracks_in(found[None]) if len(track)
        )
        earliest = min(firsts, default=self._start)
        begin, waited_for = self._start, ""
        for side, found in zip(self._sides, histories, strict=True):
            at, score = side.begin(found[None], self._whole(side), earliest=earliest)
            if at > begin:
                begin, waited_for = at, score
        results = []
        for side, found in zip(self._sides, histories, strict=True):
            backtest = self._run(side, found[None], begin, stop)
            told = self._told(side, backtest, found, window=window, stop=stop)
            results.append(
                RevisionResult(
                    side=told, backtest=backtest, waited_for=waited_for, is_part=self._is_part
                )
            )
        return tuple(results)

    def expected_samples(self) -> int:
        """How many samples the history has at least, if no cluster misses any."""
        return sum(
            self.grid(asked.step).count * len(self.clusters_of(asked)) for asked in self.asked()
        )

    def clusters_of(self, asked: HistoryQuestion) -> frozenset[str]:
        return frozenset(
            cluster
            for side, resource in self._asking(asked)
            for cluster in side.publications[None][resource]
        )

    def _asking(self, asked: HistoryQuestion) -> Iterator[tuple[_Side, str]]:
        """The sides that need the history of a score, each with the name of its AddOnPlacementScore."""
        for side in self._sides:
            for resource, known in side.asked.items():
                if known == asked:
                    yield side, resource

    def _whole(self, side: _Side) -> TimeGrid:
        """The points of the whole span at which a side decides."""
        intervals = (item.spec.scoring.params.interval for item in side.scorers.values())
        return self.grid(min(intervals, default=60))

    def _side(
        self,
        fleet: CheckedFleet,
        title: str,
        *,
        before: CheckedFleet | None,
        only: Collection[str] | None,
        tried: Sequence[int] = (),
    ) -> _Side:
        found = typed_placements(fleet, only)
        paced = {
            key: Paced.of(item, ranking)
            for key, item in found.items()
            if (ranking := paced_ranking(item)) is not None
        }
        placements = {
            key: paced[key].written if key in paced else item for key, item in found.items()
        }
        ranks = {
            key: tuple(each.resource for each in ranked_by(item))
            for key, item in placements.items()
        }
        side = _Side(
            title=title,
            fleet=fleet,
            placements=placements,
            paced=paced,
            alone=tuple(
                key
                for key in applied(fleet).placements
                if key not in found and is_paced(fleet, key)
            ),
            ranks=ranks,
        )
        reasons: dict[str, str] = {}
        for resource in dict.fromkeys(each for resources in ranks.values() for each in resources):
            item = fleet.scorer_by_resource.get(resource)
            if item is None:
                reasons[resource] = f"no scorer of this repository publishes {resource}"
                continue
            causes = _causes(item, before)
            anew = self._anew(item, fleet) if causes else None
            if causes and anew is None:
                reasons[resource] = f"{item.name}: {causes}"
                continue
            side.scorers[resource] = item
            side.asked[resource] = anew or HistoryQuestion(
                score_name=item.score_name, step=item.spec.scoring.params.interval
            )
        side.forget(reasons)
        for deadband in (None, *tried):
            side.publications[deadband] = {
                resource: self._publications(fleet, item, deadband)
                for resource, item in side.scorers.items()
            }
        return side

    def _anew(self, item: EffectiveScorer, fleet: CheckedFleet) -> HistoryQuestion | None:
        """The question that evaluates a changed query over the past. None if that is not possible: the store
        has the metrics of all clusters only for scorers on the hub, and a scoring API cannot be asked again.
        """
        label = item.spec.source.cluster_label
        if (
            not self._can_query
            or not item.spec.on_hub
            or item.scoring_type == SCORED_BY_API
            or label is None
        ):
            return None
        hub = fleet.hub_scoring
        if hub is None or len(query.split(item.spec.source.params.query)) != 1:
            return None
        identity = cluster_label(label).identity
        # A MetricSource has one variant for the hub scorer.
        asking = fleet.by_variant[item.name][0]
        return HistoryQuestion(
            score_name=item.score_name,
            step=item.spec.scoring.params.interval,
            query=item.spec.source.params.query,
            label=label.name,
            parameters=tuple(asking.source_parameters.items()),
            fails_on_partial=asking.on_partial == "Fail",
            clusters=tuple(
                (each.values[identity] if identity else each.name, each.name)
                for each in hub.clusters
                if not identity or identity in each.values
            ),
        )

    def _publications(
        self, fleet: CheckedFleet, item: EffectiveScorer, deadband: int | None
    ) -> dict[str, GridPublisher]:
        summary, grid = summarise(item), self.grid(item.spec.scoring.params.interval)
        if deadband is not None:
            rule = PublishRule(
                deadband=deadband, min_interval_seconds=item.spec.publish.min_interval_seconds
            )
            summary = msgspec.structs.replace(summary, publish=rule)
        return {
            cluster: GridPublisher(scorer=summary, cluster=cluster, grid=grid)
            for cluster in sorted(fleet.runs_on[item.name])
        }

    def _run(self, side: _Side, tracks: Tracks, begin: float, stop: Callable[[], bool]) -> Backtest:
        whole = self._whole(side)
        number = min(max(0, math.ceil((begin - whole.start) / whole.step)), whole.count - 1)
        grid = TimeGrid(start=whole.at(number), step=whole.step, count=whole.count - number)
        known = {key: item for key, item in side.placements.items() if key not in side.unknown}
        state = hub_state(side.fleet, self._snapshot, scores={}, decisions=(), only=known)
        written = side.fleet.repository.spec.pace
        return run(
            known.values(),
            state=state,
            tracks=tracks,
            grid=grid,
            stop=stop,
            paced=side.paced,
            pace=written,
        )

    def _told(
        self,
        side: _Side,
        found: Backtest,
        histories: Mapping[int | None, Tracks],
        *,
        window: float,
        stop: Callable[[], bool],
    ) -> BacktestSide:
        replayed = moves_with_phases(
            found,
            intervals={
                name: item.spec.scoring.params.interval for name, item in side.scorers.items()
            },
            at_once=frozenset(name for name, item in side.scorers.items() if item.spec.on_hub),
            stop=stop,
        )
        others = {key: item for key, item in found.contests.items() if key not in found.lines}
        undecided = {key: item.undecided or OUT_OF_TIME for key, item in others.items()}
        advised = len(histories) > 1 and not is_short(found.grid)
        known = {key: item for key, item in side.paced.items() if key not in side.unknown}
        return BacktestSide(
            title=side.title,
            placements={
                key: figures(found, key, window=window, replayed=replayed.get(key, ()))
                for key in found.lines
            },
            unknown=side.unknown | undecided,
            gaps=dict(self._gaps(side)),
            advice=dict(advice_on(side.fleet, found, histories, window=window, stop=stop))
            if advised
            else {},
            demands=dict(demands_of(side.fleet, found, known, self._records)) if advised else {},
            unpaced=dict.fromkeys(side.alone, "not asked for")
            | {
                key: "its filters depend on time or on its decision"
                if key in found.lines
                else "not decided"
                for key in side.paced
                if key not in found.paced
            },
        )

    def _gaps(self, side: _Side) -> Iterator[tuple[str, Mapping[str, float]]]:
        for resource, missing in side.missing.items():
            count = self.grid(side.scorers[resource].spec.scoring.params.interval).count
            # A score that did not exist yet has no gap. Where there is no result at all, everything is one.
            before = min(side.leading[resource].values())
            before = 0 if before == count else before
            shares = {
                name: (points - before) / (count - before)
                for name, points in sorted(missing.items())
            }
            if shown := {name: share for name, share in shares.items() if share >= SHOWN_GAP}:
                yield resource, shown


def _tracks_in(tracks: Tracks) -> Iterator[Track]:
    return (track for by_cluster in tracks.values() for track in by_cluster.values())


def _causes(item: EffectiveScorer, before: CheckedFleet | None) -> str:
    """Why the history of a scorer says nothing about its changed definition; empty if it does."""
    old = before.scorer_by_name.get(item.name) if before is not None else None
    if before is not None and old is None:
        return "it is new, so it has no history"
    causes = ", ".join(raw_causes(old, item)) if old is not None else ""
    return (
        causes
        and f"{causes} changed, so the raw scores of the past are those of another definition"
    )
