"""The time that an expression of PromQL looks back."""

from gitops_dsf.resolve.promql.check import Tree
from gitops_dsf.resolve.promql.trees import MAX_DEPTH, children


def history_seconds(tree: Tree, depth: int = 0) -> int:
    """The seconds of ranges, subqueries and offsets together, along the longest branch.

    An `@` with a time of its own is ignored: no retention would help.
    """
    # A query so deep is not judged: the answer errs to a shorter history.
    if depth > MAX_DEPTH:
        return 0
    own = 0
    for name in ("range", "offset"):
        duration = getattr(tree, name, None)
        if duration:
            own += int(duration.total_seconds())
    longest = 0
    for child in children(tree):
        longest = max(longest, history_seconds(child, depth + 1))
    return max(own, 0) + longest
