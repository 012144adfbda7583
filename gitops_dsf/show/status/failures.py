"""Reasons why scorers give no scores on some clusters, as the agents there report them."""

from collections.abc import Iterator, Sequence
from typing import Final

from gitops_dsf.hub.times import age_text
from gitops_dsf.views.status.scores import ScorerView
from gitops_dsf.wording import names_text, plural

MAX_LINES: Final = 10
"""Lines without --all, and clusters that have a line each."""


def failure_lines(scorers: Sequence[ScorerView], *, everything: bool, now: float) -> Iterator[str]:
    """Yields a line for each failing cluster if they are few or requested, else for each reason.

    ``now`` is the hub's time in seconds since 1970.
    """
    failing = [view for view in scorers if view.failing]
    # A store that fails, fails for all of its clusters, and a line for each of them would hide the
    # other reasons.
    clusters = 0
    for view in failing:
        for group in view.failing:
            clusters += len(group.clusters)
    if everything or clusters <= MAX_LINES:
        for view in failing:
            yield from _each_cluster(view, now=now)
        return
    lines: list[str] = []
    for view in failing:
        lines += _each_reason(view, now=now)
    yield from lines[:MAX_LINES]
    if len(lines) > MAX_LINES:
        yield f"  and {len(lines) - MAX_LINES} more such lines; --scorer or --all shows them"


def _each_cluster(view: ScorerView, *, now: float) -> Iterator[str]:
    for cluster in sorted(view.failures.keys() & view.expected):
        failure = view.failures[cluster]
        since = None if failure.since is None else failure.since.timestamp()
        age = _for_time(since, now)
        yield f"  {view.scorer.name} on {cluster}: {failure.reason}{age}: {failure.message}"


def _each_reason(view: ScorerView, *, now: float) -> Iterator[str]:
    for group in view.failing:
        clusters = plural(len(group.clusters), "cluster")
        names = names_text(group.clusters)
        age = _for_time(group.since, now)
        yield (
            f"  {view.scorer.name} on {clusters} ({names}): {group.reason}{age}: {group.message}"
        )


def _for_time(since: float | None, now: float) -> str:
    """` for 12 min`; empty if it is not known."""
    return "" if since is None else f" for {age_text(now - since)}"
