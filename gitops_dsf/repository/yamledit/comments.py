"""Restores comments that an edit removed: ruamel attaches the comment lines above a key to the preceding
value. Pure.
"""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError


def with_comments_of(old: str, new: str) -> str:
    """Returns the new text of a document, with every comment line of the old text that is missing in it.

    Each comes back where it was. Its subject may be gone; only its author can decide about that.
    """
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    kept = list(after)
    meaning = _meaning(new)
    for at, lost in reversed(list(_lost(before, after))):
        without = before[:lost] + before[lost + 1 :]
        if _meaning("".join(without)) != _meaning(old):
            continue  # a line of a block scalar that looks like a comment
        line = before[lost] if before[lost].endswith("\n") else f"{before[lost]}\n"
        tried = [*kept[:at], line, *kept[at:]]
        if _meaning("".join(tried)) == meaning:
            kept = tried
    return "".join(kept)


def _lost(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[int, int]]:
    """For each missing comment, its place in the new text and in the old one, in order."""
    for tag, start, end, into, until in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag not in {"delete", "replace"}:
            continue
        written = {line.strip() for line in after[into:until]}
        lines = [
            index
            for index in range(start, end)
            if before[index].lstrip().startswith("#") and before[index].strip() not in written
        ]
        # A comment at the end of a replaced part belongs to what follows.
        yield from ((until if index == end - 1 else into, index) for index in lines)


def _meaning(text: str) -> Any:  # noqa: ANN401 - whatever YAML holds
    try:
        return YAML(typ="safe").load(text)
    except YAMLError:
        return ValueError
