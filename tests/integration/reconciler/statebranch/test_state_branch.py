"""Snapshots on a real branch, read back by the verbs that need them."""

import asyncio
import json
import math
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import cast

import pytest

from dsf_runtime.informer import Informer
from gitops_dsf.cli.main import main
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.scores import PublishedScore
from gitops_dsf.hub.snapshots.snapshot import Snapshot
from gitops_dsf.hub.times import timestamp_of
from gitops_dsf.hubreader.files import from_path
from gitops_dsf.pacing.ledger import CheckState, Hold, Ledger, LedgerMove, Phase
from gitops_dsf.reconciler import board as boards
from gitops_dsf.reconciler.rawscores import RawScoreController
from gitops_dsf.reconciler.settings import GitSettings
from gitops_dsf.reconciler.statebranch import StateBranchController
from gitops_dsf.repository.model import reconciler as model
from gitops_dsf.views.status.inputs import StatusInputs
from gitops_dsf.views.status.scores import ScorerView
from tests.hub.controlplane.gitrepository import git
from tests.integration.reconciler.replica import (
    Replica,
    files_of,
    fleet_on,
    in_time,
    put,
    read_again,
    repository,
    running,
)
from tests.support import hubobjects
from tests.support.objecthub import FixedClaim, ObjectHub
from tests.support.virtual_time import wall

BRANCH = "gitops-dsf-state"
AUTHOR = "Fleet Reconciler <fleet@example.com>"


class StateBranchHub:
    """A hub, a repository, and controllers that keep the state branch."""

    def __init__(self, hub: ObjectHub, folder: Path) -> None:
        self.hub, self.folder = hub, folder
        self.repository = repository(folder / "git")
        self.repository.commit({"README.md": "a fleet\n"})
        self.repository.publish()
        fleet_on(hub)

    @asynccontextmanager
    async def replica(
        self,
        *,
        work: str = "work",
        interval: float = 20.0,
        namespaces: tuple[str, ...] = (),
        claim: FixedClaim | None = None,
        store: Callable[["StateBranchLeader"], RawScoreController] | None = None,
    ) -> AsyncIterator["StateBranchLeader"]:
        async with self.hub.api(claim=claim) as api:
            leader = StateBranchLeader(api, clock=asyncio.get_running_loop().time)
            await read_again(leader.view)
            raw = None if store is None else store(leader)
            controller = StateBranchController(
                leader.context,
                git=GitSettings(
                    url=self.repository.url, author=AUTHOR, work_dir=self.folder / work
                ),
                settings=model.StateBranch.model_construct(
                    branch=BRANCH, interval_seconds=interval
                ),
                namespaces=namespaces,
                raw=raw,
            )
            async with AsyncExitStack() as stack:
                for each in filter(None, (controller, raw)):
                    await stack.enter_async_context(running(each))
                yield leader

    def snapshot(self) -> Snapshot:
        out = self.folder / "out"
        for name, content in files_of(self.repository, BRANCH).items():
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            (out / name).write_bytes(content)
        return from_path(out)

    def tree(self) -> set[str]:
        return set(git("ls-tree", "-r", BRANCH, folder=self.repository.bare).splitlines())

    def score(self, value: int) -> None:
        put(
            self.hub,
            hubobjects.score("cluster1", "cpu", value, now=datetime.fromtimestamp(wall(), UTC)),
        )


class StateBranchLeader(Replica):
    def count(self, outcome: str) -> float:
        return self.metric("state_pushes_total", outcome=outcome) or 0.0

    async def until(self, outcome: str, *, more_than: float = 0) -> None:
        async def looked() -> bool:
            await read_again(self.view)
            return self.count(outcome) > more_than

        for _ in range(40):
            if await looked():
                return
            # Half of the time between two passes.
            await asyncio.sleep(10)
        raise AssertionError(f"not {outcome} in time")

    async def stay(self, seconds: float) -> None:
        """Lets time pass, in which the lists stay fresh."""
        for _ in range(math.ceil(seconds / 10)):
            await read_again(self.view)
            await asyncio.sleep(10)


@pytest.fixture
def scene(hub: ObjectHub, tmp_path: Path) -> StateBranchHub:
    return StateBranchHub(hub, tmp_path)


