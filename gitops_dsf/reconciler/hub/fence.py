"""Whether a write may be sent now. Asked right before the bytes leave, because any await before that may take
minutes.

A process can be frozen (SIGSTOP, a paused virtual machine, a node without CPU) after it checked something. So
nothing is written because of an earlier check: the claim on the Lease is measured at the last possible
moment, and a deletion needs enough of it for its own time-out.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

from dsf_runtime.clock import monotonic

DELETION_SECONDS: Final = 4.0
"""For one attempt at a deletion, from the connection to the answer."""
MARGIN_SECONDS: Final = 1.0
"""What must be left of the claim after that."""
QUIET_SECONDS: Final = 30.0
"""For which a deletion that somebody else sent may still take effect: the duration of a lease (15 s) and the
longest request (15 s).
"""


class Claim(Protocol):
    """The leadership of this replica: `lease.Leadership`."""

    def left(self) -> float:
        """Seconds for which the claim may be trusted; 0 or less when this replica does not lead."""

    def quiet_left(self) -> float:
        """Seconds for which deletions of a predecessor may still take effect; 0 or less when there can be
        none.
        """


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """Why a write is not sent. `reason` is one word, `message` a sentence without anything that changes by
    itself.
    """

    reason: str
    message: str
    seconds: float
    """After which it is worth asking again."""


@dataclass(kw_only=True)
class Fence:
    """One for each process: it remembers deletions that had no answer."""

    claim: Claim
    clock: Callable[[], float] = monotonic
    _unanswered_at: float | None = field(default=None, init=False)

    def write(self) -> Refusal | None:
        """What speaks against any write now."""
        return _NOT_HELD if self.claim.left() <= 0 else None

    def deletion(self) -> Refusal | None:
        """What speaks against a deletion now."""
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
        """A deletion was sent, and nobody knows what came of it."""
        self._unanswered_at = self.clock()

    @property
    def clean(self) -> bool:
        """Whether the outcome of all deletions of this process is known."""
        return self._unanswered_left() <= 0

    def _unanswered_left(self) -> float:
        return 0.0 if self._unanswered_at is None else self._unanswered_at + QUIET_SECONDS - self.clock()


_NOT_HELD: Final = Refusal(
    reason="LeaseNotHeld",
    message=(
        "too little is left of this replica's claim on the Lease: another replica may lead before the hub has"
        " answered"
    ),
    seconds=1.0,
)
