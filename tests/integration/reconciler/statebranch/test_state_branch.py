"""Snapshots on a real branch of a real server, read back by the verbs that need them."""

import asyncio
import json
import ssl
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dsf_runtime.access import Access
from dsf_runtime.informer import Informer
from gitops_dsf.cli.main import main
from gitops_dsf.hub.snapshot import Snapshot
from gitops_dsf.hubreader.files import from_path
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.metrics import Metrics
from gitops_dsf.reconciler.settings import GitSettings
from gitops_dsf.reconciler.shared import Shared
from gitops_dsf.reconciler.statebranch import StateBranchController
from gitops_dsf.repository.model import reconciler as model
from tests.hub.controlplane.gitrepository import GitRepository, git
from tests.hub.controlplane.gitserver import GitServer
from tests.integration.reconciler.reading import keep_reading, read_again
from tests.support import hubobjects
from tests.support.apiserver import TOKEN, ApiServer, serving
from tests.support.waiting import until

pytestmark = pytest.mark.real_time  # git is a process, and its server a thread

BRANCH = "gitops-dsf-state"
AUTHOR = "Fleet Reconciler <fleet@example.com>"
SCORES = hubobjects.PATHS["AddOnPlacementScore"]
DECISIONS = hubobjects.PATHS["PlacementDecision"]


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[GitRepository]:
    with GitServer(folder=tmp_path / "git") as server:
        repository = server.create("fleet")
        repository.commit({"README.md": "a fleet\n"})
        repository.publish()
        yield repository


@pytest.fixture
def hub() -> Iterator[ApiServer]:
    with serving(hubobjects.hub_with(hubobjects.fleet(now=datetime.now(UTC)))) as server:
        yield server


class StateBranchHub:
    """A hub, a repository, and a controller that keeps the state branch."""

    def __init__(
        self,
        hub: ApiServer,
        repository: GitRepository,
        work: Path,
        *,
        url: str = "",
        interval: float = 0.2,
        namespaces: tuple[str, ...] = (),
    ) -> None:
        self.hub, self.repository, self.work = hub, repository, work
        self.url, self.interval, self.namespaces = url or repository.url, interval, namespaces
        self.metrics = Metrics()
        self.registry = self.metrics.registry

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        access = Access(
            host=self.hub.url, trust=ssl.create_default_context(), authorization=f"Bearer {TOKEN}", proxy=None
        )
        async with HubApi(load=lambda: access) as api:
            shared = Shared(
                api=api,
                metrics=self.metrics,
                hub_namespace=hubobjects.HUB,
                argocd_namespace=hubobjects.ARGOCD,
            )
            await read_again(shared.view)
            reading = asyncio.create_task(keep_reading(shared.view))
            controller = StateBranchController(
                shared,
                git=GitSettings(url=self.url, author=AUTHOR, work_dir=self.work),
                settings=model.StateBranch.model_construct(branch=BRANCH, interval_seconds=self.interval),
                namespaces=self.namespaces,
            )
            work = asyncio.create_task(controller.run())
            try:
                yield
            finally:
                work.cancel()
                reading.cancel()
                await asyncio.gather(work, reading, return_exceptions=True)

    def count(self, outcome: str) -> float:
        return (
            self.registry.get_sample_value("gitops_dsf_reconciler_state_pushes_total", {"outcome": outcome})
            or 0.0
        )

    async def until(self, outcome: str, *, more_than: float = 0) -> None:
        async with asyncio.timeout(60):
            while self.count(outcome) <= more_than:  # noqa: ASYNC110 - a counter of another task
                await asyncio.sleep(0.02)

    def snapshot(self, folder: Path) -> Snapshot:
        folder.mkdir()
        tar = subprocess.run(
            ["git", "archive", BRANCH], cwd=self.repository.bare, check=True, capture_output=True
        ).stdout
        subprocess.run(["tar", "-x", "-C", str(folder)], input=tar, check=True)
        return from_path(folder)


