"""Nesting, measured before the composer (recursive, in C) may see a text."""

import re
from typing import Any

from yaml.events import CollectionEndEvent, CollectionStartEvent

from gitops_dsf.load.compose import events


def could_exceed(text: str, depth: int) -> bool:
    """Whether the text might nest deeper than this: cheap, never wrong with False.

    Every level of nesting costs an opening bracket or at least one column of indentation (spaces, or the indicators of a
    compact collection such as `- - -`).
    """
    brackets = text.count("[") + text.count("{")
    if brackets >= depth:
        return True
    return re.search(rf"(?m)^[ \t\-?:]{{{depth - brackets}}}", text) is not None


def too_deep_at(text: str, depth: int) -> tuple[int, int] | None:
    """0-based line and column of the first collection below the allowed depth. Raises what compose.events raises."""
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
