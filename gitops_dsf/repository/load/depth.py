"""Measures nesting before the recursive C composer sees a text."""

import re
from functools import lru_cache
from typing import Any

from yaml.events import CollectionEndEvent, CollectionStartEvent

from gitops_dsf.repository.load.compose import events

_BREAKS = "\n\r\x85\u2028\u2029"
"""The characters that end a line in libyaml."""


def could_exceed(text: str, depth: int) -> bool:
    """Whether the text could be nested deeper than this. It is cheap, and False is always right.

    Each level of nesting needs an opening bracket or at least one column at the start of a line: spaces, or
    the indicators of a compact collection such as `- - -`.
    """
    brackets = text.count("[") + text.count("{")
    return brackets >= depth or _indented(depth - brackets).search(f"\n{text}") is not None


@lru_cache(maxsize=256)
def _indented(columns: int) -> re.Pattern[str]:
    return re.compile(rf"[{_BREAKS}]\ufeff?[ \t\-?:]{{{columns}}}")


def too_deep_at(text: str, depth: int) -> tuple[int, int] | None:
    """0-based line and column of the first collection that is too deep. Raises what compose.events raises."""
    level = 0
    for event in events(text):
        if isinstance(event, CollectionStartEvent):
            level += 1
            if level > depth:
                mark: Any = event.start_mark
                return mark.line, mark.column
        elif isinstance(event, CollectionEndEvent):
            level -= 1
    return None
