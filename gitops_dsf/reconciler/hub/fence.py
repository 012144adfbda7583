"""Whether a write may be sent now. It is asked right before the bytes are sent, because every await before
that may take minutes.

A process can be frozen (SIGSTOP, a paused virtual machine, a node without CPU) after any check. So the claim
on the Lease is measured at the last possible moment, and a deletion needs enough of it for its own time
limit.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

from dsf_runtime.clock import monotonic

DELETION_SECONDS: Final = 4.0
"""Time limit of one attempt at a deletion, from the connection to the answer."""
MARGIN_SECONDS: Final = 1.0
"""What must be left of the claim after the time limit."""
QUIET_SECONDS: Final = 30.0
"""A deletion that another process sent may take effect for this time: the duration of a Lease (15 s) and the
longest request (15 s).
"""


class Claim(Protocol):
    """The leadership of this replica: `lease.Leadership`."""

    def left(self) -> float:
        """Seconds for which the claim may be trusted. 0 or less when this replica does not lead."""

    def quiet_left(self) -> float:
        """Seconds for which deletions of the leader before may still take effect. 0 or less when
        they cannot.
        """


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """Why a write is not sent. `reason` is one word. `message` is a sentence without numbers that change over
    time.
    """

    reason: str
    message: str
    seconds: float
    """When to ask again."""


@dataclass(kw_only=True)
class Fence:
    """One per process: it remembers deletions without an answer."""

    claim: Claim
    clock: Callable[[], float] = monotonic
    _unanswered_at: float | None = field(default=None, init=False)

    def write(self) -> Refusal | None:
        """What forbids any write now."""
        return _NOT_HELD if self.claim.left() <= 0 else None

    def deletion(self) -> Refusal | None:
        """What forbids a deletion now."""
        if self.claim.left() < DELETION_SECONDS + MARGIN_SECONDS:
            return _NOT_HELD
        quiet = self.claim.quiet_left()
        if quiet > 0:
            return Refusal(
                reason="LeadershipNew",
                message=(
                    f"this replica leads for less than {QUIET_SECONDS:g} s, and deletions of the one before"
                    " it may still take effect"
                ),
                seconds=quiet,
            )
        unanswered = self._unanswered_left()
        if unanswered > 0:
            return Refusal(
                reason="DeletionUnanswered",
                message=(
                    f"the hub did not answer a deletion within the last {QUIET_SECONDS:g} s, and it may still"
                    " take effect"
                ),
                seconds=unanswered,
            )
        return None

    def unanswered(self) -> None:
        """Remembers that a deletion was sent and had no answer."""
        self._unanswered_at = self.clock()

    @property
    def clean(self) -> bool:
        """Whether the result of all deletions of this process is known."""
        return self._unanswered_left() <= 0

    def _unanswered_left(self) -> float:
        return 0.0 if self._unanswered_at is None else self._unanswered_at + QUIET_SECONDS - self.clock()


_NOT_HELD: Final = Refusal(
    reason="LeaseNotHeld",
    message=(
        "too little is left of this replica's claim on the Lease: another replica may lead before the hub"
        " answers"
    ),
    seconds=1.0,
)