async def test_a_snapshot_is_what_the_hub_holds(scene: StateBranchHub) -> None:
    scene.hub.page = 2
    async with scene.replica(namespaces=()) as leader:
        await leader.until("unchanged")
        assert leader.count("pushed") == 1, "nothing changed since"
    async with scene.replica() as leader:
        await leader.until("unchanged")
        assert leader.count("pushed") == 0, "the next one goes on from the branch"
        assert 0 <= (leader.metric("state_age_seconds") or 0) < 1000
    found = scene.snapshot()
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
    assert abs(found.observed_at - datetime.fromtimestamp(wall(), UTC)) < timedelta(minutes=20)
    until = found.scores["cpu"]["cluster1"].valid_until
    assert until is not None
    assert until > found.observed_at
    shown = git("log", "--format=%an <%ae> %P", BRANCH, folder=scene.repository.bare)
    assert shown.strip() == AUTHOR, "one commit without a parent"
    assert not list((scene.folder / "work").rglob("*")), "nothing is left behind"


async def test_a_score_with_an_odd_time_stops_no_snapshot(scene: StateBranchHub) -> None:
    """Any agent can write these, and the API server accepts them."""
    times = ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+14:00")
    for number, end in enumerate((*times, "0000-01-01T00:00:00Z", "2999-01-01T00:00:00+99:99")):
        item = hubobjects.score(f"odd{number}", "cpu", 70)
        item["status"]["validUntil"] = end
        put(scene.hub, item)
    async with scene.replica() as leader:
        await leader.until("unchanged")
    found = scene.snapshot().scores["cpu"]
    assert sorted(found) == ["cluster1", "cluster2", "cluster3", "odd0", "odd1", "odd2"]
    ends = [found[f"odd{number}"].valid_until for number in range(3)]
    assert [end and end.year for end in ends] == [9999, 9999, 1]


async def test_a_snapshot_says_why_scores_are_missing_while_they_are(
    scene: StateBranchHub,
) -> None:
    now = moment()
    hostile = "parse error at char 12\x1b[2J"
    item = hubobjects.score("cluster2", "cpu", 60, now=now)
    put(scene.hub, hubobjects.failing(item, "QueryFailed", hostile, now=now))
    async with scene.replica() as leader:
        await leader.until("pushed")
        text = git("show", f"{BRANCH}:failures.json", folder=scene.repository.bare)
        assert json.loads(text)["failures"] == {
            "cpu": {
                "cluster2": {
                    "reason": "QueryFailed",
                    "message": "parse error at char 12\\x1b[2J",
                    "since": hubobjects.stamp(now - timedelta(seconds=120)),
                }
            }
        }
        put(scene.hub, item)
        await leader.until("pushed", more_than=1)
    names = git("ls-tree", "--name-only", BRANCH, folder=scene.repository.bare).split()
    assert "failures.json" not in names


async def test_a_snapshot_has_the_decisions_of_scored_placements_elsewhere(
    scene: StateBranchHub,
) -> None:
    """In the namespaces that the reconciler is given, and in no other."""
    for namespace in ("kueue-system", "strangers"):
        put(scene.hub, hubobjects.decision("guestbook", "cluster2", namespace=namespace))
    async with scene.replica(namespaces=("kueue-system", "policies")) as leader:
        await leader.until("unchanged")
    assert [
        (item.metadata.namespace, item.cluster_names) for item in scene.snapshot().decisions
    ] == [
        ("argocd", ("cluster1",)),
        ("kueue-system", ("cluster2",)),
    ]


async def test_what_changes_is_pushed_in_place_of_what_was(scene: StateBranchHub) -> None:
    async with scene.replica() as leader:
        await leader.until("unchanged")
        before = scene.tree()
        scene.score(81)
        await leader.until("pushed", more_than=1)
    assert git("rev-list", "--count", BRANCH, folder=scene.repository.bare).strip() == "1"
    changed = {line.split("\t")[1] for line in scene.tree() - before}
    assert changed <= {"scores/cpu.json", "snapshot.json"}
    assert dict(scene.snapshot().scores["cpu"]["cluster1"].items()) == {"cpu": 81}


