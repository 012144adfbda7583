"""The leader by a Lease (coordination.k8s.io/v1), for readers that take no part in the election."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

DEFAULT_DURATION_SECONDS: Final = 15
"""The duration that the reconciler writes. A Lease without leaseDurationSeconds is judged by it."""


@dataclass(frozen=True, kw_only=True)
class LeaseClaim:
    """The claim of a Lease."""

    holder: str
    """Empty after a leader has given up its Lease."""
    renewed: datetime | None
    """None if it was never renewed, or if its time cannot be read."""
    lasts: timedelta

    def is_valid(self, now: datetime) -> bool:
        """Returns whether the Lease has not expired at this time of the hub's clock."""
        return self.renewed is not None and now - self.renewed <= self.lasts


def read_lease_claim(lease: Mapping[str, Any]) -> LeaseClaim:
    """Returns the claim of a Lease; of an absent one an empty claim."""
    spec = lease.get("spec") or {}
    seconds = int(spec.get("leaseDurationSeconds") or DEFAULT_DURATION_SECONDS)
    return LeaseClaim(
        holder=str(spec.get("holderIdentity") or ""),
        renewed=_renewal(str(spec.get("renewTime") or "")),
        lasts=timedelta(seconds=seconds),
    )


def _renewal(text: str) -> datetime | None:
    try:
        renewed = datetime.fromisoformat(text)
    except ValueError:
        return None
    # client-go writes a zone. A time without one, which people may write, cannot be compared.
    return renewed if renewed.tzinfo is not None else renewed.replace(tzinfo=UTC)
