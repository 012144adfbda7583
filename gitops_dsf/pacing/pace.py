"""The pace: how many moves may be under way, and how soon the next one may follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gitops_dsf.repository.model import reconciler as model


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

    @classmethod
    def of(cls, written: model.Pace) -> Pace:
        """The pace that people wrote."""
        settle = written.settle_seconds
        return cls(
            concurrent=written.concurrent,
            arrivals_per_cluster=written.arrivals_per_cluster,
            settle_seconds=None if settle is None else float(settle),
            cooldown_seconds=float(written.cooldown_seconds),
        )

    def settle(self, measured_after: float) -> float:
        """Seconds after which the scores of a cluster have measured an arrival. `measured_after` is what the
        scorers say.
        """
        return measured_after if self.settle_seconds is None else self.settle_seconds
