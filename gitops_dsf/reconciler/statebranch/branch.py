"""The branch that holds the snapshot: one commit without a parent, replaced each time, so that clones stay
small.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from gitops_dsf.errors import RepositoryError
from gitops_dsf.reconciler.git import Clone
from gitops_dsf.reconciler.statebranch.snapshot import MOMENT, README

_OURS: Final = re.compile(r"README\.md|(snapshot|decisions|clusters)\.json|scores/[^/]+\.json")
MESSAGE: Final = (
    "Snapshot of the hub\n\nScores, decisions and clusters as the reconciler saw them, for previews.\n"
)

Digests = Mapping[str, str]
"""By path, without the files that change with every pass."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tip:
    """What the branch holds."""

    commit: str
    digests: Digests
    seen_at: datetime


class StateBranch:
    """Owns a branch of the server. Every method raises GitError."""

    def __init__(self, *, clone: Clone, name: str) -> None:
        self._clone, self._name = clone, name
        self._tip: Tip | None = None

    async def tip(self) -> Tip | None:
        """What the branch holds now; None when it does not exist. Raises RepositoryError when it holds other
        files than a snapshot's.
        """
        commit = (await self._clone.heads(self._name)).get(self._name)
        if commit is None:
            self._tip = None
        elif self._tip is None or self._tip.commit != commit:
            # If the branch moves between the two requests, the push will be refused.
            commit = await self._clone.fetch(self._name)
            held = await self._clone.read(commit)
            foreign = sorted(path for path in held if not _OURS.fullmatch(path))
            if foreign or MOMENT not in held:
                what = f"holds {', '.join(foreign[:3])}" if foreign else f"has no {MOMENT}"
                msg = (
                    f"branch {self._name} {what}, so it is not a snapshot and is not changed; name another"
                    " branch as reconciler.state.branch"
                )
                raise RepositoryError(msg)
            self._tip = Tip(
                commit=commit, digests=digests(held), seen_at=await self._clone.committed_at(commit)
            )
        return self._tip

    async def replace(self, files: Mapping[str, bytes], *, at: datetime) -> None:
        """Replaces the snapshot that `tip` returned. Raises GitError (Rejected) when the branch changed
        since.
        """
        commit = await self._clone.commit(parent=None, files=files, message=MESSAGE, at=at)
        await self._clone.push(commit, branch=self._name, expected=self._tip.commit if self._tip else None)
        self._tip = Tip(commit=commit, digests=digests(files), seen_at=at)


def digests(files: Mapping[str, bytes]) -> Digests:
    """Digests of every file whose content depends on the state of the hub, and not on the time."""
    return {
        path: hashlib.sha256(content).hexdigest()
        for path, content in files.items()
        if path not in {MOMENT, README}
    }
