"""A hub whose reconciler keeps a journal on a branch of the fleet repository."""

from dataclasses import dataclass
from typing import Any

from gitops_dsf.journal.lines import read
from gitops_dsf.journal.record import Record
from tests.hub.controlplane.gitrepository import git
from tests.hub.scenario.fleet import Fleet
from tests.hub.scenario.scoredplane import ScoredPlane

BRANCH = "gitops-dsf-journal"


@dataclass(kw_only=True)
class JournalPlane(ScoredPlane):
    """A journal on a branch of the fleet's own repository."""

    fleet: Fleet

    @property
    def spec(self) -> dict[str, Any]:
        """Settings of the reconciler."""
        journal = {"enabled": True, "branch": BRANCH, "intervalSeconds": 10}
        return {"git": {"url": self.fleet.repository.url}, "reconciler": {"journal": journal}}

    def lines(self) -> list[bytes]:
        """The lines of the branch, a line that is there twice too."""
        repository = self.fleet.repository
        if BRANCH not in repository.branches():
            return []
        names = git("ls-tree", "--name-only", BRANCH, folder=repository.bare).split()
        return [
            line.encode()
            for name in sorted(names)
            if name.endswith(".jsonl")
            for line in git("show", f"{BRANCH}:{name}", folder=repository.bare).splitlines()
        ]

    def records(self) -> tuple[Record, ...]:
        """The records of the branch, in order."""
        return read({"all": b"\n".join(self.lines())}).records
