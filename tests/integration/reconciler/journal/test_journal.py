"""The journal on real git repositories.

What a record says, and that nothing is lost or written twice.
"""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gitops_dsf.hub.moves.causes import MoveCause
from gitops_dsf.hub.times import timestamp_of
from gitops_dsf.journal.record import new_record
from gitops_dsf.pacing.ledger import CheckState, Ledger, LedgerMove, Phase, VerificationOutcome
from gitops_dsf.reconciler.git.clone import Clone
from gitops_dsf.reconciler.hub.decisions import FORGET_SECONDS
from gitops_dsf.reconciler.journal.branch import JournalClone
from gitops_dsf.reconciler.settings import GitSettings
from gitops_dsf.show.journal import explained_text, verification_text
from tests.hub.controlplane.gitrepository import git
from tests.integration.reconciler.journal.journalhub import (
    AUTHOR,
    BRANCH,
    DRAIN,
    INTERVAL,
    JournalHub,
)
from tests.integration.reconciler.replica import put
from tests.support import hubobjects
from tests.support.objecthub import FixedClaim
from tests.support.virtual_time import wall

START = (None, ("cluster1",))


async def test_a_move_is_recorded_with_its_reasons(scene: JournalHub) -> None:
    history = [{"revision": "0" * 40}, {"revision": "4f2c" * 10}]
    scene.hub.put(
        "applications", "gitops-dsf-delivery", namespace="argocd", status={"history": history}
    )
    async with scene.replica() as replica:
        await replica.pushed(1)
        await replica.moves("cluster2", cluster1=35)
        await replica.pushed(2)
    start, move = scene.branch().records
    assert (start.kind, start.to, start.number) == ("Start", ("cluster1",), 1)
    assert (move.kind, move.from_, move.to, move.number) == (
        "Change",
        ("cluster1",),
        ("cluster2",),
        2,
    )
    assert (move.placement, move.applications, move.commit) == (
        "argocd/guestbook",
        ("guestbook",),
        "4f2c" * 10,
    )
    assert [(each.name, each.cluster, each.before, each.after) for each in move.scores] == [
        ("AddOn/cpu/cpu", "cluster1", 80, 35)
    ]
    assert move.doubt == ""
    assert move.cause == MoveCause("Score", "cpu of cluster1 80 -> 35")
    assert start.cause is None
    assert scene.hub.events("Moved", "Normal") == [
        "cluster1 -> cluster2: scores: cpu of cluster1 80 -> 35"
    ]
    new, old = move.clusters
    assert (new.cluster, new.selected, new.points, new.rank) == ("cluster2", True, 60, 1)
    assert (old.cluster, old.selected, old.points, old.rank) == ("cluster1", False, 35, 3)
    assert [(term.name, term.weight, term.score) for term in old.contributions] == [
        ("AddOn/cpu/cpu", 1, 35)
    ]
    assert (
        git("log", "-1", "--format=%an <%ae>", BRANCH, folder=scene.repository.bare).strip()
        == AUTHOR
    )


async def test_a_move_from_a_lost_cluster_has_no_other_cause(scene: JournalHub) -> None:
    """Although a score changed at the same time."""
    async with scene.replica() as replica:
        await replica.pushed(1)
        lost = hubobjects.cluster("cluster1")
        lost["status"]["conditions"][-1]["status"] = "Unknown"
        taint = {"key": "cluster.open-cluster-management.io/unreachable", "effect": "NoSelect"}
        put(scene.hub, {**lost, "spec": {"hubAcceptsClient": True, "taints": [taint]}})
        await replica.view.clusters.refresh()
        await replica.moves("cluster2", cluster1=75)
        await replica.pushed(2)
    move = scene.branch().records[1]
    assert move.cause == MoveCause("ClusterLost", "OCM does not reach cluster1")
    told = "cluster1 -> cluster2: lost cluster: OCM does not reach cluster1"
    assert scene.hub.events("Moved", "Warning") == [told]
    assert "lost cluster: OCM does not reach cluster1" in explained_text(move)


