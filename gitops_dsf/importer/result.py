"""What an import would change: whole files, and a line for people about each object."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """What happened to one object. `file` is relative to the repository, empty where no file is concerned."""

    file: str
    kind: str
    name: str
    changes: tuple[str, ...]
    """In words; empty for an object that is new."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Import:
    """Nothing is written yet: `files` holds the new text of every file that changes."""

    root: Path
    files: Mapping[str, str]
    added: tuple[Line, ...]
    changed: tuple[Line, ...]
    differing: tuple[Line, ...]
    """Scorers and masks that git defines otherwise than the hub: git counts."""
    refused: tuple[Line, ...]
    """Locks that are not written although the hub knows what they would hold; `changes` says why."""
    missing: tuple[Line, ...]
    """In git and not on the hub: reported, never deleted."""
    unchanged: int
    skipped: tuple[str, ...]
    """Kinds that were passed over, and how many, such as `3 ManagedClusterAddOn`."""
