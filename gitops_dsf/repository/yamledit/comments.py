"""Puts comments back that an edit of a YAML document lost.

ruamel.yaml hangs a comment on the token in front of it, and drops it with that token. Only the
author of a comment can decide whether it may go.
"""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, Final, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

_COMMENT: Final = re.compile(r"(?:^|(?<=\s))(#)")


class _LostLine(NamedTuple):
    """A line of the old text that may hold a comment that the new text lacks."""

    old_index: int
    new_index: int
    """The index of the line in the new text."""


def with_comments_of(old: str, new: str) -> str:
    """Returns the new text of a document, with every comment of the old text that is missing in it.

    Each comes back where it was, on a line of its own. Its subject may be gone; only its author can
    decide about that.
    """
    before = old.splitlines(keepends=True)
    kept = new.splitlines(keepends=True)
    lost_lines = list(_lost_lines(before, kept))
    if not lost_lines:
        return new
    meaning = _meaning(new)
    # From the end, so that the indices of lines above stay right.
    for lost in reversed(lost_lines):
        line = before[lost.old_index]
        below = "".join(before[lost.old_index + 1 : lost.old_index + 2]).strip()
        index, indent = _destination(lost.new_index, line, below, kept)
        for match in _COMMENT.finditer(line):
            start = match.start(1)
            uncommented = f"{line[:start].rstrip()}\n"
            without = [*before[: lost.old_index], uncommented, *before[lost.old_index + 1 :]]
            comment = line[start:].rstrip()
            is_kept = _count(comment, kept) >= _count(comment, before)
            if is_kept or _meaning("".join(without)) != _meaning(old):
                continue  # or a text that looks like a comment
            candidate = [*kept[:index], f"{indent}{comment}\n", *kept[index:]]
            # Inside a block text the line would become a part of that text.
            if _meaning("".join(candidate)) == meaning:
                kept = candidate
                break
    return "".join(kept)


def _lost_lines(before: Sequence[str], after: Sequence[str]) -> Iterator[_LostLine]:
    """Each line of the old text that changed or went, and that may hold a comment."""
    # autojunk ignores lines that are frequent in a long text, such as a closing brace.
    changes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    for tag, start, end, new_start, new_end in changes:
        if tag not in {"delete", "replace"}:
            continue
        for index in range(start, end):
            line = before[index]
            if "#" not in line:
                continue
            # A comment at the end of a replaced part belongs to what follows.
            is_last_comment = index == end - 1 and line.lstrip().startswith("#")
            yield _LostLine(index, new_end if is_last_comment else new_start)


def _destination(index: int, line: str, below: str, kept: Sequence[str]) -> tuple[int, str]:
    """The place where a comment comes back, and its indentation.

    It is above the line that it stood above, if that moved.
    """
    moved = [number for number, text in enumerate(kept) if below and text.strip() == below]
    if line.lstrip().startswith("#") and len(moved) == 1:
        index = moved[0]
        line = kept[index]
    return index, line[: len(line) - len(line.lstrip())]


def _count(comment: str, lines: Sequence[str]) -> int:
    return sum(line.rstrip().endswith(comment) for line in lines)


def _meaning(text: str) -> Any:  # noqa: ANN401 - whatever YAML holds
    """The data of a text. If it is not valid YAML, ValueError, which equals no data."""
    try:
        return YAML(typ="safe").load(text)
    except YAMLError:
        return ValueError
