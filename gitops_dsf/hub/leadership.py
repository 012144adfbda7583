"""Who leads, by a Lease (coordination.k8s.io/v1), for readers that take no part in the election."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

DEFAULT_DURATION: Final = 15
"""Seconds that the reconciler writes. A Lease without leaseDurationSeconds is judged by them."""


@dataclass(frozen=True, kw_only=True)
class Leadership:
    """The claim of a Lease."""

    holder: str
    """Empty after a leader has given up its Lease."""
    renewed: datetime | None
    """None if it was never renewed, or if its time can't be read."""
    lasts: timedelta

    def stands(self, now: datetime) -> bool:
        """Says whether the Lease has not expired at this time of the hub's clock."""
        return self.renewed is not None and now - self.renewed <= self.lasts


def read_leadership(lease: Mapping[str, Any]) -> Leadership:
    """The claim of a Lease from its JSON."""
    spec = lease.get("spec") or {}
    return Leadership(
        holder=str(spec.get("holderIdentity") or ""),
        renewed=_moment(str(spec.get("renewTime") or "")),
        lasts=timedelta(seconds=int(spec.get("leaseDurationSeconds") or DEFAULT_DURATION)),
    )


def _moment(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