async def test_a_branch_of_somebody_else_is_left_alone(
    scene: StateBranchHub, caplog: pytest.LogCaptureFixture
) -> None:
    git("branch", BRANCH, "main", folder=scene.repository.bare)
    before = scene.repository.branches()
    async with scene.replica() as leader:
        await leader.until("failed")
    assert scene.repository.branches() == before
    assert "has no snapshot.json, so it is not a snapshot and is not changed" in caplog.text


async def test_half_a_hub_is_no_snapshot(
    scene: StateBranchHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scene.replica() as leader:
        await leader.until("pushed")
        tip = scene.repository.branches()[BRANCH]
        monkeypatch.setattr(Informer, "broken", "the hub refuses the list")
        await leader.until("failed")
    assert scene.repository.branches()[BRANCH] == tip


async def test_a_replica_that_no_longer_leads_pushes_no_snapshot(scene: StateBranchHub) -> None:
    """It was frozen, or cannot reach the hub; another one may have pushed a newer snapshot."""
    claim = FixedClaim()
    async with scene.replica(claim=claim) as leader:
        await leader.until("pushed")
        tip = scene.repository.branches()[BRANCH]
        claim.seconds = 0
        scene.score(81)
        await leader.until("failed", more_than=2)
        assert scene.repository.branches()[BRANCH] == tip
        claim.seconds = 1000
        await leader.until("pushed", more_than=1)
        assert scene.repository.branches()[BRANCH] != tip


async def test_the_age_of_the_snapshot_is_by_the_clock_of_the_hub(scene: StateBranchHub) -> None:
    """Also for the next leader, which reads from the branch when it was taken."""
    scene.hub.ahead = 5 * 3600.0
    for _ in range(2):
        async with scene.replica() as leader:
            await leader.until("unchanged")
            assert 0 <= (leader.metric("state_age_seconds") or -1) < 1000


async def test_two_that_write_at_once_do_not_overwrite_each_other_unseen(
    scene: StateBranchHub,
) -> None:
    async with (
        scene.replica(work="one", interval=1) as one,
        scene.replica(work="other", interval=1) as other,
    ):
        for value in range(60, 66):
            scene.score(value)
            await asyncio.gather(read_again(one.view), read_again(other.view))
            await asyncio.sleep(3)
        await in_time(lambda: one.count("pushed") + other.count("pushed") >= 1, what="a push")
    assert len(scene.repository.branches()) == 2
    assert scene.snapshot().score_count == 6


async def test_a_preview_reads_the_branch(
    scene: StateBranchHub, capsys: pytest.CaptureFixture[str]
) -> None:
    async with scene.replica() as leader:
        await leader.until("pushed")
    fleet = scene.folder / "fleet"
    assert main(["init", str(fleet)]) == 0
    git("init", "-q", folder=fleet)
    git("fetch", "-q", scene.repository.url, BRANCH, folder=fleet)
    git("update-ref", f"refs/remotes/origin/{BRANCH}", "FETCH_HEAD", folder=fleet)
    capsys.readouterr()
    assert main(["simulate", str(fleet), "--state-branch", BRANCH, "-o", "json"]) == 0
    assert BRANCH in json.dumps(json.loads(capsys.readouterr().out))


def board_on(scene: StateBranchHub) -> str:
    return git("show", f"{BRANCH}:README.md", folder=scene.repository.bare)


async def test_the_branch_shows_the_board_of_the_fleet(scene: StateBranchHub) -> None:
    """The worst things first, then applications and scorers."""
    put(scene.hub, hubobjects.score("cluster2", "cpu", 60, age=5000, now=moment()))
    async with scene.replica() as leader:
        await leader.until("pushed")
    shown = board_on(scene)
    assert shown.startswith("# Fleet\n\n- **warning**: cluster2: expired: cpu, and counts as 0<br>")
    assert "| guestbook | cluster1 | running |" in shown
    assert "| cpu | Active | 2 fresh, 1 expired |" in shown
    assert "Do not edit" in shown


async def test_the_board_shows_verified_moves_and_a_fleet_that_stopped(
    scene: StateBranchHub,
) -> None:
    """With what the checks measure, but without for how long: each push is shown to watchers."""
    paced = hubobjects.paced(hubobjects.placement("guestbook", "cpu"))
    put(scene.hub, hubobjects.verified(paced, hubobjects.check_of("slo")))
    put(scene.hub, hubobjects.score("cluster1", "slo", 84, now=moment()))
    check = CheckState(score="slo/slo", at_least=80, held_since=moment().timestamp() - 100)
    verifying = LedgerMove(
        placement="argocd/guestbook",
        source="cluster2",
        target="cluster1",
        since=moment().timestamp() - 700,
        phase=Phase.VERIFYING,
        phase_since=moment().timestamp() - 600,
        verified=True,
        checks=(check,),
    )
    hold = Hold(
        placement="argocd/guestbook",
        target="cluster3",
        since=moment().timestamp() - 60,
        until=moment().timestamp() + 3600,
        detail="slo 62 of at least 80",
    )
    stopped = float(int(moment().timestamp()) - 60)
    async with scene.replica() as leader:
        leader.context.ledger = Ledger(
            (verifying,), holds=(hold,), returns=(stopped,), stopped_since=stopped
        )
        await leader.until("pushed")
    shown = board_on(scene)
    since = timestamp_of(stopped)
    assert shown.startswith(
        f"# Fleet\n\n- **error**: no paced move begins since {since}, because 1 move went back"
    )
    assert f"gitops-dsf.io/acknowledged-stop={since}" in shown.partition("\n## ")[0]
    assert "| argocd/guestbook | cluster2 | cluster1 | Verifying: slo 84 of at least 80 |" in shown
    assert f"| argocd/guestbook | cluster3 | {timestamp_of(hold.until)} | it came back at" in shown
    assert ": slo 62 of at least 80 |" in shown
    assert " min" not in shown.partition("## Moves under way")[2].partition("## Scorers")[0]


async def test_a_score_that_arrives_while_the_board_is_written_does_no_harm(
    scene: StateBranchHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The board is written in a thread, and the informer goes on meanwhile."""
    async with scene.replica() as leader:
        await leader.until("pushed")
        before = await boards.board(leader.context, ())
        assert b"| cpu | Active | 3 fresh |" in before
        column = cast("dict[str, PublishedScore]", leader.view.scores.columns["cpu"])
        read_scores = boards.scorer_views

        def with_news(
            scorers: Iterable[DynamicScorer], inputs: StatusInputs
        ) -> tuple[ScorerView, ...]:
            column["cluster9"] = column["cluster1"]
            return read_scores(scorers, inputs)

        monkeypatch.setattr(boards, "scorer_views", with_news)
        assert await boards.board(leader.context, ()) == before


async def test_the_board_changes_at_most_every_five_minutes(scene: StateBranchHub) -> None:
    # No score expires during the test, because that would change the board.
    for name, cluster in product(("cpu", "mem"), ("cluster1", "cluster2", "cluster3")):
        put(scene.hub, hubobjects.score(cluster, name, 50, ttl=7200, now=moment()))
    async with scene.replica() as leader:
        await leader.until("unchanged")
        first = board_on(scene)
        assert "All is well" in first
        start = wall()
        put(scene.hub, hubobjects.application("guestbook", "cluster1", health="Degraded"))
        # A snapshot in between has the board that was there.
        scene.score(81)
        await leader.until("pushed", more_than=1)
        if wall() - start < 250:
            assert board_on(scene) == first
        await leader.until("pushed", more_than=2)
        assert wall() - start >= 250
        assert "starting (Degraded)" in board_on(scene)
        before = leader.count("pushed")
        await leader.stay(320)
        assert leader.count("pushed") == before, "nothing changed"


async def test_the_next_leader_does_not_write_the_same_board_again(scene: StateBranchHub) -> None:
    async with scene.replica() as leader:
        await leader.until("pushed")
    tip = scene.repository.branches()[BRANCH]
    async with scene.replica() as leader:
        await leader.until("unchanged")
        await leader.stay(320)
        assert leader.count("pushed") == 0
    assert scene.repository.branches()[BRANCH] == tip


def moment() -> datetime:
    return datetime.fromtimestamp(wall(), UTC)
