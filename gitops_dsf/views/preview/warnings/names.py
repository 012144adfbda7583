"""Warnings of scores that OCM finds under another name after a change."""

from collections.abc import Iterator

from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.resolve.next_score import is_renamed
from gitops_dsf.wording import names_text


def name_warnings(base: CheckedFleet | None, head: CheckedFleet) -> Iterator[str]:
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
        yield (
            f"scores of {names_text(renamed)} get another name: until the agents have published it,"
            " OCM counts 0 on every cluster, and an application may move for that time"
        )
