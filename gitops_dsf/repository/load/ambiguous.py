"""Scalars that YAML parsers read differently. They are kept beside the data until the expected type of their
field is known.
"""

from dataclasses import dataclass

from gitops_dsf.diagnostics import Position

Path = tuple[str | int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class AmbiguousValue:
    """One ambiguous scalar. The document's data holds it as text."""

    path: Path
    """Field names and list indices from the root of the document."""
    position: Position
    text: str
    """As it was written."""
    instead: str
    """What to write if text is not meant; empty if there is no suggestion."""
