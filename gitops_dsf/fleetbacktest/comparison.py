"""Compares the decisions that one or two revisions of a fleet repository would have made.

It names the histories that it needs, takes them page by page, and decides.

Guaranteed: a Placement that could not be decided has a reason, and is never counted as one without
moves. Not guaranteed: that the past would have been like this (`gitops_dsf.backtest.run`).
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
from msgspec import UNSET

from gitops_dsf.backtest.advice import DEADBANDS
from gitops_dsf.backtest.figures import figures, is_short
from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.orders import order_figures
from gitops_dsf.backtest.phases import moves_with_phases
from gitops_dsf.backtest.rawscores import Results
from gitops_dsf.backtest.result import BacktestSide, Figures, OrderFigures, VerifierEstimate
from gitops_dsf.backtest.run import Backtest, run
from gitops_dsf.backtest.track import Tracks, all_tracks
from gitops_dsf.backtest.verification import estimate, not_known
from gitops_dsf.fleetbacktest.advice import advice_on, demands_of
from gitops_dsf.fleetbacktest.history import Beginning, Histories, RevisionHistory, history_of
from gitops_dsf.fleetbacktest.questions import HistoryQuestion
from gitops_dsf.fleetbacktest.result import RevisionResult
from gitops_dsf.fleetbacktest.span import HistorySpan
from gitops_dsf.hub.moves.flapping import WINDOW_SECONDS
from gitops_dsf.hub.multikueue import multikueue_order
from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.snapshots.snapshot import Snapshot
from gitops_dsf.journal.record import Record
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.views.preview.hubstate import hub_state

OUT_OF_TIME: Final = "the time limit was over before it was decided"


class RevisionTitles(NamedTuple):
    """The names of the revisions."""

    base: str
    """Empty without a base."""
    head: str


class _Asking(NamedTuple):
    """A revision that asks a question, and the AddOnPlacementScore about which it asks."""

    revision: RevisionHistory
    resource: str


class RevisionComparison:
    """Takes the history of scores page by page, for one or two revisions at once."""

    def __init__(
        self,
        *,
        head: CheckedFleet,
        base: CheckedFleet | None,
        titles: RevisionTitles,
        span: HistorySpan,
        snapshot: Snapshot | None = None,
        only: Collection[str] | None = None,
        advice: bool = False,
        cluster_label: str | None = None,
        records: Sequence[Record] = (),
    ) -> None:
        """`records` are those of the journal, for demands.

        `cluster_label` names the cluster in series of a store that evaluates queries; None if there
        is no such store.
        """
        self._records = records
        self._snapshot = snapshot
        self._span = span
        self._is_part = only is not None
        self._revisions: list[RevisionHistory] = []
        if base is not None:
            # The history is that of the base, so nothing of it is outdated.
            revision = history_of(
                base,
                title=titles.base,
                span=span,
                before=None,
                only=only,
                cluster_label=cluster_label,
            )
            self._revisions.append(revision)
        head_revision = history_of(
            head,
            title=titles.head,
            span=span,
            before=base,
            only=only,
            cluster_label=cluster_label,
            deadbands=DEADBANDS if advice else (),
        )
        self._revisions.append(head_revision)

    def questions(self) -> Sequence[HistoryQuestion]:
        """All questions. Revisions that ask the same share the answer."""
        questions: set[HistoryQuestion] = set()
        for revision in self._revisions:
            questions.update(revision.questions.by_resource.values())
        return sorted(questions, key=lambda asked: (asked.score_name, asked.step, asked.query))

    def grid(self, question: HistoryQuestion) -> TimeGrid:
        """The points at which the history of a score is needed. Raises UsageError for too many."""
        return self._span.grid(question.step)

    def clusters_of(self, question: HistoryQuestion) -> frozenset[str]:
        """The clusters whose history is needed."""
        clusters: set[str] = set()
        for revision, resource in self._asking(question):
            clusters.update(revision.clusters_of(resource))
        return frozenset(clusters)

    def expected_samples(self) -> int:
        """The smallest number of samples that the history has, if no cluster misses any."""
        samples = 0
        for question in self.questions():
            samples += self.grid(question).count * len(self.clusters_of(question))
        return samples

    def add(self, question: HistoryQuestion, first: int, count: int, results: Results) -> None:
        """Takes the results of a question at `count` points of its grid, from `first` on."""
        for revision, resource in self._asking(question):
            revision.add(resource, first, count, results)

    def leave_out(self, question: HistoryQuestion, reason: str) -> None:
        """Decides no Placement that ranks by a score: its history was not read to the end."""
        for revision, resource in self._asking(question):
            revision.leave_out(resource, reason)

    def results(
        self, *, window: float = WINDOW_SECONDS, stop: Callable[[], bool] = lambda: False
    ) -> tuple[RevisionResult, ...]:
        """Decides all Placements, the base's first, until `stop` is true.

        Only the last revision gets advice. `window` is that of returns, in seconds.
        """
        histories = [revision.finish() for revision in self._revisions]
        # Reading has ended: scores without any result make Placements unknown before the beginning
        # is looked for.
        beginning = self._beginning(histories)
        results: list[RevisionResult] = []
        for revision, of_revision in zip(self._revisions, histories, strict=True):
            backtest = self._run(revision, of_revision[None], beginning.start, stop)
            side = self._side(revision, backtest, of_revision, window=window, stop=stop)
            results.append(
                RevisionResult(
                    side=side,
                    backtest=backtest,
                    waited_for=beginning.waited_for,
                    is_part=self._is_part,
                )
            )
        return tuple(results)

    def _asking(self, question: HistoryQuestion) -> Iterator[_Asking]:
        for revision in self._revisions:
            # Several scores may need one query, which then is asked once for both revisions.
            for resource, own_question in revision.questions.by_resource.items():
                if own_question == question:
                    yield _Asking(revision, resource)

    def _beginning(self, histories: Sequence[Histories]) -> Beginning:
        """The latest beginning of the revisions: both are compared over one span."""
        earliest = math.inf
        for of_revision in histories:
            for track in all_tracks(of_revision[None]):
                if len(track):
                    earliest = min(earliest, track.at[0])
        if earliest == math.inf:
            earliest = self._span.start
        latest = Beginning(self._span.start, "")
        for revision, of_revision in zip(self._revisions, histories, strict=True):
            beginning = revision.begin(of_revision[None], earliest=earliest)
            if beginning.start > latest.start:
                latest = beginning
        return latest

    def _run(
        self, revision: RevisionHistory, tracks: Tracks, begin: float, stop: Callable[[], bool]
    ) -> Backtest:
        span_grid = revision.grid
        # On the grid of the agents' cycles, so that each point is one that they would have had.
        first = max(0, math.ceil((begin - span_grid.start) / span_grid.step))
        # At least one point, also for a score that begins after the last one.
        first = min(first, span_grid.count - 1)
        grid = TimeGrid(
            start=span_grid.at(first), step=span_grid.step, count=span_grid.count - first
        )
        placements: dict[str, Placement] = {}
        for key, placement in revision.placements.items():
            if key not in revision.unknown:
                placements[key] = placement
        # Clusters and taints are those of now. Scores and decisions of now are none of the past.
        state = hub_state(revision.fleet, self._snapshot, scores={}, decisions=(), only=placements)
        return run(
            placements.values(),
            state=state,
            tracks=tracks,
            grid=grid,
            stop=stop,
            paced=revision.paced,
            pace=revision.fleet.repository.spec.pace,
        )

    def _side(
        self,
        revision: RevisionHistory,
        backtest: Backtest,
        histories: Histories,
        *,
        window: float,
        stop: Callable[[], bool],
    ) -> BacktestSide:
        """The part of one revision that is shown."""
        placements = _figures(revision, backtest, window=window, stop=stop)
        side = BacktestSide(
            title=revision.title,
            placements=placements,
            unknown=revision.unknown | _undecided(backtest),
            gaps=dict(revision.gaps()),
            advice={},
            unpaced=_without_pace(revision, backtest),
            verification=_estimates(revision, backtest) or UNSET,
            orders=_orders(backtest, stop=stop) or UNSET,
        )
        # Without other deadbands nothing was tried, and a short history says nothing about
        # settings.
        if len(histories) == 1 or is_short(backtest.grid):
            return side
        paced = {key: paced for key, paced in revision.paced.items() if key not in revision.unknown}
        advice = advice_on(revision.fleet, backtest, histories, window=window, stop=stop)
        demands = demands_of(revision.fleet, backtest, paced, self._records)
        return msgspec.structs.replace(side, advice=dict(advice), demands=dict(demands))


def _figures(
    revision: RevisionHistory, backtest: Backtest, *, window: float, stop: Callable[[], bool]
) -> Mapping[str, Figures]:
    intervals: dict[str, float] = {}
    on_hub: set[str] = set()
    for resource, scorer in revision.questions.scorers.items():
        intervals[resource] = scorer.spec.scoring.params.interval
        if scorer.spec.on_hub:
            on_hub.add(resource)
    # A scorer on the hub scores all clusters in one cycle, so none of them is ahead.
    replayed = moves_with_phases(
        backtest, intervals=intervals, together=frozenset(on_hub), stop=stop
    )
    by_key: dict[str, Figures] = {}
    for key in backtest.lines:
        moves = replayed.get(key, ())
        by_key[key] = figures(backtest, key, window=window, replayed=moves)
    return by_key


def _estimates(
    revision: RevisionHistory, backtest: Backtest
) -> Mapping[str, tuple[VerifierEstimate, ...]]:
    """The number of times that the checks of each verified Placement would have failed."""
    estimates: dict[str, tuple[VerifierEstimate, ...]] = {}
    for key, verification in revision.verifications.items():
        line = backtest.lines.get(key)
        if line is None:
            continue
        of_placement: list[VerifierEstimate] = []
        for check in verification.checks:
            reason = revision.unread.get(check.resource)
            if reason is not None:
                of_placement.append(not_known(check, reason))
            else:
                of_placement.append(estimate(line, check, backtest.scores))
        estimates[key] = tuple(of_placement)
    return estimates


def _orders(backtest: Backtest, *, stop: Callable[[], bool]) -> Mapping[str, OrderFigures]:
    """The order in which the clusters of each Placement with multiKueue would have been."""
    orders: dict[str, OrderFigures] = {}
    for key, line in backtest.lines.items():
        order = multikueue_order(backtest.placements[key].placement)
        if order is None:
            continue
        figures_of_order = order_figures(line, order, backtest.scores, stop=stop)
        if figures_of_order is not None:
            orders[key] = figures_of_order
    return orders


def _undecided(backtest: Backtest) -> dict[str, str]:
    """Placements without a decision, and why."""
    reasons: dict[str, str] = {}
    for key, prepared in backtest.placements.items():
        if key not in backtest.lines:
            reasons[key] = prepared.undecided or OUT_OF_TIME
    return reasons


def _without_pace(revision: RevisionHistory, backtest: Backtest) -> Mapping[str, str]:
    """Paced Placements that take no part in the pace, and why."""
    reasons = dict.fromkeys(revision.not_asked_for, "not asked for")
    for key in revision.paced:
        if key in backtest.paced:
            continue
        if key in backtest.lines:
            reasons[key] = "its filters depend on time or on its decision"
        else:
            reasons[key] = "not decided"
    return reasons
