"""The stop of a fleet: after too many returns no move begins, until a person acknowledges it. Pure.

Moves under way go on, and so do returns. Guaranteed: a stop never ends by itself.
"""

import math
from typing import Final

from msgspec.structs import replace

from gitops_dsf.pacing.ledger import MAX_RETURNS, Ledger
from gitops_dsf.repository.model.reconciler import Pace

SKEW_SECONDS: Final = 300.0
"""The time by which an acknowledgement may be later than now: the clock of its author may be wrong.

A later one would acknowledge stops in the future.
"""


def counted(ledger: Ledger, pace: Pace, *, new: int, now: float) -> Ledger:
    """The ledger with `new` more returns, stopped if there are too many within the window."""
    if not new and not ledger.returns:
        return ledger
    begin = now - pace.returns_window_seconds
    recent = [moment for moment in ledger.returns if moment > begin]
    recent += [now] * new
    after = replace(ledger, returns=tuple(recent[-MAX_RETURNS:]))
    if new and not ledger.stopped_since and len(recent) >= pace.stop_after_returns:
        # Whole seconds: people write this time to acknowledge it.
        return replace(after, stopped_since=float(math.floor(now)))
    return after


def acknowledged(ledger: Ledger, moment: float | None, *, now: float) -> Ledger:
    """The ledger after an acknowledgement, which may be of an earlier stop.

    Returns are counted from zero from then on.
    """
    if not ledger.stopped_since or moment is None:
        return ledger
    if moment < ledger.stopped_since or is_in_future(moment, now=now):
        return ledger
    return replace(ledger, returns=(), stopped_since=0.0)


def is_in_future(moment: float, *, now: float) -> bool:
    """Whether an acknowledgement does not count, because its time is in the future."""
    return moment > now + SKEW_SECONDS
