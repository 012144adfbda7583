"""Computes admissions of paced moves in a thread beside the event loop.

It does so only when something that they depend on has changed.
"""

import asyncio
from typing import NamedTuple

from gitops_dsf.pacing.admit import Admission, Waiting, admit
from gitops_dsf.pacing.ledger import Ledger
from gitops_dsf.reconciler.pacing.situation import Inputs, holds_until, situation_of
from gitops_dsf.repository.model.reconciler import Pace


class _Last(NamedTuple):
    """The last admission, and what it depended on."""

    inputs: Inputs
    """The inputs without the scores, which would stay in memory after a new list."""
    ledger: Ledger
    admission: Admission
    holds_until: float
    """The time at which the result changes even if no input does, in seconds since 1970."""


class CachedAdmission:
    """Keeps the last admission while nothing that it needs has changed.

    An admission of a large fleet takes seconds of CPU, and most passes change nothing that it
    needs.
    """

    def __init__(self) -> None:
        self._last: _Last | None = None

    @property
    def waiting(self) -> tuple[Waiting, ...]:
        """The reasons for which the moves of the last admission waited."""
        return () if self._last is None else self._last.admission.waiting

    async def admit(self, inputs: Inputs, ledger: Ledger, pace: Pace, now: float) -> Admission:
        """The admission, or the last one if nothing has changed."""
        last = self._last
        if last is not None and (last.inputs, last.ledger) == (inputs, ledger):
            is_over = now > last.holds_until
            for waiting in last.admission.waiting:
                if waiting.until is not None and now >= waiting.until:
                    is_over = True
            # Moves that were admitted and are not in the ledger must be computed again.
            if not last.admission.moves and not is_over:
                return last.admission
        # In a thread: the Lease must be renewed meanwhile.
        self._last = await asyncio.to_thread(_computed, inputs, ledger, pace, now)
        return self._last.admission


def _computed(inputs: Inputs, ledger: Ledger, pace: Pace, now: float) -> _Last:
    admission = admit(situation_of(inputs, ledger=ledger, pace=pace, now=now))
    until = holds_until(inputs, ledger=ledger, now=now)
    return _Last(inputs.without_scores(), ledger, admission, until)
