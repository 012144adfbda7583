"""All metrics of the process, in one registry.

docs/operate/monitoring.md explains them. A series whose scorer, cluster or Placement is gone is
removed (`GaugeSet`); counters start again with each process.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from gitops_dsf.pacing.ledger import VerificationOutcome

PREFIX: Final = "gitops_dsf_reconciler"


class GaugeSet:
    """A gauge whose series are always those of the last call of `set`."""

    def __init__(self, gauge: Gauge) -> None:
        self._gauge = gauge
        self._series: dict[Any, float] = {}

    def set(self, values: Mapping[Any, float]) -> None:
        """Shows these values by their labels (tuples), and removes every other series."""
        if values == self._series:
            return
        # A series that stayed would show the last value of a scorer or cluster that is gone.
        for labels in self._series.keys() - values.keys():
            self._gauge.remove(*labels)
        for labels, value in values.items():
            if self._series.get(labels) != value:
                self._gauge.labels(*labels).set(value)
        self._series = dict(values)


class _SeriesMaker:
    """Makes the series of a registry. Their names begin with `PREFIX`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def gauge(self, name: str, words: str, *labels: str) -> Gauge:
        return Gauge(f"{PREFIX}_{name}", words, labels, registry=self._registry)

    def gauges(self, name: str, words: str, *labels: str) -> GaugeSet:
        return GaugeSet(self.gauge(name, words, *labels))

    def counter(self, name: str, words: str, *labels: str) -> Counter:
        # The client library appends _total to the name of each counter.
        return Counter(f"{PREFIX}_{name}", words, labels, registry=self._registry)

    def histogram(self, name: str, words: str, *labels: str, buckets: Sequence[float]) -> Histogram:
        return Histogram(
            f"{PREFIX}_{name}", words, labels, buckets=buckets, registry=self._registry
        )


class MultiKueueMetrics:
    """The order of clusters for Kueue, by MultiKueueConfig."""

    def __init__(self, make: _SeriesMaker) -> None:
        self.first = make.gauges(
            "multikueue_first",
            "1 for the cluster that Kueue offers jobs first, by MultiKueueConfig.",
            "config",
            "cluster",
        )
        self.reorders = make.counter(
            "multikueue_reorders",
            "Times that the clusters of a MultiKueueConfig were reordered.",
            "config",
        )
        self.left_out = make.gauges(
            "multikueue_left_out",
            "Eligible clusters that a MultiKueueConfig has no room for, of 20.",
            "config",
        )
        self.refused = make.gauges(
            "multikueue_refused",
            "1 while the clusters of a MultiKueueConfig are not ordered: it belongs to another"
            " program, another Placement orders it, or the hub refuses to read or write it.",
            "config",
        )


class DrainMetrics:
    """The series of clusters that are drained."""

    def __init__(self, make: _SeriesMaker) -> None:
        self.left = make.gauges(
            "maintenance_left",
            "Paced Placements that are still on a cluster that is drained.",
            "cluster",
        )
        self.late = make.gauges(
            "maintenance_late", "1 if a drain will not be done when its window ends.", "cluster"
        )


class VerificationMetrics:
    """The series of verified moves, and of the fleet that stops when too many return."""

    def __init__(self, make: _SeriesMaker) -> None:
        self.verifying = make.gauge(
            "moves_verifying",
            "Moves whose new copy is healthy, and whose checks have not decided yet.",
        )
        self.overdue = make.gauges(
            "moves_verification_overdue_seconds",
            "Seconds that a move has been verified beyond its verifySeconds: the result of its"
            " checks is unknown, and onUnknown is Hold. Absent while there is none.",
            "placement",
        )
        self.seconds = make.histogram(
            "moves_verification_seconds",
            "Seconds until the checks of a move decided, by outcome: from its healthy new copy, and"
            " without one from when OCM followed.",
            "outcome",
            buckets=(60, 120, 300, 600, 1200, 1800, 3600, 7200, 21600),
        )
        for outcome in VerificationOutcome:
            # Without a first value of 0 the increase by the first failure would be 0.
            self.seconds.labels(outcome=str(outcome))
        self.returned = make.counter(
            "moves_returned",
            "Moves that went back, because a check failed where they led.",
        )
        self.held = make.gauge(
            "moves_held",
            "Pairs of an application and a cluster that are held apart after a return.",
        )
        self.stopped = make.gauge(
            "fleet_stopped",
            "1 while no paced move begins, because too many went back and nobody acknowledged it.",
        )


