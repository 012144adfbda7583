"""Proposals with a real hub and real git over HTTP: a drifted lock and a cluster that joined come back as
branches, whatever ends when.
"""

import json
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.hub.controlplane.api import Client
from tests.hub.controlplane.gitrepository import GitRepository, git
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.fleet import FLEET_LABEL, SCORE, SCORER, Fleet, scorer, write_fleet
from tests.hub.scenario.installation import installed
from tests.hub.scenario.reconciling import FAST, Reconciler, events, forget_events, reconciling
from tests.hub.scenario.scoredplane import ScoredPlane
from tests.support.pageserver import PageServer, says

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd")]

CLUSTERS = ("cluster1", "cluster2")
JOINED = "joined"
TOKEN = "token-of-this-test"
LOOKS = 90
"""Seconds within which two looks have agreed and a push is through."""


def page(*, interval: int) -> Any:
    source = {"type": "Prometheus", "params": {"query": "avg(cpu_load)", "range": 60, "step": 5}}
    return says(name=SCORER, source=source, scoring={"params": {"name": SCORE, "interval": interval}})


@dataclass(kw_only=True)
class ProposalPlane(ScoredPlane):
    server: GitServer
    repository: GitRepository
    pages: PageServer
    secret: Path
    folder: Path

    def reconciling(self) -> AbstractContextManager[Reconciler]:
        arguments = (f"--git-credentials={self.secret}", f"--work-dir={self.folder / 'work'}")
        proposals = {"kinds": ["Locks", "Inventory"], "intervalSeconds": 5}
        spec = {"git": {"url": self.repository.url}, "reconciler": {"proposals": proposals}}
        return reconciling(self.plane, *arguments, spec=spec, speed=FAST)

    def proposals(self) -> list[str]:
        return sorted(name for name in self.repository.branches() if name != "main")

    def offered(self, count: int, reconciler: Reconciler) -> list[str]:
        wait_for(
            lambda: len(self.proposals()) == count,
            what=f"{count} branches",
            timeout=LOOKS,
            seen=reconciler.process.tail,
        )
        return self.proposals()

    def changed(self, branch: str) -> list[str]:
        return git(
            "diff", "--name-only", "--no-renames", f"main...{branch}", folder=self.repository.bare
        ).split()

    def validated(self, branch: str) -> str:
        """What `gitops-dsf validate` says to a clone of the branch; empty when it finds nothing but that the
        scoring API is on this machine and that no registry has the images.
        """
        copy = Path(tempfile.mkdtemp(dir=self.folder)) / "copy"
        git("clone", "--quiet", "--branch", branch, str(self.repository.bare), str(copy), folder=self.folder)
        ran = Fleet(repository=GitRepository(url="", bare=self.repository.bare, clone=copy), name="copy").run(
            "validate", "-o", "json"
        )
        found = [
            item["message"] for item in json.loads(ran.stdout) if item["code"] not in {"DSF166", "DSF191"}
        ]
        return "; ".join(found) if ran.code in {0, 1} else ran.stderr


@pytest.fixture(scope="module")
def scene(
    control_plane: ControlPlane, argocd: object, hub: Client, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ProposalPlane]:
    folder = tmp_path_factory.mktemp("proposals")
    secret = folder / "secret"
    secret.mkdir()
    (secret / "token").write_text(TOKEN, encoding="utf-8")
    with ExitStack() as stack:
        server = stack.enter_context(GitServer(folder=folder / "git"))
        pages = stack.enter_context(PageServer())
        pages.pages.update({"/config": page(interval=60), "/healthz": says(ok=True)})
        fleet = Fleet(repository=server.create("proposals"), name="proposals")
        write_fleet(fleet, clusters=list(CLUSTERS))
        spec: dict[str, Any] = {"configURL": f"{pages.url}/config", "configSyncMode": "Full", "scoring": {}}
        fleet.write(
            f"scorers/{SCORER}.yaml",
            scorer(**{**spec, "source": {"host": "http://prometheus.monitoring.svc:9090"}}),
        )
        assert fleet.run("sync").code == 0
        fleet.render()
        stack.enter_context(installed(fleet, control_plane, clusters=CLUSTERS))
        listed = folder / "clusters.json"
        listed.write_text(control_plane.kubectl("get", "managedclusters", "-o", "json"), encoding="utf-8")
        imported = fleet.run("import", "--from", str(listed))
        assert imported.code == 0, imported.stderr
        fleet.publish("A fleet")
        server.manners.account = f"x-access-token:{TOKEN}"
        yield ProposalPlane(
            plane=control_plane,
            hub=hub,
            server=server,
            repository=fleet.repository,
            pages=pages,
            secret=secret,
            folder=folder,
        )


@pytest.fixture
def changes(scene: ProposalPlane) -> Iterator[None]:
    """The lock drifts and a cluster joins, for one test; what it proposed goes with it."""
    scene.pages.pages["/config"] = page(interval=30)
    scene.hub.create(
        {
            "apiVersion": "cluster.open-cluster-management.io/v1",
            "kind": "ManagedCluster",
            "metadata": {"name": JOINED, "labels": {FLEET_LABEL: "proposals", "tier": "gold"}},
            "spec": {"hubAcceptsClient": True},
        }
    )
    try:
        yield
    finally:
        scene.pages.pages["/config"] = page(interval=60)
        scene.plane.remove_cluster(JOINED)
        forget_events(scene.hub)
        for branch in scene.proposals():
            git("update-ref", "-d", f"refs/heads/{branch}", folder=scene.repository.bare)


@pytest.mark.usefixtures("changes")
def test_drift_and_a_joining_cluster_come_back_as_branches(scene: ProposalPlane) -> None:
    with scene.reconciling() as reconciler:
        inventory, lock = scene.offered(2, reconciler)
        assert inventory.startswith("gitops-dsf/inventory-")
        assert lock.startswith("gitops-dsf/locks-")
        assert scene.changed(lock) == [f"locks/{SCORER}.yaml"]
        assert scene.changed(inventory) == [f"clusters/{JOINED}.yaml"]
        assert "interval: 30" in scene.repository.read(f"locks/{SCORER}.yaml", branch=lock)
        assert "tier: gold" in scene.repository.read(f"clusters/{JOINED}.yaml", branch=inventory)
        for branch in (lock, inventory):
            assert scene.validated(branch) == ""
        wait_for(
            lambda: events(scene.hub, SCORER, "LockProposed"),
            what="an Event tells of it",
            seen=reconciler.process.tail,
        )
        wait_for(
            lambda: reconciler.metric("proposal_open", kind="locks") == 1,
            what="its look is over",
            seen=reconciler.process.tail,
        )
        assert reconciler.metric("proposals_total", kind="locks", outcome="pushed") == 1
        before = scene.repository.branches()
        pushes = scene.server.manners.pushes
        hold_for(lambda: scene.repository.branches() == before, what="nothing is pushed twice", seconds=4)
        assert scene.server.manners.pushes == pushes
        assert TOKEN not in reconciler.process.log.read_text(encoding="utf-8")
