"""What the state duty counts."""

import math
import time

from prometheus_client import CollectorRegistry, Counter, Gauge

from gitops_dsf.reconciler.series import PREFIX


class StateMetrics:
    """How snapshots fare."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.pushes = Counter(
            f"{PREFIX}_state_pushes",
            "Snapshots by outcome: pushed, unchanged or failed.",
            ["outcome"],
            registry=registry,
        )
        self.raw_failures = Counter(
            f"{PREFIX}_state_raw_failures",
            "Scorers whose raw scores were asked for and not had.",
            registry=registry,
        )
        self._seen_at = math.nan
        age = Gauge(
            f"{PREFIX}_state_age_seconds",
            "Since the snapshot on the branch was seen; NaN before it is known.",
            registry=registry,
        )
        age.set_function(lambda: time.time() - self._seen_at)

    def seen(self, at: float) -> None:
        """The snapshot on the branch was seen at this time, in seconds since 1970; NaN: this replica does not
        know.
        """
        self._seen_at = at
