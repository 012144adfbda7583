"""Counts, lists of names and suggestions, in words for people."""

import difflib
from collections.abc import Iterable


def plural(count: int | str, noun: str) -> str:
    """Formats `1 cluster`, `2 clusters`. A count may be text, such as `2.5`."""
    return f"{count} {noun}" if str(count) == "1" else f"{count} {noun}s"


def names_text(names: Iterable[str], *, most: int = 5) -> str:
    """Formats `a, b and 3 more`, with at most this many names."""
    found = tuple(names)
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return ", ".join(found[:most]) + more


def shortened(text: str, *, most: int = 60) -> str:
    """The beginning of a text that has more characters than `most`, else the whole."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def prioritizer_text(name: str) -> str:
    """Formats the prioritizer `AddOn/cpu/cpu` as `cpu`."""
    resource, _, score = name.removeprefix("AddOn/").partition("/")
    return resource if score in {"", resource} else f"{resource}/{score}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A question with the known word that is closest to a misspelt one; empty if none is close."""
    names = sorted(set(known))
    lowered = {name.lower(): name for name in reversed(names)}
    if word.lower() in lowered:
        return f"did you mean {lowered[word.lower()]}?"
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.6) if len(word) <= 100 else []
    return f"did you mean {close[0]}?" if close else ""


def did_you_mean_one_of(word: str, known: Iterable[str], *, where: str = "defined here") -> str:
    """The known word that is closest, else the list of some."""
    return did_you_mean(word, known) or f"{where}: {names_text(sorted(known), most=8) or 'none'}"
