"""Composes YAML into nodes with libyaml, and refuses aliases and deep nesting before it does.

The composer of PyYAML's C binding recurses: tens of thousands of nested collections crash the
process. An alias can blow a small text up to gigabytes. So `forbidden` looks at the events first,
which are flat.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from yaml._yaml import CParser
from yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent
from yaml.nodes import Node

from gitops_dsf.diagnostics.codes import ALIASES, DEPTH, Code

MAX_DEPTH: Final = 64
"""Levels of nested mappings and lists. The C composer recurses, and crashes on tens of thousands.
"""

_ALIAS = re.compile(r"(?:^|[\s\[{,])\*[^\s*]")
"""What every alias matches, and some other text."""


class _Composer(CParser):
    """PyYAML's binding asks its subclass for the tag of each node.

    There is none: the style tells what is quoted. A builtin that takes any arguments is called
    faster than a method.
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


def forbidden(text: str) -> tuple[Code, Any, str, str] | None:
    """The first alias or too deep collection: code, mark, message, hint.

    Does not recurse; may raise.
    """
    if not _could_be_deep(text) and not ("*" in text and _ALIAS.search(text)):
        return None
    parser: Any = _Composer(text)
    level = 0
    try:
        while parser.check_event():
            event = parser.get_event()
            if isinstance(event, AliasEvent):
                message = f"the alias *{event.anchor} is not read"
                return ALIASES, event.start_mark, message, "write the value out"
            level += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
            if level > MAX_DEPTH:
                message = f"more than {MAX_DEPTH} levels of mappings and lists inside each other"
                return DEPTH, event.start_mark, message, "flatten the document"
    finally:
        parser.dispose()
    return None


def _could_be_deep(text: str) -> bool:
    """Whether the text could be nested too deeply.

    It is cheap, and False is always right.

    Each level of nesting needs an opening bracket or at least one column at the start of a line:
    spaces, or the indicators of a compact collection such as `- - -`.
    """
    brackets = text.count("[") + text.count("{")
    return brackets >= MAX_DEPTH or _indented(MAX_DEPTH - brackets).search(f"\n{text}") is not None


@lru_cache(maxsize=256)
def _indented(columns: int) -> re.Pattern[str]:
    return re.compile(
        rf"[\n\r\x85\u2028\u2029]\ufeff?[ \t\-?:]{{{columns}}}"
    )  # what ends a line in libyaml
