"""What the dead-scores duty counts."""

from prometheus_client import CollectorRegistry, Counter, Gauge

from gitops_dsf.reconciler.prefix import PREFIX


class DeadScoreMetrics:
    """Series by scorer; where that is gone, by the name that its scores have."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.dead = Gauge(
            f"{PREFIX}_dead_scores",
            "Scores that expired long ago and whose agent or cluster is gone.",
            ["scorer"],
            registry=registry,
        )
        self.removed = Counter(
            f"{PREFIX}_dead_scores_removed", "Dead scores that were removed.", ["scorer"], registry=registry
        )
        self.blocked = Gauge(
            f"{PREFIX}_dead_scores_blocked",
            "1 while no dead score is removed, by reason.",
            ["reason"],
            registry=registry,
        )
        self._shown: set[str] = set()

    def show(self, dead: dict[str, int]) -> None:
        """The numbers as they are now; a scorer without dead scores has no series, as most have none."""
        for scorer in self._shown - dead.keys():
            self.dead.remove(scorer)
        for scorer, number in dead.items():
            self.dead.labels(scorer=scorer).set(number)
        self._shown = set(dead)

    def block(self, reason: str) -> None:
        """Why no dead score is removed now; empty when they are."""
        self.blocked.clear()
        if reason:
            self.blocked.labels(reason=reason).set(1)
