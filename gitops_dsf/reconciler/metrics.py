"""All metrics of the process, in one registry. The series of a controller are defined beside it."""

from prometheus_client import CollectorRegistry

from gitops_dsf.reconciler.events import EventMetrics
from gitops_dsf.reconciler.freshness.report import FreshnessMetrics
from gitops_dsf.reconciler.hub.decisions import DecisionMetrics
from gitops_dsf.reconciler.journal.controller import JournalMetrics
from gitops_dsf.reconciler.journal.flapping import FlappingMetrics
from gitops_dsf.reconciler.moves.report import MoveMetrics
from gitops_dsf.reconciler.proposals.controller import ProposalMetrics
from gitops_dsf.reconciler.refresh.controller import RefreshMetrics
from gitops_dsf.reconciler.scoregc.controller import ScoreGCMetrics
from gitops_dsf.reconciler.scorers.metrics import ScorerMetrics
from gitops_dsf.reconciler.series import counter, gauge
from gitops_dsf.reconciler.statebranch.controller import StateMetrics
from gitops_dsf.reconciler.suspension.controller import SuspensionMetrics


class Metrics:
    """All series of a process, also while it does not lead."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.leader = gauge(registry, "leader", "1 on the replica that leads.")
        self.failures = counter(
            registry, "duty_failures", "Times that a controller ended and was started again.", "duty"
        )
        self.watch_broken = gauge(
            registry,
            "watch_broken",
            "1 while the hub refuses the list or the watch of a resource, or is silent: nothing is deleted"
            " that depends on it.",
            "resource",
        )
        self.events = EventMetrics(registry)
        self.scorers = ScorerMetrics(registry)
        self.suspension = SuspensionMetrics(registry)
        self.scoregc = ScoreGCMetrics(registry)
        self.freshness = FreshnessMetrics(registry)
        self.decisions = DecisionMetrics(registry)
        self.refresh = RefreshMetrics(registry)
        self.moves = MoveMetrics(registry)
        self.state = StateMetrics(registry)
        self.journal = JournalMetrics(registry)
        self.flapping = FlappingMetrics(registry)
        self.proposals = ProposalMetrics(registry)
