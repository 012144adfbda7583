"""Whether a scoring API lives, from a row of probes: one bad answer among good ones is no news. Pure."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from gitops_dsf.sync.fetch import Fault, FaultKind, Page

FAILURES: Final = 3
"""Failed probes in a row before an Active scorer is called Inactive."""
SUCCESSES: Final = 2
"""Good probes in a row before an Inactive scorer is called Active."""
UNREACHED: Final = frozenset({FaultKind.DNS, FaultKind.CONNECTION, FaultKind.TIMEOUT, FaultKind.CERTIFICATE})
"""Faults of the way to an origin, or of all of it: another page of it would end the same."""


class HealthStatus(StrEnum):
    """DynamicScorer.status.healthStatus."""

    ACTIVE = "Active"
    INACTIVE = "Inactive"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Health:
    """The verdict so far, and what it waits for."""

    status: HealthStatus = HealthStatus.UNKNOWN
    reason: str = "NotProbed"
    message: str = "not probed yet"
    row: int = 0
    """Probes in a row that contradict the verdict."""

    def after(self, answer: Page | Fault) -> "Health":
        """The verdict after one more probe.

        A scorer that no probe ever reached stays Unknown: it may live where the hub's network does not lead.
        """
        if isinstance(answer, Page):
            if self.status is HealthStatus.INACTIVE and self.row + 1 < SUCCESSES:
                return replace(self, row=self.row + 1)
            return Health(status=HealthStatus.ACTIVE, reason="Answers", message="/healthz answers", row=0)
        reason, message = str(answer.kind), answer.message
        if self.status is HealthStatus.ACTIVE:
            if self.row + 1 < FAILURES:
                return replace(self, row=self.row + 1)
            return Health(status=HealthStatus.INACTIVE, reason=reason, message=message)
        if self.status is HealthStatus.UNKNOWN and answer.kind in UNREACHED:
            return Health(reason=reason, message=f"never reached from the hub: {message}")
        return Health(status=HealthStatus.INACTIVE, reason=reason, message=message)
