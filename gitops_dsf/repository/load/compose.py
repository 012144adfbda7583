"""Composes node trees with libyaml, without the slow parts of PyYAML. Types are resolved by load.scalar."""

from collections.abc import Iterator
from typing import Any

from yaml._yaml import CParser
from yaml.events import AliasEvent
from yaml.nodes import Node


class _Composer(CParser):
    """PyYAML's binding asks its subclass for tags. This one has none, so the style tells quoted and plain
    scalars apart.
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
    """Composes every document of a text. The C code recurses, so the text must have passed load.depth.

    Raises yaml.MarkedYAMLError or yaml.reader.ReaderError at the first mistake.
    """
    parser: Any = _Composer(text)
    try:
        while parser.check_node():
            yield parser.get_node()
    finally:
        parser.dispose()


def events(text: str) -> Iterator[Any]:
    """Yields every event of a text. Nothing here recurses, so any nesting is safe."""
    parser: Any = _Composer(text)
    try:
        while parser.check_event():
            yield parser.get_event()
    finally:
        parser.dispose()


def first_alias(text: str) -> AliasEvent | None:
    """The first alias of a text. Raises what `compose` raises."""
    return next((event for event in events(text) if isinstance(event, AliasEvent)), None)