async def test_a_move_because_of_an_edit_names_the_commit(scene: JournalHub) -> None:
    """Argo CD still applies the commit when OCM has decided already."""
    history = [{"revision": "4f2c" * 10}]
    running = {"phase": "Running", "syncResult": {"revision": "beef" * 10}}
    status = {"history": history, "operationState": running}
    scene.hub.put("applications", "gitops-dsf-delivery", namespace="argocd", status=status)
    async with scene.replica() as replica:
        await replica.pushed(1)
        await asyncio.sleep(600)
        edited = hubobjects.placement("guestbook", "cpu", "mem")
        put(scene.hub, edited)
        await replica.moves("cluster2")
        await asyncio.sleep(600)
        await replica.moves("cluster1", cluster1=100)
        await replica.pushed(3)
    _, move, later = scene.branch().records
    assert move.cause == MoveCause("Edit", "commit beefbeefbe")
    assert (
        scene.hub.events("Moved", "Normal")[0]
        == "cluster1 -> cluster2: edit in git: commit beefbeefbe"
    )
    assert later.cause is not None
    assert later.cause.kind == "Score", "ten minutes after an edit it is not the cause any more"


async def test_a_cluster_that_no_longer_passes_is_named(scene: JournalHub) -> None:
    async with scene.replica() as replica:
        await replica.pushed(1)
        spec = {
            "hubAcceptsClient": True,
            "taints": [{"key": "example.com/broken", "effect": "NoSelect"}],
        }
        put(scene.hub, {**hubobjects.cluster("cluster1"), "spec": spec})
        await replica.view.clusters.refresh()
        await replica.moves("cluster2")
        await replica.pushed(2)
    cause = scene.branch().records[1].cause
    assert cause is not None
    assert (cause.kind, cause.detail.startswith("cluster1: ")) == ("ClusterIneligible", True)
    assert "example.com/broken" in cause.detail


async def test_records_of_a_paced_placement_speak_of_the_scores_that_people_wrote(
    scene: JournalHub,
) -> None:
    put(scene.hub, hubobjects.paced(hubobjects.placement("guestbook", "cpu"), weight=5, steady=1))
    put(scene.hub, hubobjects.moves_score("cluster1", guestbook=-100))
    put(scene.hub, hubobjects.moves_score("cluster2", guestbook=50))
    async with scene.replica() as replica:
        await replica.pushed(1)
        replica.context.ledger = Ledger((DRAIN,))
        await replica.moves("cluster2")
        await replica.pushed(2)
    move = scene.branch().records[1]
    assert move.cause == MoveCause("Drain", "cluster1 (patch)")
    assert move.doubt == ""
    assert b"gitops-dsf-moves" not in b"".join(scene.files().values())
    new, old = move.clusters
    assert [(each.cluster, each.selected) for each in (new, old)] == [
        ("cluster2", True),
        ("cluster1", False),
    ]
    assert [(term.name, term.weight, term.score) for term in new.contributions] == [
        ("AddOn/cpu/cpu", 5, 60),
        ("Steady", 1, 0),
    ]
    assert scene.hub.events("Moved") == [], "the controller of paced moves has told it"


async def test_odd_times_and_quantities_stop_no_record(scene: JournalHub) -> None:
    """Any agent can write the times, a spoke the quantities, and the API server accepts them."""
    times = ("9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+14:00", "0000-01-01T00:00:00Z")
    for number, (until, cpu) in enumerate(
        zip(times, ("1e2000", "9" * 5_000, "1e1.5"), strict=True), 4
    ):
        item, odd = (
            hubobjects.score(f"cluster{number}", "cpu", 70),
            hubobjects.cluster(f"odd{number}"),
        )
        item["status"]["validUntil"] = until
        odd["status"] |= {"allocatable": {"cpu": cpu}, "capacity": {"cpu": cpu}}
        put(scene.hub, item)
        put(scene.hub, odd)
    async with scene.replica() as replica:
        await replica.pushed(1)
        await replica.moves("cluster2", cluster1=35)
        await replica.pushed(2)
    assert (scene.branch().records[1].to, scene.branch().records[1].doubt) == (("cluster2",), "")


