"""Restores comments that an edit removed: ruamel attaches the comment lines above a key to the preceding
value. Pure.
"""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

_COMMENT: Final = re.compile(r"(?:^|(?<=\s))(#)")


def with_comments_of(old: str, new: str) -> str:
    """Returns the new text of a document, with every comment of the old text that is missing in it.

    Each comes back where it was, on a line of its own. Its subject may be gone; only its author can decide
    about that.
    """
    before, kept = old.splitlines(keepends=True), new.splitlines(keepends=True)
    all_lost = list(_lost(before, kept))
    if not all_lost:
        return new
    meaning = _meaning(new)
    for at, lost in reversed(all_lost):
        line = before[lost]
        place, indent = _place(at, line, "".join(before[lost + 1 : lost + 2]).strip(), kept)
        for start in (found.start(1) for found in _COMMENT.finditer(line)):
            without = [*before[:lost], f"{line[:start].rstrip()}\n", *before[lost + 1 :]]
            comment = line[start:].rstrip()
            is_there = _count(comment, kept) >= _count(comment, before)
            if is_there or _meaning("".join(without)) != _meaning(old):
                continue  # or a text that looks like a comment
            tried = [*kept[:place], f"{indent}{comment}\n", *kept[place:]]
            if _meaning("".join(tried)) == meaning:
                kept = tried
                break
    return "".join(kept)


def _count(comment: str, lines: Sequence[str]) -> int:
    return sum(line.rstrip().endswith(comment) for line in lines)


def _place(at: int, line: str, below: str, kept: Sequence[str]) -> tuple[int, str]:
    """Where a comment comes back, and its indentation: above the line that it stood above, if that moved."""
    moved = [index for index, text in enumerate(kept) if below and text.strip() == below]
    if line.lstrip().startswith("#") and len(moved) == 1:
        at, line = moved[0], kept[moved[0]]
    return at, line[: len(line) - len(line.lstrip())]


def _lost(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[int, int]]:
    """For each line that may hold a missing comment, its place in the new text and in the old one, in
    order.
    """
    for tag, start, end, into, until in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag in {"delete", "replace"}:
            # A comment at the end of a replaced part belongs to what follows.
            yield from (
                (until if index == end - 1 and before[index].lstrip().startswith("#") else into, index)
                for index in range(start, end)
                if "#" in before[index]
            )


def _meaning(text: str) -> Any:  # noqa: ANN401 - whatever YAML holds
    try:
        return YAML(typ="safe").load(text)
    except YAMLError:
        return ValueError
