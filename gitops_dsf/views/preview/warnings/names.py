"""Warnings of scores that OCM finds under another name after a change."""

from collections.abc import Iterator
from dataclasses import dataclass

from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.resolve.next_score import is_renamed


@dataclass(frozen=True, kw_only=True)
class ScoresRenamed:
    """Scorers whose scores get another name."""

    scorers: tuple[str, ...]


def name_warnings(base: CheckedFleet | None, head: CheckedFleet) -> Iterator[ScoresRenamed]:
    """Warns of the time in which nothing has the new name.

    OCM ranks by it as soon as Argo CD has applied the Placement. The agents get their configuration
    up to 90 seconds later.
    """
    # The first scores of a new fleet have no older name by which anything ranks.
    if base is None:
        return
    renamed = []
    for name, after in head.scorer_by_name.items():
        before = base.scorer_by_name.get(name)
        if before is not None and is_renamed(before, after):
            renamed.append(name)
    if renamed:
        yield ScoresRenamed(scorers=tuple(renamed))
