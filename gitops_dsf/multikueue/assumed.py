"""Assumed load of jobs that the scores do not show yet. Pure.

A score is measured over a range and published after a delay. Without an assumption, all jobs of a
burst would go to the cluster that was best before the burst. The model is that of paced moves
(`gitops_dsf.pacing.assumptions`): a job is an application that arrives, and the scores measure it
in the same way.

Not guaranteed: that a job takes what `demand` says. Kueue knows the job's requests, and its quota
holds back a job for which a cluster has no room, whatever is assumed here.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gitops_dsf.hub.pace import PacedRanking, PacedTerm
from gitops_dsf.hub.scores import Scores
from gitops_dsf.pacing.assumptions import AssumedShift, assume, shifts_of
from gitops_dsf.pacing.ledger import LedgerMove, Phase


@dataclass(frozen=True, slots=True)
class PlacedJob:
    """A job that a cluster has, or that waits for this cluster alone."""

    cluster: str
    admitted_at: float | None
    """Seconds since 1970; None while it waits."""


def assumed_scores(
    scores: Scores, jobs: Iterable[PlacedJob], terms: Sequence[PacedTerm], *, now: float
) -> Scores:
    """The scores with the load of jobs that they do not show yet, within -100 and 100."""
    return assume(scores, _shifts(jobs, terms, now=now))


def _shifts(
    jobs: Iterable[PlacedJob], terms: Sequence[PacedTerm], *, now: float
) -> Iterable[AssumedShift]:
    ranking = PacedRanking(tuple(terms), steady=0)
    if not any(term.demand for term in terms):
        return
    recent = (job for job in jobs if _may_be_unmeasured(job, ranking, now=now))
    # Jobs of one second are alike, and a hub has a hundred thousand of them.
    for job, count in Counter(recent).items():
        for shift in shifts_of(_arrival(job, now=now), ranking, now=now):
            yield replace(shift, points=count * shift.points, doubt=count * shift.doubt)


def _may_be_unmeasured(job: PlacedJob, ranking: PacedRanking, *, now: float) -> bool:
    return job.admitted_at is None or now < job.admitted_at + ranking.measured_after


def _arrival(job: PlacedJob, *, now: float) -> LedgerMove:
    """The job as a move that arrived when it was admitted, or that is under way while it waits."""
    if job.admitted_at is None:
        return LedgerMove(placement="", source="", target=job.cluster, since=now)
    return LedgerMove(
        placement="",
        source="",
        target=job.cluster,
        since=job.admitted_at,
        phase=Phase.ENDED,
        phase_since=job.admitted_at,
    )
