"""One revision of a fleet repository, while its history is read.

Names of scores are those of the AddOnPlacementScores. Placements are named by namespace/name.

Not guaranteed: that the history is complete. A backtest begins when all clusters with an early
score have one, and Placements by scores without a history are forgotten.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec
import numpy as np

from dsf_wire.summary import PublishRule
from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.gridpublisher import GridPublisher
from gitops_dsf.backtest.publisher import NO_LABELS
from gitops_dsf.backtest.rawscores import RawValues, Results
from gitops_dsf.backtest.track import Track, Tracks
from gitops_dsf.fleetbacktest.questions import Questions, questions_of
from gitops_dsf.fleetbacktest.span import HistorySpan
from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.pace import Verification, paced_ranking
from gitops_dsf.hub.placements import ranked_by
from gitops_dsf.hub.raw_results import LabelValues
from gitops_dsf.hub.times import timestamp_of
from gitops_dsf.pacing.desired import Paced
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.plan.summaries import summarise
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.views.preview.applied import applied
from gitops_dsf.views.preview.paced import is_paced
from gitops_dsf.views.preview.placements import typed_placements

MIN_GAP: Final = 0.01
"""Missing points are reported from this share on."""
WAITED: Final = 0.1
"""The time after the first score of all within which the first one of a cluster must come, to be
waited for. It is a part of the span.
"""
LATEST: Final = 0.9
"""A score that begins after this part of the span has too little of a past."""
DEFAULT_STEP: Final = 60
"""Seconds between the points of a revision without scorers."""

Histories = Mapping[int | None, Tracks]
"""Published scores by deadband that is tried; None is the key of those with what is written."""


class Beginning(NamedTuple):
    """The time at which a backtest can begin."""

    start: float
    """Unix seconds."""
    waited_for: str
    """Name of the score that begins last; empty if all are known from the start of the span on."""


@dataclass(kw_only=True)
class RevisionHistory:
    """A revision and what is known of its past up to now."""

    title: str
    fleet: CheckedFleet
    span: HistorySpan
    placements: Mapping[str, Placement]
    """Placements as people wrote them: paced ones are on the hub with other weights."""
    paced: Mapping[str, Paced]
    not_asked_for: tuple[str, ...]
    """Paced Placements that are not asked for."""
    ranks: Mapping[str, tuple[str, ...]]
    """The scores that each Placement ranks by."""
    verifications: Mapping[str, Verification]
    """The verifications of Placements whose moves are verified."""
    questions: Questions
    publishers: Mapping[int | None, dict[str, dict[str, GridPublisher]]]
    """Publishers by deadband that is tried (None: as written), by score, then by cluster."""
    unknown: dict[str, str] = field(default_factory=dict)
    """Placements that cannot be decided, and why."""
    missing: dict[str, dict[str, int]] = field(default_factory=dict)
    """Points without a result, by score, then by cluster."""
    leading: dict[str, dict[str, int]] = field(default_factory=dict)
    """The number of these that come before the first result."""
    unread: dict[str, str] = field(default_factory=dict)
    """Scores without a known past, and why. Decisions need those that rank only."""

    @property
    def grid(self) -> TimeGrid:
        """The points of the whole span at which the revision decides."""
        # The shortest interval: no score that ranks changes between two of its points.
        ranking = self._ranking()
        intervals: list[int] = []
        for resource, scorer in self.questions.scorers.items():
            if resource in ranking:
                intervals.append(_interval(scorer))
        return self.span.grid(min(intervals, default=DEFAULT_STEP))

    def _ranking(self) -> frozenset[str]:
        """The scores that rank; others only verify."""
        return frozenset[str]().union(*self.ranks.values())

    def clusters_of(self, resource: str) -> Collection[str]:
        """The clusters on which a score is published."""
        return self.publishers[None][resource]

    def forget(self, reasons: Mapping[str, str]) -> None:
        """Decides no Placement that ranks by one of these scores, and keeps the first reason."""
        for key, resources in self.ranks.items():
            for resource in resources:
                if resource in reasons:
                    self.unknown.setdefault(key, reasons[resource])

    def leave_out(self, resource: str, reason: str) -> None:
        """Goes on without a score, because its history was not read to the end."""
        self.forget({resource: reason})
        self.unread[resource] = reason
        for by_resource in self.publishers.values():
            by_resource.pop(resource, None)
        self.missing.pop(resource, None)

    def add(self, resource: str, first: int, count: int, results: Results) -> None:
        """Takes the raw scores of a score at `count` points of its grid, from `first` on."""
        # A cluster without any result had failed cycles, and its last scores expired.
        nothing: dict[LabelValues, RawValues] = {NO_LABELS: np.full(count, np.nan)}
        missing = self.missing.setdefault(resource, {})
        leading = self.leading.setdefault(resource, {})
        for cluster in self.clusters_of(resource):
            raw_scores = results.get(cluster) or nothing
            for by_resource in self.publishers.values():
                # Other deadbands are tried of scores that rank only.
                if resource in by_resource:
                    by_resource[resource][cluster].add(first, raw_scores)
            if leading.get(cluster, 0) == first:
                is_known = ~np.isnan([*raw_scores.values()]).all(axis=0)
                before = int(is_known.argmax()) if is_known.any() else count
                leading[cluster] = first + before
            # If there are several series, the one with the fewest gaps counts.
            gaps = [int(np.count_nonzero(np.isnan(values))) for values in raw_scores.values()]
            missing[cluster] = missing.get(cluster, 0) + min(gaps)

    def finish(self) -> Histories:
        """The published scores. Forgets Placements by scores that the history does not have."""
        histories: dict[int | None, Tracks] = {}
        for deadband, by_resource in self.publishers.items():
            tracks: dict[str, dict[str, Track]] = {}
            for resource, by_cluster in by_resource.items():
                tracks[resource] = {}
                for cluster, publisher in by_cluster.items():
                    publisher.finish()
                    tracks[resource][cluster] = publisher.track
            histories[deadband] = tracks
        reasons: dict[str, str] = {}
        for resource, of_resource in histories[None].items():
            if of_resource and not any(map(len, of_resource.values())):
                score_name = self.questions.scorers[resource].score_name
                reasons[resource] = f"the history has no result of {score_name} in this time"
        self.forget(reasons)
        self.unread |= reasons
        return histories

    def begin(self, tracks: Tracks, *, earliest: float) -> Beginning:
        """The time when all scores are known, and the score that is the last.

        A cluster whose first score comes long after the others did not exist before, so it is not
        waited for. A score that comes too late decides no Placement. Both are measured by the
        history that there is: `earliest` is its first score.
        """
        grid = self.grid
        length = grid.end - max(grid.start, earliest)
        latest = grid.end - (1 - LATEST) * length
        begins: dict[str, float] = {}
        reasons: dict[str, str] = {}
        for resource, by_cluster in tracks.items():
            firsts = [track.at[0] for track in by_cluster.values() if len(track)]
            waited = min(firsts, default=grid.start) + WAITED * length
            in_time = [first for first in firsts if first <= waited]
            begins[resource] = max(in_time, default=grid.start)
            if begins[resource] > latest:
                score_name = self.questions.scorers[resource].score_name
                since = timestamp_of(begins[resource])
                reasons[resource] = (
                    f"{score_name} begins only at {since}; --from {since} decides the time since"
                    " then"
                )
        self.forget(reasons)
        waited_for = self._last_to_begin(begins, grid)
        if waited_for is None:
            return Beginning(grid.start, "")
        return Beginning(begins[waited_for], self.questions.scorers[waited_for].score_name)

    def _last_to_begin(self, begins: Mapping[str, float], grid: TimeGrid) -> str | None:
        """The score that begins last, of those by which Placements are decided; None for none."""
        ranked: set[str] = set()
        for key, resources in self.ranks.items():
            if key not in self.unknown:
                ranked.update(resources)
        late = [resource for resource in ranked if begins.get(resource, grid.start) > grid.start]
        # If several are equal, the first name is taken.
        return max(sorted(late), key=begins.__getitem__, default=None)

    def gaps(self) -> Iterator[tuple[str, Mapping[str, float]]]:
        """The missing share of points of each score that ranks and has gaps, by cluster.

        A score that verifies is often missing where the application does not run.
        """
        ranking = self._ranking()
        for resource, missing in self.missing.items():
            if resource not in ranking:
                continue
            count = self.span.grid(_interval(self.questions.scorers[resource])).count
            # Before its first result a score did not exist, which is not a gap. If there is no
            # result at all, everything is a gap.
            before = min(self.leading[resource].values())
            before = 0 if before == count else before
            shares: dict[str, float] = {}
            for cluster, points in sorted(missing.items()):
                share = (points - before) / (count - before)
                if share >= MIN_GAP:
                    shares[cluster] = share
            if shares:
                yield resource, shares


def history_of(
    fleet: CheckedFleet,
    *,
    title: str,
    span: HistorySpan,
    before: CheckedFleet | None,
    only: Collection[str] | None,
    cluster_label: str | None,
    deadbands: Sequence[int] = (),
) -> RevisionHistory:
    """A revision whose history is not read yet.

    `before` is the revision that the history is of; None if it is this one. `only` are the
    Placements that are asked for; None means all. `deadbands` are tried beside the written ones.
    """
    typed = typed_placements(fleet, only)
    placements = dict(typed)
    paced: dict[str, Paced] = {}
    verifications: dict[str, Verification] = {}
    for key, placement in typed.items():
        # With the weights on the hub a paced Placement never moves, so the pace is replayed apart.
        ranking = paced_ranking(placement)
        if ranking is not None:
            paced[key] = Paced.of(placement, ranking)
            placements[key] = paced[key].written
            if ranking.verification is not None:
                verifications[key] = ranking.verification
    ranks: dict[str, tuple[str, ...]] = {}
    resources: list[str] = []
    for key, placement in placements.items():
        ranks[key] = tuple(score.resource for score in ranked_by(placement))
        resources.extend(ranks[key])
    ranking_resources = frozenset(resources)
    for verification in verifications.values():
        resources.extend(check.resource for check in verification.checks)
    questions = questions_of(resources, fleet=fleet, before=before, cluster_label=cluster_label)
    # Each deadband publishes other scores of the same raw ones, which are read only once.
    publishers: dict[int | None, dict[str, dict[str, GridPublisher]]] = {}
    for deadband in (None, *deadbands):
        publishers[deadband] = {}
        for resource, scorer in questions.scorers.items():
            if deadband is None or resource in ranking_resources:
                publishers[deadband][resource] = _publishers(fleet, scorer, deadband, span)
    not_asked_for: list[str] = []
    for key in applied(fleet).placements:
        if key not in typed and is_paced(fleet, key):
            not_asked_for.append(key)
    history = RevisionHistory(
        title=title,
        fleet=fleet,
        span=span,
        placements=placements,
        paced=paced,
        not_asked_for=tuple(not_asked_for),
        ranks=ranks,
        verifications=verifications,
        questions=questions,
        publishers=publishers,
    )
    history.forget(questions.reasons)
    history.unread |= questions.reasons
    return history


def _publishers(
    fleet: CheckedFleet, scorer: EffectiveScorer, deadband: int | None, span: HistorySpan
) -> dict[str, GridPublisher]:
    """The publisher of a score on each cluster, by cluster."""
    summary = summarise(scorer)
    if deadband is not None:
        rule = PublishRule(
            deadband=deadband, min_interval_seconds=scorer.spec.publish.min_interval_seconds
        )
        summary = msgspec.structs.replace(summary, publish=rule)
    grid = span.grid(_interval(scorer))
    publishers: dict[str, GridPublisher] = {}
    for cluster in sorted(fleet.runs_on[scorer.name]):
        publishers[cluster] = GridPublisher(scorer=summary, cluster=cluster, grid=grid)
    return publishers


def _interval(scorer: EffectiveScorer) -> int:
    return scorer.spec.scoring.params.interval
