"""The fleet repository as this leader sees it: the newest head, its sources as files, and our branches."""

import logging
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from gitops_dsf.reconciler.git import Cause, Clone, GitError
from gitops_dsf.reconciler.proposals.decide import Finding
from gitops_dsf.reconciler.proposals.drift import DriftDetector
from gitops_dsf.reconciler.proposals.memory import Memory
from gitops_dsf.reconciler.proposals.proposal import Naming, Subject
from gitops_dsf.repository.load import SETTINGS_FILE
from gitops_dsf.repository.load.names import FOLDERS, SUFFIXES

LOG = logging.getLogger(__name__)


class Checkout:
    """The sources of one commit as files, for the worker. `folder` is the folder of gitops-dsf.yaml in the
    repository, "" for its root.
    """

    def __init__(self, *, root: Path, folder: str) -> None:
        self.root = root
        self._prefix = f"{folder}/" if folder else ""

    async def take(self, clone: Clone, commit: str) -> None:
        """Replaces all files by the sources of a fetched commit, without rendered/. Raises GitError."""
        files = await clone.read(commit, self._wanted)
        if f"{self._prefix}{SETTINGS_FILE}" not in files:
            msg = (
                f"the repository has no {self._prefix}{SETTINGS_FILE}; --git-path names the folder of the"
                " fleet in it"
            )
            raise GitError(Cause.MISSING, msg)
        self._write(files)

    def in_repository(self, file: str) -> str:
        """The path in the repository of a file of the fleet."""
        return f"{self._prefix}{file}"

    def _wanted(self, path: str) -> bool:
        if not path.startswith(self._prefix):
            return False
        parts = path.removeprefix(self._prefix).split("/")
        if not all(part.strip(".") and "\0" not in part for part in parts):
            return False
        return parts == [SETTINGS_FILE] or (
            len(parts) > 1 and parts[0] in FOLDERS and parts[-1].endswith(SUFFIXES)
        )

    def _write(self, files: Mapping[str, bytes]) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        for path, content in files.items():
            target = self.root / path.removeprefix(self._prefix)
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
            except OSError as error:
                msg = f"{path} cannot be written to the working folder: {error.strerror or error}"
                raise GitError(Cause.FAILED, msg) from error


class FleetClone:
    """The clone with its checkout. `branch` is the protected branch."""

    def __init__(
        self,
        *,
        clone: Clone,
        checkout: Checkout,
        detector: DriftDetector,
        memory: Memory,
        naming: Naming,
        branch: str,
        clock: Callable[[], float],
    ) -> None:
        self.clone, self.memory, self.naming, self.branch, self.clock = clone, memory, naming, branch, clock
        self._checkout, self._detector = checkout, detector
        self._logged: dict[Subject, str] = {}
        self.head = ""
        """The commit of the checkout."""

    async def update(self) -> dict[str, str]:
        """Updates the checkout to the newest head. Returns our branches with their commits.
        Raises GitError.
        """
        heads = await self.clone.heads(self.branch, self.naming.all)
        if self.branch not in heads:
            raise GitError(
                Cause.MISSING,
                f"the repository has no branch {self.branch}; --git-branch names the protected one",
            )
        if heads[self.branch] != self.head or not self.clone.holds(self.head):
            self.head = ""
            head = await self.clone.fetch(self.branch)
            await self._checkout.take(self.clone, head)
            self.head = head
        return {branch: commit for branch, commit in heads.items() if self.naming.subject(branch) is not None}

    async def findings(self, branches: Collection[str]) -> Sequence[Finding]:
        """What differs from the head, including proposals that are no longer needed. Raises WorkerError."""
        offered = {subject for branch in branches if (subject := self.naming.subject(branch)) is not None}
        checkout, now = self._checkout, self.clock()
        found = await self._detector.findings(
            checkout.root, commit=self.head, offered=offered, in_repository=checkout.in_repository, now=now
        )
        for finding in found:
            self._log(finding)
        return found

    def settled(self, finding: Finding) -> bool:
        """Whether two passes, some time apart, found the same change."""
        if finding.why:
            self.memory.unsure(finding.subject, self.clock())
            return False
        return self.memory.observed_before(
            finding.subject, finding.proposal.digest if finding.proposal is not None else "", self.clock()
        )

    def _log(self, finding: Finding) -> None:
        """Logs each reason once."""
        reason = finding.why or finding.note
        if reason != self._logged.get(finding.subject, ""):
            self._logged[finding.subject] = reason
            if reason:
                LOG.warning("proposal %s: %s", finding.subject, reason)
