"""Whether a scoring API is healthy, by probes in a row: a single failure changes nothing. Pure."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from gitops_dsf.sync.fetch import Fault, Page

FAILURES: Final = 3
"""Failed probes in a row after which an Active scorer becomes Inactive."""
SUCCESSES: Final = 2
"""Successful probes in a row after which an Inactive scorer becomes Active."""
UNREACHED: Final = frozenset({"DNS", "Connection", "Timeout", "Certificate"})
"""The origin was not reached: a request for another of its pages would fail the same way."""


class HealthStatus(StrEnum):
    """DynamicScorer.status.healthStatus."""

    ACTIVE = "Active"
    INACTIVE = "Inactive"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Health:
    """The health so far."""

    status: HealthStatus = HealthStatus.UNKNOWN
    reason: str = "NotProbed"
    message: str = "not probed yet"
    contradictions: int = 0
    """Latest probes in a row that contradict the status."""

    def after(self, answer: Page | Fault) -> "Health":
        """The health after one more probe.

        A scorer that no probe ever reached stays Unknown: the hub's network may not lead to it.
        """
        if isinstance(answer, Page):
            if self.status is HealthStatus.INACTIVE and self.contradictions + 1 < SUCCESSES:
                return replace(self, contradictions=self.contradictions + 1)
            return Health(status=HealthStatus.ACTIVE, reason="Answers", message="/healthz answers")
        reason, message = answer.reason, answer.message
        if self.status is HealthStatus.ACTIVE:
            if self.contradictions + 1 < FAILURES:
                return replace(self, contradictions=self.contradictions + 1)
            return Health(status=HealthStatus.INACTIVE, reason=reason, message=message)
        if self.status is HealthStatus.UNKNOWN and answer.reason in UNREACHED:
            return Health(reason=reason, message=f"never reached from the hub: {message}")
        return Health(status=HealthStatus.INACTIVE, reason=reason, message=message)
