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
    all_lost = list(_lost(before, after))
    if not all_lost:
        return new
    kept = list(after)
    meaning = _meaning(new)
    for at, lost in reversed(all_lost):
        without = before[:lost] + before[lost + 1 :]
        if _meaning("".join(without)) != _meaning(old):
            continue  # a line of a block scalar that looks like a comment
        line = before[lost] if before[lost].endswith("\n") else f"{before[lost]}\n"
        tried = [*kept[:at], line, *kept[at:]]
        if _meaning("".join(tried)) == meaning:
            kept = tried
    return "".join(kept)


def with_comments_from(other: str, text: str) -> str:
    """Returns a text with every comment line of another text that is missing in it. Each comes above the
    field that it is above in the other text, with that field's indentation; if the text does not have the
    field, after the last one. The other text begins with a field.
    """
    found = text.splitlines(keepends=True)
    meaning = _meaning(text)
    theirs = other.splitlines()
    place = _above(theirs[0].strip(), found, 0) + 1 if theirs else 0
    for index, line in enumerate(theirs):
        comment = line.strip()
        if not comment.startswith("#") or any(comment == each.strip() for each in found):
            continue
        if _meaning("\n".join(theirs[:index] + theirs[index + 1 :])) != _meaning(other):
            continue  # a line of a block scalar that looks like a comment
        place = _above(_field(theirs[index + 1 :]), found, place)
        indent = "" if place == len(found) else found[place][: -len(found[place].lstrip())]
        tried = [*found[:place], f"{indent}{comment}\n", *found[place:]]
        if _meaning("".join(tried)) == meaning:
            found, place = tried, place + 1
    return "".join(found)


def _field(lines: Sequence[str]) -> str:
    """The first field of these lines, such as `query:`; empty if there is none."""
    content = (line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#"))
    field, colon, _ = next(content, "").partition(":")
    return f"{field}{colon}" if colon else ""


def _above(field: str, lines: Sequence[str], start: int) -> int:
    """The first line from `start` on that has the field; the end without a field, and `start` if it is
    absent.
    """
    if not field:
        return len(lines)
    return next((at for at in range(start, len(lines)) if lines[at].strip().startswith(field)), start)


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
