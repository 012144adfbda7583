"""A planned import, as values: the files that would be written, and the fate of each object."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class ImportLine:
    """The outcome for one object. `file` is relative to the repository."""

    kind: str
    name: str
    file: str
    changes: tuple[str, ...] = ()
    """Changes in words; empty for a new object."""


@dataclass(kw_only=True)
class Import:
    """A planned import.

    Nothing is written yet: `files` holds the new text of every file that changes.
    """

    root: Path
    files: dict[str, str] = field(default_factory=dict)
    added: list[ImportLine] = field(default_factory=list)
    changed: list[ImportLine] = field(default_factory=list)
    differing: list[ImportLine] = field(default_factory=list)
    """Scorers and masks that differ between git and the hub. Git's are kept."""
    refused: list[ImportLine] = field(default_factory=list)
    """Locks that were not accepted, clusters that git must not hold, and objects of another version
    or name; `changes` says why.
    """
    not_joined: list[ImportLine] = field(default_factory=list)
    """Clusters that are being deleted, or that were not accepted; `changes` says which."""
    carried: list[ImportLine] = field(default_factory=list)
    """Placements and ApplicationSets that are written as they are; `changes` says why."""
    left: list[ImportLine] = field(default_factory=list)
    """Placements and ApplicationSets that are not written; `changes` says why."""
    applied_elsewhere: list[ImportLine] = field(default_factory=list)
    """Written objects that an Application of Argo CD applies; `changes` names it."""
    declared: list[str] = field(default_factory=list)
    """Scores of other add-ons that the settings declare from now on, without range."""
    undeclared: list[str] = field(default_factory=list)
    """Scores that are not declared, because no AddOnPlacementScore of the input has them."""
    adopted: int = 0
    """ApplicationSets that are written, in either form."""
    missing: list[ImportLine] = field(default_factory=list)
    """Objects in git that are not on the hub. They are reported and never deleted."""
    unchanged: int = 0
    skipped: list[str] = field(default_factory=list)
    """Kinds that were skipped, with their number, such as `3 ManagedClusterAddOn`."""
