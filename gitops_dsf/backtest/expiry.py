"""TODO."""

import bisect
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.placement import PreparedPlacement
from gitops_dsf.backtest.track import Track, Tracks
from gitops_dsf.simulator.notes import RESYNC_SECONDS

FIRST_RETRY: Final = 0.005
"""Delay of the first retry in seconds; it doubles."""


LONGEST_RETRY: Final = 1000.0


@dataclass(frozen=True, kw_only=True)
class ScoreExpiry:
    """A score that OCM counts as 0 for a while. Times are Unix seconds."""

    resource: str
    cluster: str
    noticed: float
    """The pass in which OCM first counts it as 0."""
    renewed: float
    """The write that makes it count again; infinity if there is none."""


def tracks_of(
    contest: PreparedPlacement, tracks: Tracks, positions: Iterable[int]
) -> Iterator[tuple[str, str, Track]]:
    """Resource, cluster and track of every score that a Placement ranks by, on these clusters."""
    names = contest.state.names
    for resource in dict.fromkeys(term.resource for term in contest.terms):
        by_cluster = tracks.get(resource, {})
        for position in positions:
            track = by_cluster.get(names[position])
            if track is not None and len(track):
                yield resource, names[position], track


def score_expiries(
    contest: PreparedPlacement, tracks: Tracks, *, grid: TimeGrid
) -> tuple[ScoreExpiry, ...]:
    """The expiries of scores of the candidates, in order of expiry.

    The passage of a validUntil triggers no pass. OCM notices it in its next pass: after a write of a score
    that the Placement ranks by on a cluster of its sets, at a resync of its informers, or in a retry, because
    a pass that sees an expired score ends with a warning and is repeated with growing delay
    (docs/decisions/scheduler.md).
    """
    expiries = sorted(
        (until, resource, cluster, renewed)
        for resource, cluster, track in tracks_of(contest, tracks, contest.candidates)
        for until, renewed in track.expiries
        if until < grid.end
    )
    if not expiries:
        return ()
    triggers = [track.at for _, _, track in tracks_of(contest, tracks, contest.members)]
    retries = _Retries()
    found = []
    for until, resource, cluster, renewed in expiries:
        # The real phase of resyncs is not known: here they start with the grid.
        resync = (
            grid.start + (math.floor((until - grid.start) / RESYNC_SECONDS) + 1) * RESYNC_SECONDS
        )
        noticed = min(*(_after(at, until) for at in triggers), resync, retries.after(until))
        if noticed < renewed and noticed <= grid.end:
            retries.warn(noticed, renewed)
            found.append(
                ScoreExpiry(resource=resource, cluster=cluster, noticed=noticed, renewed=renewed)
            )
    return tuple(found)


def _after(times: Sequence[float], moment: float) -> float:
    index = bisect.bisect_right(times, moment)
    return times[index] if index < len(times) else math.inf


class _Retries:
    """The passes that OCM repeats while they end with a warning."""

    def __init__(self) -> None:
        self._start = math.inf
        self._end = -math.inf

    def warn(self, noticed: float, renewed: float) -> None:
        """A pass saw an expired score, which is renewed later."""
        if noticed > self._end:
            self._start = noticed
        self._end = max(self._end, renewed)

    def after(self, moment: float) -> float:
        """The next retry after a moment; infinity if none is due."""
        if not self._start <= moment < self._end:
            return math.inf
        at, delay = self._start, FIRST_RETRY
        while at <= moment and delay < LONGEST_RETRY:
            at += delay
            delay *= 2
        if at <= moment:
            at += (math.floor((moment - at) / LONGEST_RETRY) + 1) * LONGEST_RETRY
        return at if at < self._end else math.inf
