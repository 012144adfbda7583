"""A proposal, and the branch that it is offered on: named by its content, so that the same content is never
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
"""Of the digest in a branch's name."""


class Kind(StrEnum):
    """What is proposed: the names that --propose takes."""

    LOCKS = "locks"
    INVENTORY = "inventory"


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Subject:
    """What there is at most one open proposal about."""

    kind: Kind
    scorer: str = ""
    """Of a lock."""

    def __str__(self) -> str:
        return f"{self.kind}-{self.scorer}" if self.scorer else str(self.kind)


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """Files of the repository as they should be (None: removed), and what changes, for people."""

    subject: Subject
    files: Mapping[str, bytes | None]
    title: str
    details: tuple[str, ...]
    """One change each; texts of strangers among them, without control characters."""

    @property
    def digest(self) -> str:
        """Of paths and contents."""
        found = hashlib.sha256()
        for path, content in sorted(self.files.items()):
            found.update(
                f"{path}\0{'-' if content is None else len(content)}\0".encode(errors="surrogateescape")
            )
            found.update(content or b"")
        return found.hexdigest()[:DIGITS]


class Naming:
    """Branches of one fleet: prefix, its folder where it is not the root, subject, digest."""

    def __init__(self, *, prefix: str, folder: str = "") -> None:
        """Raises UsageError for a prefix that cannot begin a branch's name."""
        broken = any(part in f"{prefix}x" for part in ("..", "//", "/.", "./", ".lock/"))
        if broken or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._/-]*", prefix):
            msg = (
                f"--proposal-prefix {prefix!r}: a branch cannot begin so; write letters, digits, - and _,"
                " such as gitops-dsf/"
            )
            raise UsageError(msg)
        # Two fleets in one repository must not take each other's branches for their own.
        slug = re.sub(r"[^A-Za-z0-9_/-]+", "-", folder).strip("/-")
        self._stem = f"{prefix}{slug}/" if slug else prefix

    @property
    def all(self) -> str:
        """The pattern of every branch that could be one of ours."""
        return f"{self._stem}*"

    def branch(self, proposal: Proposal) -> str:
        """Where it is offered."""
        return f"{self._stem}{proposal.subject}-{proposal.digest}"

    def subject(self, branch: str) -> Subject | None:
        """What a branch is about; None for one that is not named as ours are."""
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
