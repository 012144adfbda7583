"""Suggestions for misspelt names."""

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A question with the closest known word; empty if none is close."""
    names = sorted(set(known))
    lowered = {name.lower(): name for name in reversed(names)}
    if word.lower() in lowered:
        return f"did you mean {lowered[word.lower()]}?"
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.6) if len(word) <= 100 else []
    return f"did you mean {close[0]}?" if close else ""