class ReconcilerMetrics:
    """All series. The label `scorer` is the name of the score when there is no scorer of it."""

    def __init__(self) -> None:
        # Not the registry of the library: it refuses a name that it has already, and tests have
        # several reconcilers in one process.
        self.registry = CollectorRegistry()
        make = _SeriesMaker(self.registry)
        self.leader = make.gauge("leader", "1 on the replica that leads, else 0.")
        self.failures = make.counter(
            "duty_failures", "How often a bug ended a controller, which was started again.", "duty"
        )
        self.reconciles = make.counter(
            "reconciles",
            "Passes of the controllers by outcome: done, conflict (somebody else wrote meanwhile),"
            " not-ready (what it needs is not known now) or failed.",
            "controller",
            "outcome",
        )
        self.watch_broken = make.gauge(
            "watch_broken",
            "1 while the hub refuses the list or the watch of a resource, or is silent: nothing"
            " that depends on it is deleted.",
            "resource",
        )
        self.events = make.counter(
            "events",
            "Events: written, counted (the same within an hour), dropped (too many at once) or"
            " refused by the hub.",
            "outcome",
        )
        self.conflicts = make.counter(
            "conflicts",
            "Writes that the hub refused because somebody else wrote the object meanwhile. They are"
            " tried again.",
            "resource",
        )
        self.clock_offset = make.gauge(
            "clock_offset_seconds", "Seconds that the hub's clock is ahead of this process's."
        )
        self.probe_round_seconds = make.gauge(
            "probe_round_seconds", "Duration of the last round of probes."
        )
        self.healthy = make.gauges(
            "scorer_healthy", "1 Active, 0 Inactive, -1 never reached from the hub.", "scorer"
        )
        self.config = make.gauges(
            "scorer_config",
            "1 for the state of /config, compared with what was accepted.",
            "scorer",
            "reason",
        )
        self.patches = make.counter("status_patches", "Writes of DynamicScorer status.")
        self.patch_failures = make.counter(
            "status_patch_failures", "Writes of DynamicScorer status that the hub refused."
        )
        self.dead_scores = make.gauges(
            "dead_scores",
            "Scores that expired long ago and whose agent or cluster is gone.",
            "scorer",
        )
        self.dead_scores_removed = make.counter(
            "dead_scores_removed", "Dead scores that were deleted.", "scorer"
        )
        self.scored_clusters = make.gauges(
            "scored_clusters",
            "Clusters whose score is fresh, expiring (part of fresh), expired, endless (without"
            " validUntil), or missing.",
            "scorer",
            "state",
        )
        self.failing_clusters = make.gauges(
            "failing_clusters",
            "Clusters where a scorer gives no scores now, by the reason that its agent wrote into"
            " the condition Scored of the AddOnPlacementScore.",
            "scorer",
            "reason",
        )
        self.not_fresh = make.gauges(
            "score_not_fresh",
            "1 for a score that is expired, missing, expiring or endless; at most 1,000 of them.",
            "scorer",
            "cluster",
            "state",
        )
        self.not_fresh_omitted = make.gauge(
            "score_not_fresh_omitted", "Scores that score_not_fresh leaves out."
        )
        self.counted_as_zero = make.gauges(
            "placement_missing_scores",
            "Clusters that a Placement counts as 0 because a score is missing. Without a scorer,"
            " the label scorer is the name of the score.",
            "placement",
            "scorer",
        )
        self.placement_points = make.gauges(
            "placement_points",
            "Points of a decided cluster: the weighted mean of its scores, by the written weights."
            " A score that does not count is 0. Placements of more than 10 clusters have none.",
            "placement",
            "cluster",
        )
        self.decision_changes = make.counter(
            "decision_changes",
            "Times that the clusters of a Placement's decision changed.",
            "placement",
        )
        self.decision_clusters = make.gauges(
            "decision_clusters", "Clusters of a Placement's decision.", "placement"
        )
        self.refreshes = make.counter(
            "refreshes", "Refreshes of ApplicationSets because of a changed decision."
        )
        self.refresh_delay = make.histogram(
            "refresh_delay_seconds",
            "Seconds from the last change of a decision until the refresh of its ApplicationSet.",
            # A decision must hold for 5 s before it counts, so no refresh is quicker.
            buckets=(5, 6, 7, 8, 10, 15, 20, 30, 60),
        )
        self.moves_waiting = make.gauges(
            "moves_waiting",
            "Copies that stay on clusters outside the decision, by what they wait for.",
            "applicationset",
            "reason",
        )
        self.moves_waiting_seconds = make.gauges(
            "moves_waiting_seconds",
            "Seconds that a copy has waited to be deleted, as far as this leader knows; absent"
            " while none waits.",
            "applicationset",
        )
        self.copies_removed = make.counter(
            "copies_removed",
            "Copies deleted from clusters that left the decision.",
            "applicationset",
        )
        self.paced_moves_waiting = make.gauges(
            "paced_moves_waiting", "Paced moves that wait, by what they wait for.", "reason"
        )
        self.paced_moves_waiting_seconds = make.gauge(
            "paced_moves_waiting_seconds",
            "Seconds that the oldest paced move has waited; 0 while none waits.",
        )
        self.paced_moves_under_way = make.gauge(
            "paced_moves_under_way", "Paced moves that are under way."
        )
        self.paced_moves_refused = make.gauge(
            "paced_moves_refused_clusters",
            "Clusters that no move enters or leaves, because the hub refuses to write its items"
            " there.",
        )
        self.paced_moves_admitted = make.counter(
            "paced_moves_admitted", "Paced moves that were admitted."
        )
        self.paced_moves_duration = make.histogram(
            "paced_moves_duration_seconds",
            "Seconds from the admission of a move until its handover is done.",
            buckets=(10, 30, 60, 120, 300, 600, 1800, 3600),
        )
        self.verification = VerificationMetrics(make)
        self.drains = DrainMetrics(make)
        self.multikueue = MultiKueueMetrics(make)
        self.state_pushes = make.counter(
            "state_pushes", "Snapshots by outcome: pushed, unchanged or failed.", "outcome"
        )
        self.state_age = make.gauge(
            "state_age_seconds",
            "Seconds since the snapshot on the branch was taken; NaN before that is known.",
        )
        # Not 0, which would look like a snapshot that was just taken.
        self.state_age.set(float("nan"))
        self.journal_records = make.counter(
            "journal_records", "Changes of decisions that were recorded."
        )
        self.journal_pushes = make.counter(
            "journal_pushes", "Pushes by outcome: pushed or failed.", "outcome"
        )
        self.journal_pending = make.gauge(
            "journal_pending", "Records that are not on the branch yet."
        )
        self.journal_pending_seconds = make.gauge(
            "journal_pending_seconds",
            "Age of the oldest record that is not on the branch yet; 0 when there is none.",
        )
        self.flapping_returns = make.gauges(
            "flapping_returns",
            "Moves back to a cluster that had just been left, within a day, of Placements that"
            " flap. The label scorer is the name of the score with the largest swing, empty if it"
            " is not known.",
            "placement",
            "scorer",
        )
        self.proposals = make.counter(
            "proposals",
            "Proposals by outcome: pushed, unchanged, superseded, withdrawn, failed, waiting (the"
            " change is too new, or the last push was not long ago), refused (by people), undecided"
            " (the log has the reason), nothing (nothing differs).",
            "kind",
            "outcome",
        )
        self.proposal_open = make.gauge("proposal_open", "Proposals that wait for people.", "kind")
