"""Counts, lists of names and suggestions, in words for people."""

import difflib
from collections.abc import Iterable, Sequence

_MAX_COMPARED = 100
"""Characters of a word that is compared with others: the comparison is quadratic."""


def plural(count: int | str, noun: str) -> str:
    """Formats `1 cluster`, `2 clusters`. A count may be text, such as `2.5`."""
    return f"{count} {noun}" if str(count) == "1" else f"{count} {noun}s"


def be(count: int) -> str:
    """The form of `to be` behind a number of things: `1 is`, `2 are`."""
    return "is" if count == 1 else "are"


def names_text(names: Iterable[str], *, max_names: int = 5) -> str:
    """Formats `a, b and 3 more`, with at most this many names."""
    listed = tuple(names)
    text = ", ".join(listed[:max_names])
    if len(listed) > max_names:
        return f"{text} and {len(listed) - max_names} more"
    return text


def and_text(clauses: Sequence[str]) -> str:
    """Formats `a`, `a and b`, `a, b and c`."""
    if len(clauses) < 2:
        return "".join(clauses)
    return f"{', '.join(clauses[:-1])} and {clauses[-1]}"


def or_text(words: Sequence[str]) -> str:
    """Formats `a`, `a or b`, `a, b or c`."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} or {words[-1]}"


def choice_text(names: Sequence[str], count: int, *, max_names: int = 3) -> str:
    """Formats `a or b`, or `2 of a, b, c`; empty for too many names, or for nothing to choose."""
    if not count or len(names) > max_names:
        return ""
    if count == 1:
        return " or ".join(names)
    return f"{count} of {', '.join(names)}"


def shortened(text: str, *, max_characters: int = 60) -> str:
    """The beginning of a text that has more characters than `max_characters`, else the whole."""
    return text if len(text) <= max_characters else f"{text[: max_characters - 3]}..."


def prioritizer_text(name: str) -> str:
    """Formats the prioritizer `AddOn/cpu/cpu` as `cpu`."""
    resource, _, score = name.removeprefix("AddOn/").partition("/")
    return resource if score in {"", resource} else f"{resource}/{score}"


def closest(word: str, known: Iterable[str]) -> str:
    """The known word that is closest to a misspelt one; empty if none is close."""
    names = sorted(set(known))
    by_lower_case = {name.lower(): name for name in reversed(names)}
    if word.lower() in by_lower_case:
        return by_lower_case[word.lower()]
    if len(word) > _MAX_COMPARED:
        return ""
    similar = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    return similar[0] if similar else ""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A question with the known word that is closest to a misspelt one; empty if none is close."""
    similar = closest(word, known)
    return f"did you mean {similar}?" if similar else ""


def did_you_mean_one_of(word: str, known: Iterable[str], *, where: str = "defined here") -> str:
    """The known word that is closest, else the list of some."""
    return (
        did_you_mean(word, known) or f"{where}: {names_text(sorted(known), max_names=8) or 'none'}"
    )
