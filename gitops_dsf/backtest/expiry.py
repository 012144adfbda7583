"""The times at which OCM notices that a score has expired.

The passage of a validUntil triggers no pass of OCM's placement controller. It notices the expiry in
its next pass (docs/decisions/scheduler.md#when-ocm-schedules-again):

- after a write of a score that the Placement ranks by, on a cluster of its sets;
- at a resync of its informers;
- in a retry, because a pass that sees an expired score ends with a warning and is repeated, after 5
  ms and then after twice the time, up to 1000 s.
"""

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.placement import (
    PreparedPlacement,
    tracks_on_candidates,
    tracks_on_members,
)
from gitops_dsf.backtest.track import Tracks
from gitops_dsf.simulator.notes import RESYNC_SECONDS

FIRST_RETRY: Final = 0.005
"""Seconds. The delay doubles with each retry (OCM v1.2.1, as in client-go)."""
MAX_RETRY: Final = 1000.0


@dataclass(frozen=True, kw_only=True)
class ScoreExpiry:
    """A score that OCM counts as 0 for a while. Times are Unix seconds."""

    resource: str
    cluster: str
    noticed: float
    """The pass in which OCM first counts it as 0."""
    renewed: float
    """The write that makes it count again; infinity if there is none."""


def score_expiries(
    prepared: PreparedPlacement, tracks: Tracks, *, grid: TimeGrid
) -> tuple[ScoreExpiry, ...]:
    """The expiries of scores of the candidates that OCM notices, in order of validUntil."""
    candidates: list[tuple[float, str, str, float]] = []
    for resource, cluster, track in tracks_on_candidates(prepared, tracks):
        for until, renewed in track.expiries:
            if until < grid.end:
                candidates.append((until, resource, cluster, renewed))
    if not candidates:
        return ()
    triggers = [ranked.track.at for ranked in tracks_on_members(prepared, tracks)]
    retries = _Retries()
    expiries: list[ScoreExpiry] = []
    # A noticed expiry starts retries, which notice later ones: so they are taken in order of time.
    for until, resource, cluster, renewed in sorted(candidates):
        noticed = min(_next_resync(until, grid=grid), retries.after(until))
        for times in triggers:
            noticed = min(noticed, _next(times, until))
        if noticed < renewed and noticed <= grid.end:
            retries.warn(noticed, renewed)
            expiries.append(
                ScoreExpiry(resource=resource, cluster=cluster, noticed=noticed, renewed=renewed)
            )
    return tuple(expiries)


def _next(times: Sequence[float], moment: float) -> float:
    """The first of these times after a moment; infinity if there is none."""
    index = bisect.bisect_right(times, moment)
    return times[index] if index < len(times) else math.inf


def _next_resync(moment: float, *, grid: TimeGrid) -> float:
    # The real phase of resyncs is not known: here they start with the grid.
    passed = math.floor((moment - grid.start) / RESYNC_SECONDS)
    return grid.start + (passed + 1) * RESYNC_SECONDS


class _Retries:
    """The passes that OCM repeats while they end with a warning."""

    def __init__(self) -> None:
        self._start = math.inf
        self._end = -math.inf

    def warn(self, noticed: float, renewed: float) -> None:
        """A pass saw an expired score, which is renewed later."""
        # While another score is expired, the retries go on: only a pass without a warning forgets
        # the delay.
        if noticed > self._end:
            self._start = noticed
        self._end = max(self._end, renewed)

    def after(self, moment: float) -> float:
        """The next retry after a moment; infinity if none is due."""
        if not self._start <= moment < self._end:
            return math.inf
        retry = self._start
        delay = FIRST_RETRY
        while retry <= moment and delay < MAX_RETRY:
            retry += delay
            delay *= 2
        if retry <= moment:
            retry += (math.floor((moment - retry) / MAX_RETRY) + 1) * MAX_RETRY
        return retry if retry < self._end else math.inf
