"""What the suspension duty counts."""

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Gauge

from gitops_dsf.reconciler.series import PREFIX


class SuspensionMetrics:
    """Series by scorer, and only where suspension is on."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.suspended = Gauge(
            f"{PREFIX}_suspended",
            "1 where agents do not call the scorer because it is down.",
            ["scorer"],
            registry=registry,
        )
        self.held_back = Gauge(
            f"{PREFIX}_suspensions_held_back",
            "Scorers that would be suspended if not more than half of all scoring APIs were down at once.",
            registry=registry,
        )
        self._shown: set[str] = set()

    def show(self, suspended: Mapping[str, bool]) -> None:
        """All scorers as they are now."""
        for scorer in self._shown - suspended.keys():
            self.suspended.remove(scorer)
        for scorer, value in suspended.items():
            self.suspended.labels(scorer=scorer).set(float(value))
        self._shown = set(suspended)

    def forget(self) -> None:
        """This replica no longer leads."""
        self.show({})
        self.held_back.set(0)
