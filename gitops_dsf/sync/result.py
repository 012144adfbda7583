"""The result of a sync: one LockResult per scorer, and the files that would change. Pure values."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from gitops_dsf.hub.drift import Change


class LockState(StrEnum):
    """What happens to a lock."""

    UNCHANGED = "unchanged"
    NEW = "new"
    """There was no lock before."""
    CHANGED = "changed"
    REFUSED = "refused"
    """The page could not be read or was not accepted. The old lock stays."""
    UNUSED = "unused"
    """No scorer uses this lock. It stays until a person removes it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LockResult:
    """The result for one scorer's lock."""

    scorer: str
    verdict: LockState
    file: str
    """Path of the lock file, relative to the repository, with forward slashes. The file may not exist yet."""
    url: str = ""
    """The /config page that was requested; empty if none was."""
    changes: tuple[Change, ...] = ()
    reasons: tuple[str, ...] = ()
    """Why the page was refused, or why the lock is unused."""
    notes: tuple[str, ...] = ()
    """Warnings about what was accepted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SyncPlan:
    """Results sorted by scorer, and the new text of every lock file that changes, by path."""

    outcomes: tuple[LockResult, ...]
    files: Mapping[str, str]

    @property
    def refused(self) -> bool:
        """Whether any page was refused."""
        return any(item.verdict is LockState.REFUSED for item in self.outcomes)

    @property
    def drifted(self) -> bool:
        """Whether any lock differs from what its page says."""
        return bool(self.files)
