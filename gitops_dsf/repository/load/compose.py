"""Composes YAML into nodes with libyaml, and refuses aliases and deep nesting before it does.

The composer of PyYAML's C binding recurses, so tens of thousands of nested collections crash the
process. Aliases of aliases can make gigabytes of a small text. So `forbidden` looks at the parser's
events first: they are flat, and nothing is built of them.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final, NamedTuple

from yaml._yaml import CParser
from yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent
from yaml.nodes import Node

from gitops_dsf.diagnostics.codes import ALIASES, DEPTH, FindingCode

MAX_DEPTH: Final = 64
"""Levels of nested mappings and lists, far below those that crash the composer."""

_ALIAS = re.compile(r"(?:^|[\s\[{,])\*[^\s*]")
"""A pattern that matches every alias, and some other text."""


class Refusal(NamedTuple):
    """The reason why a text is not composed."""

    code: FindingCode
    mark: Any
    """The mark of libyaml where it begins, with 0-based `line` and `column`."""
    message: str
    hint: str


class _Composer(CParser):
    """PyYAML's parser, without its resolution of tags.

    The binding asks its subclass for the tag of each node. Here no node gets one, because
    `load.scalar` reads plain texts, and the style shows which texts are quoted. `"".format` returns
    an empty text for any arguments, and a builtin is called faster than a method.
    """

    resolve = descend_resolver = ascend_resolver = "".format


def compose(text: str) -> Iterator[Node]:
    """Composes every document of a text, in which `forbidden` found nothing.

    Raises yaml.MarkedYAMLError or yaml.reader.ReaderError at the first mistake.
    """
    parser: Any = _Composer(text)
    try:
        while parser.check_node():
            yield parser.get_node()
    finally:
        parser.dispose()


def forbidden(text: str) -> Refusal | None:
    """The first alias or too deep collection.

    Does not recurse. Raises yaml.MarkedYAMLError or yaml.reader.ReaderError as `compose` does.
    """
    # To read the events is a second pass over the text, and hardly any file has either.
    if not _could_be_deep(text) and not ("*" in text and _ALIAS.search(text)):
        return None
    parser: Any = _Composer(text)
    level = 0
    try:
        while parser.check_event():
            event = parser.get_event()
            if isinstance(event, AliasEvent):
                message = f"the alias *{event.anchor} is not read"
                return Refusal(ALIASES, event.start_mark, message, "write the value out")
            level += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
            if level > MAX_DEPTH:
                message = f"more than {MAX_DEPTH} levels of mappings and lists inside each other"
                return Refusal(DEPTH, event.start_mark, message, "flatten the document")
    finally:
        parser.dispose()
    return None


def _could_be_deep(text: str) -> bool:
    """Whether the text could be nested too deeply: a cheap test, whose False is always right.

    Each level of nesting needs an opening bracket or at least one column at the start of a line:
    spaces, or the indicators of a compact collection such as `- - -`.
    """
    columns = MAX_DEPTH - text.count("[") - text.count("{")
    # Rounded down, so that few patterns are compiled, which takes longer than most searches.
    columns -= columns % 16
    return columns <= 0 or _indented(columns).search(f"\n{text}") is not None


@cache
def _indented(columns: int) -> re.Pattern[str]:
    # The first characters are those that end a line for libyaml.
    return re.compile(rf"[\n\r\x85\u2028\u2029]\ufeff?[ \t\-?:]{{{columns}}}")
