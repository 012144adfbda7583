"""A proposal and its branch. The name of the branch is a digest of the content, so the same content is never
offered twice.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from gitops_dsf.errors import UsageError

DIGITS: Final = 16
"""Hexadecimal digits of the digest in a branch's name."""


class Kind(StrEnum):
    """What is proposed."""

    LOCKS = "locks"
    INVENTORY = "inventory"


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Subject:
    """What a proposal is about. Each subject has at most one open proposal."""

    kind: Kind
    scorer: str = ""
    """Set for a lock."""

    def __str__(self) -> str:
        return f"{self.kind}-{self.scorer}" if self.scorer else str(self.kind)


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """The desired files of the repository (None: removed), and texts for people."""

    subject: Subject
    files: Mapping[str, bytes | None]
    title: str
    details: tuple[str, ...]
    """One change each. They may quote /config pages and clusters, without control characters."""

    @property
    def digest(self) -> str:
        """Digest of paths and contents."""
        found = hashlib.sha256()
        for path, content in sorted(self.files.items()):
            found.update(
                f"{path}\0{'-' if content is None else len(content)}\0".encode(errors="surrogateescape")
            )
            found.update(content or b"")
        return found.hexdigest()[:DIGITS]


class Naming:
    """Names of the branches of one fleet: prefix, folder of the fleet, subject, digest."""

    def __init__(self, *, prefix: str, folder: str = "") -> None:
        """Raises UsageError when the prefix cannot begin a branch's name."""
        broken = any(part in f"{prefix}x" for part in ("..", "//", "/.", "./", ".lock/"))
        if broken or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._/-]*", prefix):
            msg = (
                f"branchPrefix {prefix!r}: a branch name cannot begin with it; write letters, digits, -"
                " and _, such as gitops-dsf/"
            )
            raise UsageError(msg)
        # Two fleets in one repository need different names.
        slug = re.sub(r"[^A-Za-z0-9_/-]+", "-", folder).strip("/-")
        self._stem = f"{prefix}{slug}/" if slug else prefix

    @property
    def all(self) -> str:
        """The pattern of all branches of this fleet."""
        return f"{self._stem}*"

    def branch(self, proposal: Proposal) -> str:
        """The branch of a proposal."""
        return f"{self._stem}{proposal.subject}-{proposal.digest}"

    def subject(self, branch: str) -> Subject | None:
        """The subject of a branch; None for a branch with another kind of name."""
        rest = branch.removeprefix(self._stem) if branch.startswith(self._stem) else ""
        found = re.fullmatch(
            rf"(?:inventory|locks-(?P<scorer>[a-z0-9][a-z0-9.-]*))-[0-9a-f]{{{DIGITS}}}", rest
        )
        if found is None:
            return None
        return (
            Subject(kind=Kind.LOCKS, scorer=found["scorer"])
            if found["scorer"]
            else Subject(kind=Kind.INVENTORY)
        )
