"""Reasons why a scorer gives no scores: its clusters by reason, and a bounded sentence about them.

`status`, `doctor` and the reconciler's condition `Scored` share this module.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from gitops_dsf.hub.scores import ScoreFailure
from gitops_dsf.wording import names_text

MAX_REASONS: Final = 5
"""Reasons that a sentence names. A fleet of agents of one version has few at once."""


class FailureGroup(Struct, frozen=True):
    """The clusters on which a scorer gives no scores for one reason."""

    reason: str
    clusters: tuple[str, ...]
    """The clusters, in order of name."""
    message: str
    """The one that most of them have. The first one of equally frequent messages."""
    since: float | None
    """The time when the first of them lost its scores (Unix seconds); None if no agent reports it.
    """


def failure_groups(failures: Mapping[str, ScoreFailure]) -> tuple[FailureGroup, ...]:
    """The failures by reason. The most frequent reason comes first."""
    by_reason: dict[str, list[str]] = {}
    for cluster in sorted(failures):
        by_reason.setdefault(failures[cluster].reason, []).append(cluster)
    groups: list[FailureGroup] = []
    for reason, clusters in by_reason.items():
        of_reason = [failures[cluster] for cluster in clusters]
        group = FailureGroup(
            reason=reason,
            clusters=tuple(clusters),
            message=_most_frequent(failure.message for failure in of_reason),
            since=_first(of_reason),
        )
        groups.append(group)
    # The reason of most clusters is most likely the cause of the others, too.
    return tuple(sorted(groups, key=lambda group: (-len(group.clusters), group.reason)))


def failures_text(groups: Iterable[FailureGroup]) -> str:
    """Formats `2 QueryFailed (eu-3, eu-9): parse error at char 12; 1 NoSeries (ap-2)`."""
    listed = tuple(groups)
    parts: list[str] = []
    for group in listed[:MAX_REASONS]:
        part = f"{len(group.clusters)} {group.reason} ({names_text(group.clusters)})"
        parts.append(f"{part}: {group.message}" if group.message else part)
    hidden = sum(len(group.clusters) for group in listed[MAX_REASONS:])
    if hidden:
        parts.append(f"{hidden} for other reasons")
    return "; ".join(parts)


def _most_frequent(messages: Iterable[str]) -> str:
    # Counter keeps the order in which messages came, so of equal counts the first one wins.
    [(message, _)] = Counter(messages).most_common(1)
    return message


def _first(failures: Iterable[ScoreFailure]) -> float | None:
    times = [failure.since.timestamp() for failure in failures if failure.since is not None]
    return min(times, default=None)
