"""Values that readers of YAML disagree about: kept beside the data, for whoever knows what is wanted at their
place.
"""

from dataclasses import dataclass

from gitops_dsf.diagnostics import Position

Path = tuple[str | int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Disputed:
    """One ambiguous scalar. The document's data holds its text."""

    path: Path
    """Field names and list indices from the root of the document."""
    position: Position
    text: str
    """As it was written."""
    instead: str
    """What to write when it is not meant as text; empty where nothing fits."""