async def test_a_snapshot_is_what_the_hub_holds(
    hub: ApiServer, repository: GitRepository, tmp_path: Path
) -> None:
    hub.page = 2
    stage = StateBranchHub(hub, repository, tmp_path / "work")
    async with stage.running():
        await stage.until("unchanged")
    found = stage.snapshot(tmp_path / "out")
    assert {
        name: {cluster: dict(one.items()) for cluster, one in table.items()}
        for name, table in found.scores.items()
    } == {
        "cpu": {"cluster1": {"cpu": 80}, "cluster2": {"cpu": 60}, "cluster3": {"cpu": 40}},
        "mem": {f"cluster{n}": {"mem": 50} for n in (1, 2, 3)},
    }
    assert [
        (item.metadata.namespace, item.metadata.name, item.placement, item.cluster_names)
        for item in found.decisions
    ] == [("argocd", "guestbook-decision-1", "guestbook", ("cluster1",))]
    assert sorted(found.clusters) == ["cluster1", "cluster2", "cluster3"]
    assert found.observed_at is not None
    assert abs(found.observed_at - datetime.now(UTC)) < timedelta(minutes=1)
    until = found.scores["cpu"]["cluster1"].valid_until
    assert until is not None
    assert until > found.observed_at
    assert git("log", "--format=%an <%ae> %P", BRANCH, folder=repository.bare).strip() == AUTHOR, (
        "one commit without a parent"
    )
    assert stage.count("pushed") == 1, "nothing changed since"
    assert not list((tmp_path / "work").rglob("*")), "nothing is left behind"


async def test_a_score_with_an_odd_time_stops_no_snapshot(
    hub: ApiServer, repository: GitRepository, tmp_path: Path
) -> None:
    """Any agent can write these, and the API server accepts them."""
    times = ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+14:00")
    for number, end in enumerate((*times, "0000-01-01T00:00:00Z", "2999-01-01T00:00:00+99:99")):
        item = hubobjects.score(f"odd{number}", "cpu", 70)
        item["status"]["validUntil"] = end
        hub.objects[SCORES].append(item)
    stage = StateBranchHub(hub, repository, tmp_path / "work")
    async with stage.running():
        await stage.until("unchanged")
    found = stage.snapshot(tmp_path / "out")
    values = {cluster: dict(one.items()) for cluster, one in found.scores["cpu"].items()}
    assert values == {
        "cluster1": {"cpu": 80},
        "cluster2": {"cpu": 60},
        "cluster3": {"cpu": 40},
        **{f"odd{number}": {"cpu": 70} for number in range(3)},
    }
    ends = [found.scores["cpu"][f"odd{number}"].valid_until for number in range(3)]
    assert [end and end.year for end in ends] == [9999, 9999, 1]


async def test_a_snapshot_has_the_decisions_of_scored_placements_elsewhere(
    hub: ApiServer, repository: GitRepository, tmp_path: Path
) -> None:
    """In the namespaces that the reconciler is given, and in no other."""
    for namespace in ("kueue-system", "strangers"):
        hub.objects[DECISIONS].append(hubobjects.decision("guestbook", "cluster2", namespace=namespace))
    stage = StateBranchHub(hub, repository, tmp_path / "work", namespaces=("kueue-system", "policies"))
    async with stage.running():
        await stage.until("unchanged")
    assert [
        (item.metadata.namespace, item.metadata.name, item.cluster_names)
        for item in stage.snapshot(tmp_path / "out").decisions
    ] == [
        ("argocd", "guestbook-decision-1", ("cluster1",)),
        ("kueue-system", "guestbook-decision-1", ("cluster2",)),
    ]


