"""Known facts about the values that a template works with."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

TextRead = tuple[str, str]
"""The name of a map of texts, and of a text in it."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value, as far as it is known.

    The kind is "text", "number", "bool", "map", "list", "texts" for a map of texts by any name, or
    "any". The size is about how many characters it (or a text of the map) has when it is written
    out.
    """

    kind: str
    size: int = 0
    constant: str | int | bool | None = None
    lacking: tuple[int, TextRead] | None = None
    """The place where the template reads it, if it is an empty text because a cluster lacks it."""
    fields: Mapping[str, "Value"] | None = None
    """The values in a map, if all of them are known."""
    name: str = ""
    """The parameter that a map of texts is."""


Parameters: TypeAlias = Mapping[str, Value | Mapping[str, Value]]
"""The parameters that a generator gives, by name. `values` is a map of its own."""
