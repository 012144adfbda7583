"""libyaml's node trees, with everything that Python would do for each node left out: types are resolved by
load.scalar.
"""

from collections.abc import Iterator
from typing import Any

from yaml._yaml import CParser
from yaml.nodes import Node


class _Composer(CParser):
    """PyYAML's binding asks its subclass for tags; ours has none, so quoted and plain scalars are told apart
    by their style.
    """

    def __init__(self, text: str) -> None:
        CParser.__init__(self, text)

    def resolve(self, *_: object) -> str:
        return ""

    def descend_resolver(self, *_: object) -> None:
        return None

    def ascend_resolver(self, *_: object) -> None:
        return None


def compose(text: str) -> Iterator[Node]:
    """Every document of a text as a tree. Recursive in C: text must have passed load.depth. Raises
    yaml.MarkedYAMLError or yaml.reader.ReaderError at the first mistake.
    """
    parser: Any = _Composer(text)
    try:
        while parser.check_node():
            yield parser.get_node()
    finally:
        parser.dispose()


def events(text: str) -> Iterator[Any]:
    """Every event of a text; nothing here is recursive, so any nesting is safe."""
    parser: Any = _Composer(text)
    try:
        while parser.check_event():
            yield parser.get_event()
    finally:
        parser.dispose()
