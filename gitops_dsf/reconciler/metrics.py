"""What the reconciler counts: one registry per process, whoever leads; each duty's series are its
own room's.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge

from gitops_dsf.reconciler.deadscores.metrics import DeadScoreMetrics
from gitops_dsf.reconciler.events import EventMetrics
from gitops_dsf.reconciler.freshness.metrics import FreshnessMetrics
from gitops_dsf.reconciler.hub.metrics import WatchMetrics
from gitops_dsf.reconciler.moves.metrics import DecisionMetrics, MoveMetrics, RefreshMetrics
from gitops_dsf.reconciler.prefix import PREFIX
from gitops_dsf.reconciler.proposals.metrics import ProposalMetrics
from gitops_dsf.reconciler.scorers.metrics import ScorerMetrics
from gitops_dsf.reconciler.state.metrics import StateMetrics
from gitops_dsf.reconciler.suspension.metrics import SuspensionMetrics


class Metrics:
    """All series of a process."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.leader = Gauge(f"{PREFIX}_leader", "1 on the replica that works.", registry=registry)
        self.failures = Counter(
            f"{PREFIX}_duty_failures",
            "Times that a duty ended and was started anew.",
            ["duty"],
            registry=registry,
        )
        self.clock_offset = Gauge(
            f"{PREFIX}_clock_offset_seconds",
            "Seconds that the hub's clock is ahead of ours.",
            registry=registry,
        )
        self.watches = WatchMetrics(registry)
        self.events = EventMetrics(registry)
        self.scorers = ScorerMetrics(registry)
        self.suspension = SuspensionMetrics(registry)
        self.dead_scores = DeadScoreMetrics(registry)
        self.freshness = FreshnessMetrics(registry)
        self.decisions = DecisionMetrics(registry)
        self.refresh = RefreshMetrics(registry)
        self.moves = MoveMetrics(registry)
        self.state = StateMetrics(registry)
        self.proposals = ProposalMetrics(registry)
