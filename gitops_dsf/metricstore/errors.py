"""Reasons why a metric store gave no answer, with a bounded part of its own text.

It needs no optional dependency.
"""

from typing import Final

from dsf_wire.text import printable
from gitops_dsf.errors import GitopsDsfError

MAX_WORDS: Final = 400
"""Characters of a store's text in a message."""


class StoreError(GitopsDsfError):
    """The store gave no usable answer."""


class TooMuchError(StoreError):
    """The store gives no answer of this size: a smaller question may succeed."""


def words_of(text: str) -> str:
    """A store's text for a message, on one line. Any server may have written it."""
    return printable(" ".join(text[: 4 * MAX_WORDS].split()), max_characters=MAX_WORDS)
