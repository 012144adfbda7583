"""A hub and a leader that proposes.

There are a fleet repository over HTTP, pages of scoring APIs, and optionally a forge.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from dsf_runtime.clock import monotonic
from gitops_dsf.forge.address import ForgeKind
from gitops_dsf.pipeline import check
from gitops_dsf.reconciler import loop
from gitops_dsf.reconciler.git import clone as cloning
from gitops_dsf.reconciler.proposals import controller as module
from gitops_dsf.reconciler.proposals.controller import BETWEEN, ProposalController
from gitops_dsf.reconciler.settings import GitSettings
from gitops_dsf.repository.model.reconciler import Proposals
from tests.hub.controlplane.gitrepository import GitRepository, git
from tests.hub.controlplane.gitserver import GitServer
from tests.integration.reconciler.replica import Replica, read_again, running
from tests.support.githubserver import GitHubServer
from tests.support.hubobjects import HUB
from tests.support.objecthub import FixedClaim, ObjectHub
from tests.support.pageserver import ConfigPageServer, says

AUTHOR = "Fleet Reconciler <fleet@example.com>"
TOKEN = "ghp_ofthistest"
SETTINGS = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: FleetRepository
metadata:
  name: fleet
spec:
  git:
    url: https://git.example.com/team/fleet.git
  agent:
    image: registry.example.com/dsf-agent:1.0.0
"""


def scorer(name: str, url: str) -> str:
    return f"""\
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScorer
metadata:
  name: {name}
spec:
  description: of a test
  configURL: {url}/{name}/config
  configSyncMode: Full
  source:
    type: Prometheus
    host: http://prometheus.example.com:9090
"""


def cluster(name: str, *, region: str = "eu") -> str:
    return f"""\
# {name} is dear to us
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata:
  name: {name}
  labels:
    region: {region}
spec:
  hubAcceptsClient: true
"""


def page(score: str, *, query: str = "up", interval: int = 60) -> Any:
    source = {
        "type": "Prometheus",
        "path": "/api/v1/query_range",
        "params": {"query": query, "range": 600, "step": 60},
    }
    return says(
        source=source, scoring={"path": "/scoring", "params": {"name": score, "interval": interval}}
    )


