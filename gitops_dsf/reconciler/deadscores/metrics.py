"""What the dead-scores duty counts."""

from prometheus_client import CollectorRegistry, Counter, Gauge

from gitops_dsf.reconciler.prefix import PREFIX


class DeadScoreMetrics:
    """Series by scorer; where that is gone, by the name that its scores have."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.dead = Gauge(
            f"{PREFIX}_dead_scores", "Scores that expired long ago and whose agent or cluster is gone.", ["scorer"], registry=registry
        )
        self.removed = Counter(f"{PREFIX}_dead_scores_removed", "Dead scores that were removed.", ["scorer"], registry=registry)
        self._shown: set[str] = set()

    def show(self, dead: dict[str, int]) -> None:
        """The numbers as they are now; a scorer without dead scores has no series, as most have none."""
        for scorer in self._shown - dead.keys():
            self.dead.remove(scorer)
        for scorer, number in dead.items():
            self.dead.labels(scorer=scorer).set(number)
        self._shown = set(dead)
