"""The pace: how many moves may be under way, and how soon the next one may follow."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """spec.pace of gitops-dsf.yaml."""

    concurrent: int
    """Moves under way at a time, over all applications."""
    arrivals_per_cluster: int
    """Applications that a cluster may receive before its scores have measured them."""
    settle_seconds: float | None
    """Seconds after an arrival until the scores count as measured; None: by interval and query range of the
    scorers.
    """
    cooldown_seconds: float
    """Seconds between two moves of an application."""

    def settle(self, measured_after: float) -> float:
        """Seconds after which the scores of a cluster have measured an arrival. `measured_after` is what the
        scorers say.
        """
        return measured_after if self.settle_seconds is None else self.settle_seconds