async def test_what_changes_is_pushed_in_place_of_what_was(
    hub: ApiServer, repository: GitRepository, tmp_path: Path
) -> None:
    stage = StateBranchHub(hub, repository, tmp_path / "work")
    async with stage.running():
        await stage.until("unchanged")
        first = repository.branches()[BRANCH]
        before = git("ls-tree", "-r", BRANCH, folder=repository.bare).splitlines()
        hub.objects[SCORES][0]["status"]["scores"][0]["value"] = 81
        await stage.until("pushed", more_than=1)
    assert repository.branches()[BRANCH] != first
    assert git("rev-list", "--count", BRANCH, folder=repository.bare).strip() == "1"
    after = git("ls-tree", "-r", BRANCH, folder=repository.bare).splitlines()
    assert {line.split("\t")[1] for line in set(after) - set(before)} <= {"scores/cpu.json", "snapshot.json"}
    assert dict(stage.snapshot(tmp_path / "out").scores["cpu"]["cluster1"].items()) == {"cpu": 81}


async def test_a_new_leader_goes_on_from_the_branch(
    hub: ApiServer, repository: GitRepository, tmp_path: Path
) -> None:
    stage = StateBranchHub(hub, repository, tmp_path / "work")
    async with stage.running():
        await stage.until("pushed")
    tip = repository.branches()[BRANCH]
    async with stage.running():
        await stage.until("unchanged", more_than=stage.count("unchanged"))
    assert repository.branches()[BRANCH] == tip
    age = stage.registry.get_sample_value("gitops_dsf_reconciler_state_age_seconds")
    assert age is not None
    assert 0 <= age < 60


async def test_a_branch_of_somebody_else_is_left_alone(
    hub: ApiServer, repository: GitRepository, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    git("branch", BRANCH, "main", folder=repository.bare)
    before = repository.branches()
    stage = StateBranchHub(hub, repository, tmp_path / "work")
    async with stage.running():
        await stage.until("failed")
    assert repository.branches() == before
    assert "has no snapshot.json, so it is not a snapshot and is not changed" in caplog.text


async def test_half_a_hub_is_no_snapshot(
    hub: ApiServer, repository: GitRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = StateBranchHub(hub, repository, tmp_path / "work")
    async with stage.running():
        await stage.until("pushed")
        tip = repository.branches()[BRANCH]
        monkeypatch.setattr(Informer, "broken", "the hub refuses the list")
        await stage.until("failed")
    assert repository.branches()[BRANCH] == tip


async def test_a_server_that_is_away_is_asked_again(
    hub: ApiServer, repository: GitRepository, tmp_path: Path
) -> None:
    stage = StateBranchHub(hub, repository, tmp_path / "work", url="http://127.0.0.1:9/fleet.git")
    async with stage.running():
        await stage.until("failed")
    assert stage.count("pushed") == 0


async def test_two_that_write_at_once_do_not_overwrite_each_other_unseen(
    hub: ApiServer, repository: GitRepository, tmp_path: Path
) -> None:
    one, other = (
        StateBranchHub(hub, repository, tmp_path / name, interval=0.01) for name in ("one", "other")
    )
    async with one.running(), other.running():
        for value in range(60, 66):
            hub.objects[SCORES][0]["status"]["scores"][0]["value"] = value
            await asyncio.sleep(0.1)
        await until(lambda: one.count("pushed") + other.count("pushed") >= 1)
    assert len(repository.branches()) == 2
    assert one.snapshot(tmp_path / "out").score_count == 6


def test_a_preview_reads_the_branch(
    hub: ApiServer, repository: GitRepository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stage = StateBranchHub(hub, repository, tmp_path / "work")

    async def once() -> None:
        async with stage.running():
            await stage.until("pushed")

    asyncio.run(once())
    fleet = tmp_path / "fleet"
    assert main(["init", str(fleet)]) == 0
    for arguments in (
        ["init", "-q"],
        ["remote", "add", "origin", repository.url],
        ["fetch", "-q", "origin", BRANCH],
    ):
        git(*arguments, folder=fleet)
    git("update-ref", f"refs/remotes/origin/{BRANCH}", "FETCH_HEAD", folder=fleet)
    capsys.readouterr()
    assert main(["simulate", str(fleet), "--state-branch", BRANCH, "-o", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert BRANCH in json.dumps(shown)
