"""What asking the scoring APIs came to: one outcome per scorer, and the files that would change. Values,
nothing is written.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """What happens to a lock."""

    UNCHANGED = "unchanged"
    NEW = "new"
    """There was no lock."""
    CHANGED = "changed"
    REFUSED = "refused"
    """The page was not read or is not accepted; the old lock stays."""
    UNUSED = "unused"
    """A lock that nobody reads; it stays until somebody removes it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One field of a lock, by its path below spec; None where it is absent."""

    field: str
    before: Any
    after: Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What became of one scorer's lock."""

    scorer: str
    verdict: Verdict
    file: str
    """Where the lock is, or would be: relative to the repository, with forward slashes."""
    url: str = ""
    """The page that was asked; empty when none was."""
    changes: tuple[Change, ...] = ()
    reasons: tuple[str, ...] = ()
    """Why it is refused or unused."""
    notes: tuple[str, ...] = ()
    """Warnings about what was accepted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SyncPlan:
    """Outcomes sorted by scorer, and the new text of every lock file that changes."""

    outcomes: tuple[Outcome, ...]
    files: Mapping[str, str]

    @property
    def refused(self) -> bool:
        """Whether any scorer's page was not accepted."""
        return any(item.verdict is Verdict.REFUSED for item in self.outcomes)

    @property
    def drifted(self) -> bool:
        """Whether any lock differs from what its page says."""
        return bool(self.files)
