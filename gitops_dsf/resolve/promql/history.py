"""How far an expression looks back from the moment that it is evaluated at."""

from typing import Any

from gitops_dsf.resolve.promql.labels import MAX_DEPTH

_CHILDREN = ("expr", "lhs", "rhs", "vector_selector", "param")


def history_seconds(tree: Any) -> int:  # noqa: ANN401 - a promql_parser expression
    """The seconds of ranges, subqueries and offsets together, along the longest branch. An `@` with a time of
    its own is ignored: no retention would help.
    """
    return _seconds(tree, 0)


def _seconds(tree: Any, depth: int) -> int:  # noqa: ANN401 - a promql_parser expression
    if depth > MAX_DEPTH:
        return 0
    own = sum(
        int(found.total_seconds()) for name in ("range", "offset") if (found := getattr(tree, name, None))
    )
    children = [child for name in _CHILDREN if (child := getattr(tree, name, None)) is not None]
    children += getattr(tree, "args", None) or []
    return max(own, 0) + max((_seconds(child, depth + 1) for child in children), default=0)