@dataclass(kw_only=True)
class ProposalHub:
    hub: ObjectHub
    server: GitServer
    repository: GitRepository
    pages: ConfigPageServer
    secret: Path
    work: Path
    forge: GitHubServer | None = None
    real: ForgeKind | None = None
    """The forge that really has the repository."""
    folder: str = ""
    hurries: Sequence[str] = ("APART", "BETWEEN", "LEFT")
    """Pauses that are none."""
    over_http: bool = False
    """Whether git's server is asked. It takes five times the processes of a path, so otherwise git
    goes to the path that is behind the URL.
    """

    @property
    def shortcut(self) -> tuple[str, str]:
        """The setting with which git goes to the path; a forge is named by the URL all the same."""
        return f"url.{self.repository.bare.as_uri()}.insteadOf", self.repository.url

    def drifts(self, name: str, *, drifted: bool = True) -> None:
        """What the scorer controller writes into the status."""
        reason = "Drifted" if drifted else "InSync"
        status = {"conditions": [{"type": "ConfigSynced", "status": "False", "reason": reason}]}
        spec = {"scoring": {"params": {"name": f"{name}_score"}}}
        self.hub.put("dynamicscorers", name, namespace=HUB, spec=spec, status=status)

    def departs(self, name: str) -> None:
        """Its page says another interval than its lock, and the hub knows."""
        self.pages.pages[f"/{name}/config"] = page(f"{name}_score", interval=30)
        self.drifts(name)

    def joins(self, name: str, *, accepted: bool = True, **labels: str) -> None:
        metadata = {"labels": {"region": "eu", **labels}}
        self.hub.put(
            "managedclusters", name, metadata=metadata, spec={"hubAcceptsClient": accepted}
        )

    def leaves(self, name: str) -> None:
        del self.hub.objects["managedclusters", "", name]

    @property
    def proposals(self) -> dict[str, str]:
        return {
            name: commit for name, commit in self.repository.branches().items() if name != "main"
        }

    def amended(self, branch: str) -> str:
        """The commit that people add to this branch."""
        clone = self.repository.clone
        git("fetch", "--quiet", "origin", branch, folder=clone)
        git("checkout", "--quiet", "--detach", "FETCH_HEAD", folder=clone)
        git("commit", "--quiet", "--allow-empty", "--message", "Also this", folder=clone)
        git("push", "--quiet", "origin", f"HEAD:refs/heads/{branch}", folder=clone)
        git("checkout", "--quiet", "main", folder=clone)
        return self.proposals[branch]

    @property
    def one(self) -> str:
        (branch,) = self.proposals
        return branch

    def changed(self, branch: str) -> list[str]:
        return git(
            "diff", "--name-only", "--no-renames", f"main...{branch}", folder=self.repository.bare
        ).split()

    def errors(self, branch: str, folder: Path) -> list[str]:
        """What `gitops-dsf validate` says of a branch."""
        bare = self.repository.bare
        git("clone", "--quiet", "--branch", branch, str(bare), str(folder), folder=bare)
        return [
            str(item)
            for item in check(folder / self.folder).diagnostics
            if item.severity == "error"
        ]

    @contextlib.asynccontextmanager
    async def working(
        self, *, clock: Callable[[], float] | None = None, claim: FixedClaim | None = None
    ) -> AsyncIterator["ProposalLeader"]:
        async with self.hub.api(claim=claim) as api:
            leader = ProposalLeader(api, clock=clock or monotonic)
            await read_again(leader.view)
            git = GitSettings(
                url=self.repository.url,
                author=AUTHOR,
                credentials=self.secret,
                work_dir=self.work,
                path=self.folder,
                branch="main",
            )
            settings = Proposals.model_construct(
                kinds=["Locks", "Inventory"],
                interval_seconds=0.05,  # type: ignore[arg-type]
                forge=self.real or ("GitHub" if self.forge else "None"),
                forge_url=self.forge.url if self.forge else None,
            )
            controller = ProposalController(
                leader.context, git=git, settings=settings, page_seconds=5
            )
            none = {"APART": 0.0, "LEFT": 0.0, "BETWEEN": replace(BETWEEN, first=0.0, ceiling=0.0)}
            with pytest.MonkeyPatch.context() as patch:
                # These tests wait for git's processes in real time, so a failure must not cost 10
                # s.
                patch.setattr(loop, "RETRY_SECONDS", 0.05)
                if not (self.real or self.over_http):
                    patch.setattr(cloning, "_ALWAYS", (*cloning._ALWAYS, self.shortcut))
                for name in self.hurries:
                    patch.setattr(module, name, none[name])
                async with running(controller) as leader.task:
                    yield leader

    @contextlib.asynccontextmanager
    async def offering(self) -> AsyncIterator["ProposalLeader"]:
        """A leader that has offered what the page of cpu says: a branch, and a request of a
        forge.
        """
        self.departs("cpu")
        async with self.working() as leader:
            await leader.until(lambda: self.proposals, "a branch appears")
            if self.forge is not None:
                await leader.until(self.forge.opened, "a request is opened")
            yield leader


class ProposalLeader(Replica):
    task: "asyncio.Task[None]"

    def count(self, kind: str, outcome: str) -> float:
        return self.metric("proposals_total", kind=kind, outcome=outcome) or 0.0

    def open(self, kind: str) -> float:
        return self.metric("proposal_open", kind=kind) or 0.0

    async def until(
        self, condition: Callable[[], object], what: str, *, seconds: float = 60
    ) -> None:
        try:
            async with asyncio.timeout(seconds):
                while not condition():
                    assert not self.task.done(), self.task.result()
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(f"not within {seconds:g} s: {what}") from None

    async def looks_again(self, kind: str, outcome: str, *, times: int = 2) -> None:
        """Waits until it looked that many times more, with this outcome."""
        before = self.count(kind, outcome)
        await self.until(
            lambda: self.count(kind, outcome) >= before + times, f"{times} more {outcome} {kind}"
        )


@contextlib.contextmanager
def surroundings(folder: Path) -> Iterator[tuple[GitServer, GitRepository, ConfigPageServer, Path]]:
    """Git server with the repository `team/fleet`, pages, and a Secret's folder with a token that
    the git server asks for.
    """
    secret = folder / "secret"
    secret.mkdir()
    (secret / "token").write_text(f"{TOKEN}\n", encoding="utf-8")
    with GitServer(folder=folder / "git") as server, ConfigPageServer() as pages:
        (folder / "git/bare/team").mkdir()
        repository = server.create("team/fleet")
        server.manners.account = f"x-access-token:{TOKEN}"
        yield server, repository, pages, secret
