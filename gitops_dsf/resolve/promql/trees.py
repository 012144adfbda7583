"""The parts of syntax trees of PromQL that all visitors read. Nodes have no types."""

from collections.abc import Iterator
from typing import Final

from gitops_dsf.resolve.promql.check import Tree

CHOOSING: Final = frozenset({"topk", "bottomk", "limitk", "limit_ratio"})
"""Aggregations that choose series, and keep their labels."""
MAX_DEPTH: Final = 200
"""Levels of a tree that are visited, because the visitors recurse."""
_CHILDREN: Final = ("expr", "lhs", "rhs", "vector_selector", "param")
"""Attributes of a node that are nodes."""


def aggregation_name(tree: Tree) -> str:
    """The word of an AggregateExpr, such as sum. The parser gives it in the text only."""
    return str(tree.prettify().lstrip().split("(", 1)[0].split(None, 1)[0])


def children(tree: Tree) -> Iterator[Tree]:
    """The nodes right below a node."""
    for name in _CHILDREN:
        child = getattr(tree, name, None)
        if child is not None:
            yield child
    yield from getattr(tree, "args", None) or []


def text_of(tree: Tree) -> str:
    """The value of a literal; empty for other nodes."""
    return str(getattr(tree, "val", ""))
