"""What proposals count."""

from prometheus_client import CollectorRegistry, Counter, Gauge

from gitops_dsf.reconciler.proposals.proposal import Kind
from gitops_dsf.reconciler.series import PREFIX


class ProposalMetrics:
    """By kind: locks or inventory."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.outcomes = Counter(
            f"{PREFIX}_proposals",
            "What became of proposals: pushed, unchanged, superseded, withdrawn, failed; waiting (not yet"
            " long enough the same, or too many at once), refused (by people), undecided (nothing can be"
            " proposed; see the log), nothing (there was nothing to do).",
            ["kind", "outcome"],
            registry=registry,
        )
        self.open = Gauge(
            f"{PREFIX}_proposal_open", "Proposals that wait for people.", ["kind"], registry=registry
        )

    def count(self, kind: Kind, outcome: str) -> None:
        """One outcome more."""
        self.outcomes.labels(kind=str(kind), outcome=outcome).inc()