async def test_a_decision_that_the_simulator_does_not_reach_is_told(scene: JournalHub) -> None:
    async with scene.replica() as replica:
        await replica.pushed(1)
        await replica.moves("cluster3")
        await replica.pushed(2)
    assert "the simulator would choose cluster1" in scene.branch().records[1].doubt


async def test_pushes_wait_for_each_other_and_only_append(scene: JournalHub) -> None:
    async with scene.replica() as replica:
        await replica.pushed(1)
        first = git("rev-parse", BRANCH, folder=scene.repository.bare).strip()
        for cluster in ("cluster2", "cluster3", "cluster1"):
            await replica.moves(cluster)
        assert scene.commits() == 1, "three moves within the interval"
        assert replica.metric("journal_pending") == 3
        await replica.pushed(4)
        await asyncio.sleep(3 * INTERVAL)
    assert scene.commits() == 2, "nothing happened since"
    assert git("merge-base", "--is-ancestor", first, BRANCH, folder=scene.repository.bare) == ""
    assert scene.moves() == [
        START,
        (("cluster1",), ("cluster2",)),
        (("cluster2",), ("cluster3",)),
        (("cluster3",), ("cluster1",)),
    ]


async def test_a_killed_leader_takes_with_it_what_was_not_pushed_and_the_next_one_goes_on(
    scene: JournalHub,
) -> None:
    async with scene.replica() as replica:
        await replica.pushed(1)
        await replica.moves("cluster2", cluster1=35)
        await replica.pending(1)
    scene.decide("cluster3")  # while nobody leads
    async with scene.replica() as replica:
        await replica.pushed(2)
        await asyncio.sleep(3 * INTERVAL)
    assert scene.moves() == [START, (("cluster1",), ("cluster3",))]
    records = scene.branch().records
    assert [(record.kind, record.number) for record in records] == [("Start", 1), ("Later", 2)]
    assert "no reconciler watched" in records[1].doubt


async def test_a_push_without_an_answer_is_not_repeated(scene: JournalHub) -> None:
    async with scene.replica() as replica:
        await replica.pushed(1)
        # The server takes the push, and the connection ends before it says so.
        hook = scene.repository.hook("post-receive", "kill -9 $PPID")
        await replica.moves("cluster2")
        await replica.failed()
        hook.unlink()
        await replica.moves("cluster3")
        await replica.pushed(3)
        await replica.pending(0)
    assert scene.moves() == [START, (("cluster1",), ("cluster2",)), (("cluster2",), ("cluster3",))]


async def test_nor_when_its_placement_is_gone_meanwhile(scene: JournalHub) -> None:
    """The next push has read that the record is there, and failed as well."""
    async with scene.replica() as replica:
        await replica.pushed(1)
        lost = scene.repository.hook("post-receive", "kill -9 $PPID")
        await replica.moves("cluster2")
        await replica.failed()
        lost.unlink()
        refusing = scene.repository.hook("pre-receive", "exit 1")
        await replica.moves("cluster3")
        await asyncio.sleep(3 * INTERVAL)
        del scene.hub.objects["placements", "argocd", "guestbook"]
        del scene.hub.objects["placementdecisions", "argocd", "guestbook-decision-1"]
        await replica.sees()
        await asyncio.sleep(FORGET_SECONDS + INTERVAL)
        # Deleted Placements are looked for when a decision changes.
        put(scene.hub, hubobjects.placement("other", "cpu"))
        scene.decide("cluster1", placement="other")
        await replica.sees()
        await asyncio.sleep(INTERVAL)
        refusing.unlink()
        await replica.pending(0)
    assert scene.moves() == [
        START,
        (("cluster1",), ("cluster2",)),
        (("cluster2",), ("cluster3",)),
        START,
    ]


