"""The result of an import: whole files, and a line for people about each object."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """What happened to one object. `file` is relative to the repository; empty if no file is concerned."""

    file: str
    kind: str
    name: str
    changes: tuple[str, ...]
    """Changes in words; empty for a new object."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Import:
    """A planned import. Nothing is written yet: `files` holds the new text of every file that changes."""

    root: Path
    files: Mapping[str, str]
    added: tuple[Line, ...]
    changed: tuple[Line, ...]
    differing: tuple[Line, ...]
    """Scorers and masks that differ between git and the hub. Git's are kept."""
    refused: tuple[Line, ...]
    """Locks that were not accepted; `changes` says why."""
    missing: tuple[Line, ...]
    """In git but not on the hub. They are reported and never deleted."""
    unchanged: int
    skipped: tuple[str, ...]
    """Kinds that were skipped, with their number, such as `3 ManagedClusterAddOn`."""