@pytest.mark.parametrize(("limit", "value"), [("MAX_PENDING", 1), ("MAX_PENDING_BYTES", 500)])
async def test_when_too_many_wait_changes_are_recorded_later(
    scene: JournalHub, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    """By their number, or by their size, because one record can have 64 KiB."""
    monkeypatch.setattr(f"gitops_dsf.reconciler.journal.controller.{limit}", value)
    async with scene.replica() as replica:
        await replica.pushed(1)
        hook = scene.repository.hook("pre-receive", "exit 1")
        await replica.moves("cluster2")
        await replica.failed()
        await replica.moves("cluster3")
        await replica.moves("cluster1")
        assert replica.metric("journal_pending") == 1
        hook.unlink()
        await replica.pushed(3)
        await replica.moves("cluster2")
        await replica.pushed(4)
    assert scene.moves()[1:] == [
        (("cluster1",), ("cluster2",)),
        (("cluster2",), ("cluster1",)),
        (("cluster1",), ("cluster2",)),
    ]
    assert [record.kind for record in scene.branch().records] == [
        "Start",
        "Change",
        "Later",
        "Change",
    ]


async def test_two_replicas_that_both_believe_to_lead_write_each_move_once(
    scene: JournalHub,
) -> None:
    async with scene.replica() as one:
        await one.pushed(1)
        async with scene.replica() as two:
            for cluster in ("cluster2", "cluster3", "cluster1", "cluster2"):
                scene.decide(cluster)
                await asyncio.gather(one.sees(), two.sees())
                await asyncio.sleep(10)
            await one.pushed(5)
            await asyncio.sleep(3 * INTERVAL)
    assert scene.moves() == [
        START,
        (("cluster1",), ("cluster2",)),
        (("cluster2",), ("cluster3",)),
        (("cluster3",), ("cluster1",)),
        (("cluster1",), ("cluster2",)),
    ]


async def test_a_replica_that_lost_the_lease_records_nothing(scene: JournalHub) -> None:
    claim = FixedClaim()
    async with scene.replica(claim=claim) as replica:
        await replica.pushed(1)
        await replica.pending(0)
        claim.seconds = 0
        await replica.moves("cluster2")
        await asyncio.sleep(2 * INTERVAL)
    assert scene.moves() == [START]


async def test_while_the_repository_is_away_its_leader_records_and_a_new_one_waits(
    scene: JournalHub,
) -> None:
    away = scene.repository.bare.with_name("away.git")
    async with scene.replica() as replica:
        await replica.pushed(1)
        scene.repository.bare.rename(away)
        await replica.moves("cluster2")
        await replica.moves("cluster3")
        await replica.pending(2)
        await asyncio.sleep(INTERVAL)
        assert (replica.metric("journal_pending_seconds") or 0) > 0
        away.rename(scene.repository.bare)
        await replica.pushed(3)
    scene.repository.bare.rename(away)
    async with scene.replica() as replica:
        await replica.failed()
        await replica.moves("cluster1")
        away.rename(scene.repository.bare)
        await replica.pushed(4)
    assert scene.moves() == [
        START,
        (("cluster1",), ("cluster2",)),
        (("cluster2",), ("cluster3",)),
        (("cluster3",), ("cluster1",)),
    ]
    assert [record.kind for record in scene.branch().records][1:] == ["Change", "Change", "Later"]


async def test_a_placement_that_has_not_moved_for_months_is_not_started_again(
    scene: JournalHub, tmp_path: Path
) -> None:
    async with scene.replica() as replica:
        await replica.pushed(1)
    now = scene.branch().records[0].time
    later = [
        new_record(
            placement="argocd/other",
            number=number,
            time=now + timedelta(days=40 * number),
            kind="Change",
            before={"a"},
            after={"a"},
        )
        for number in (1, 2, 3)
    ]
    (tmp_path / "other").mkdir()
    clone = Clone(
        settings=GitSettings(url=scene.repository.url, author=AUTHOR), folder=tmp_path / "other"
    )
    await JournalClone(clone=clone, name=BRANCH).append(later, at=now)
    async with scene.replica() as replica:
        await replica.moves("cluster2")
        await replica.pushed(5)
    mine = [record for record in scene.branch().records if record.placement == "argocd/guestbook"]
    assert [(record.number, record.from_) for record in mine] == [(1, None), (2, ("cluster1",))]


async def test_a_branch_of_something_else_is_not_touched(scene: JournalHub) -> None:
    clone = scene.repository.clone
    (clone / "notes.txt").write_text("ours\n")
    git("checkout", "--quiet", "--orphan", BRANCH, folder=clone)
    git("add", ".", folder=clone)
    git("commit", "--quiet", "--message", "Notes", folder=clone)
    git("push", "--quiet", "origin", BRANCH, folder=clone)
    async with scene.replica() as replica:
        await asyncio.sleep(3 * INTERVAL)
        assert replica.metric("journal_pushes_total", outcome="failed")
    assert git("ls-tree", "--name-only", BRANCH, folder=scene.repository.bare).split() == [
        "notes.txt"
    ]


async def test_a_hub_without_argo_cd_has_a_journal(scene: JournalHub) -> None:
    async with scene.replica() as replica:
        scene.hub.refusals["GET applications"] = [404]
        await replica.pushed(1)
    (record,) = scene.branch().records
    assert (record.commit, record.to) == ("", ("cluster1",))


async def test_a_paced_move_is_recorded_with_its_admission(scene: JournalHub) -> None:
    """A move of another Placement, and one that OCM made itself, say nothing."""
    moves = [
        LedgerMove(
            placement="argocd/other",
            source="cluster1",
            target="cluster2",
            since=1_700_000_000,
            gain=9.0,
        ),
        LedgerMove(
            placement="argocd/guestbook",
            source="cluster1",
            target="cluster2",
            since=1_800_000_000,
            gain=25.0,
        ),
    ]
    async with scene.replica() as replica:
        await replica.pushed(1)
        replica.context.ledger = Ledger(tuple(moves))
        await replica.moves("cluster2", cluster1=35)
        await replica.pushed(2)
        replica.context.ledger = Ledger((replace(moves[1], target="cluster3", admitted=False),))
        await replica.moves("cluster3", cluster2=10)
        await replica.pushed(3)
    start, move, itself = scene.branch().records
    assert (start.admitted, itself.admitted, itself.gain) == (None, None, None)
    assert move.admitted is not None
    assert (move.admitted.timestamp(), move.gain) == (1_800_000_000, 25.0)
    assert (
        "  admitted at 2027-01-15 08:00:00 UTC, for +25.0 points by the written weights"
        in explained_text(move)
    )


def arrived(**more: Any) -> LedgerMove:
    """A move that began a second ago, and whose checks have not decided yet."""
    check = CheckState(score="slo/guestbook", at_least=80, before=90, held_since=wall())
    verifying = LedgerMove(
        placement="argocd/guestbook",
        source="cluster1",
        target="cluster2",
        since=wall() - 1,
        phase=Phase.VERIFYING,
        phase_since=wall(),
        verified=True,
        checks=(check,),
    )
    return replace(verifying, **more)


def measuring(move: LedgerMove, value: int, **more: Any) -> LedgerMove:
    """The move when it was decided by this score."""
    return replace(move, checks=(replace(move.checks[0], last=value),), **more)


async def test_what_was_measured_where_a_move_led_is_recorded_once(scene: JournalHub) -> None:
    """At once, although no decision changes then, and not again when the move has ended."""
    async with scene.replica() as replica:
        await replica.pushed(1)
        move = arrived()
        replica.context.ledger = Ledger((move,))
        await replica.moves("cluster2", cluster1=35)
        await replica.pushed(2)
        await asyncio.sleep(INTERVAL)
        passed = measuring(move, 84, passed_at=wall(), outcome=VerificationOutcome.COMPLETED)
        replica.context.ledger = Ledger((passed,))
        replica.context.verification_decided()
        await replica.pushed(3)
        ended = replace(passed, phase=Phase.ENDED)
        replica.context.ledger = Ledger((ended,))
        replica.context.verification_decided()
        await replica.moves("cluster3", cluster2=10)
        await replica.pushed(4)
    _, change, verified, later = scene.branch().records
    assert (verified.kind, verified.number, verified.to) == ("Verified", 3, ("cluster2",))
    assert (verified.from_, verified.left, verified.joined) == (("cluster2",), (), ())
    assert verified.time.timestamp() == pytest.approx(passed.passed_at, abs=0.001)
    assert verified.applications == ("guestbook",)
    passed_at = f"{verified.time:%Y-%m-%d %H:%M:%S}"
    began_at = timestamp_of(move.since).replace("T", " ").removesuffix("Z")
    assert explained_text(verified) == (
        f"{passed_at} UTC: argocd/guestbook, cluster1 -> cluster2: verified\n"
        f"  the move began at {began_at} UTC\n"
        "  slo/guestbook 84 of at least 80; 90 on cluster1 before the move\n"
    )
    assert (change.kind, later.kind, later.from_) == ("Change", "Change", ("cluster2",))


async def test_a_new_leader_records_what_the_last_one_could_not(scene: JournalHub) -> None:
    """The ledger remembers how a move was verified, so that nothing is lost or written twice."""
    async with scene.replica() as first:
        await first.pushed(1)
        await first.moves("cluster2", cluster1=35)
        await first.pushed(2)
    ended = {"phase": Phase.ENDED, "outcome": VerificationOutcome.RETURNED}
    returned_move = measuring(arrived(), 62, **ended)
    async with scene.replica() as second:
        second.context.ledger = Ledger((returned_move,))
        second.context.verification_decided()
        await second.pushed(3)
    async with scene.replica() as third:
        third.context.ledger = Ledger((returned_move,))
        third.context.verification_decided()
        await asyncio.sleep(3 * INTERVAL)
        await third.moves("cluster1", cluster2=10)
        await third.pushed(4)
    *_, returned, back = scene.branch().records
    assert returned.verification is not None
    assert (returned.verification.outcome, returned.verification.checks[0].value) == (
        "Returned",
        62,
    )
    assert verification_text(returned.verification) == (
        "verification failed, it goes back: slo/guestbook 62 of at least 80"
    )
    assert (back.number, back.left, back.joined) == (4, ("cluster2",), ("cluster1",))


async def test_a_copy_that_never_got_healthy_is_recorded_as_the_reason(scene: JournalHub) -> None:
    async with scene.replica() as replica:
        await replica.pushed(1)
        move = arrived()
        replica.context.ledger = Ledger((move,))
        await replica.moves("cluster2", cluster1=35)
        await replica.pushed(2)
        detail = "cluster2 has no healthy copy after 1800 s"
        ended = {"phase": Phase.ENDED, "outcome": VerificationOutcome.RETURNED, "detail": detail}
        replica.context.ledger = Ledger((replace(move, **ended),))
        replica.context.verification_decided()
        await replica.pushed(3)
    *_, returned = scene.branch().records
    assert returned.verification is not None
    assert verification_text(returned.verification) == (
        "verification failed, it goes back: cluster2 has no healthy copy after 1800 s"
    )


async def test_a_move_that_nobody_verifies_has_no_record_of_a_verification(
    scene: JournalHub,
) -> None:
    """Nor one whose checks have not decided, nor one of a Placement without any record."""
    moves = (
        DRAIN,
        arrived(),
        measuring(arrived(), 84, outcome=VerificationOutcome.COMPLETED, placement="argocd/other"),
        arrived(target="cluster3", phase=Phase.HANDOVER),
    )
    async with scene.replica() as replica:
        await replica.pushed(1)
        replica.context.ledger = Ledger(moves)
        replica.context.verification_decided()
        await asyncio.sleep(3 * INTERVAL)
        assert replica.metric("journal_pending") == 0
    assert len(scene.branch().records) == 1


async def test_two_replicas_write_each_verification_once(scene: JournalHub) -> None:
    async with scene.replica() as one:
        await one.pushed(1)
        async with scene.replica() as two:
            passed = measuring(
                arrived(), 84, passed_at=wall(), outcome=VerificationOutcome.COMPLETED
            )
            for replica in (one, two):
                replica.context.ledger = Ledger((passed,))
                replica.context.verification_decided()
            await asyncio.sleep(3 * INTERVAL)
            scene.decide("cluster2")
            await asyncio.gather(one.sees(), two.sees())
            await asyncio.sleep(3 * INTERVAL)
    assert [record.kind for record in scene.branch().records] == ["Start", "Verified", "Change"]
    assert len(scene.moves()) == 3
