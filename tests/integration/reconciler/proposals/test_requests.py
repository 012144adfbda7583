"""Pull requests: one for each proposal, and people's answers count.

Ends at any point, rivals, and servers that are away: nothing is lost or done twice.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.reconciler.git.program import Finished, run
from tests.hub.controlplane.gitrepository import git
from tests.integration.reconciler.proposals.proposalhub import TOKEN, ProposalHub, page
from tests.support.githubserver import GitHubServer
from tests.support.objecthub import FixedClaim

pytestmark = pytest.mark.real_time  # git is a process, and its server a thread

LIMIT = (403, {"message": "You have exceeded a secondary rate limit"}, {"retry-after": "1"})


async def test_a_request_is_opened_superseded_and_withdrawn(
    scene: ProposalHub, forge: GitHubServer
) -> None:
    async with scene.offering() as working:
        assert forge.opened() == [scene.one]
        (first,) = forge.pulls
        assert (first.title, first.base) == ("Accept what /config of scorer cpu says", "main")
        assert "config.scoring.params.interval: 60 -> 30" in first.body
        await working.looks_again("locks", "unchanged")
        assert len(forge.pulls) == 1
        scene.pages.pages["/cpu/config"] = page("cpu_score", interval=45)
        await working.until(
            lambda: (
                len(forge.opened()) == 1 and len(scene.proposals) == 1 and len(forge.pulls) == 2
            ),
            "superseded",
        )
        assert first.state == "closed"
        assert f"Superseded by branch `{scene.one}`." in first.body
        scene.pages.pages["/cpu/config"] = page("cpu_score")
        await working.until(lambda: not forge.opened() and not scene.proposals, "withdrawn")
        await working.until(lambda: working.count("locks", "withdrawn") == 1, "it is counted")
        # What we closed ourselves is not a refusal: the same content may come again.
        scene.pages.pages["/cpu/config"] = page("cpu_score", interval=30)
        await working.until(lambda: len(forge.opened()) == 1, "offered again")
    assert [pull.state for pull in forge.pulls] == ["closed", "closed", "open"]


async def test_what_people_closed_is_not_offered_again_whoever_leads(
    scene: ProposalHub, forge: GitHubServer
) -> None:
    async with scene.offering() as working:
        forge.close(1)
        git("update-ref", "-d", f"refs/heads/{scene.one}", folder=scene.repository.bare)
        await working.looks_again("locks", "refused")
    async with scene.working() as working:
        await working.looks_again("locks", "refused")
        assert scene.proposals == {}
        scene.pages.pages["/cpu/config"] = page("cpu_score", interval=45)
        await working.until(lambda: len(forge.opened()) == 1, "other content is news")
    assert len(forge.pulls) == 2


def revert(scene: ProposalHub) -> None:
    """The merge that is the head of main."""
    git("revert", "--no-edit", "-m", "1", "HEAD", folder=scene.repository.clone)
    git("push", "--quiet", "origin", "main", folder=scene.repository.clone)


async def test_a_merge_ends_it_and_what_was_reverted_is_offered_anew(
    scene: ProposalHub, forge: GitHubServer
) -> None:
    async with scene.offering() as working:
        forge.merge(1)
        await working.until(lambda: not scene.proposals, "its branch is removed")
        revert(scene)
        await working.until(lambda: len(forge.opened()) == 1, "it is offered anew")
    assert [pull.number for pull in forge.pulls] == [1, 2]


async def test_what_people_pushed_to_a_merged_branch_is_not_written_over(
    scene: ProposalHub, forge: GitHubServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with scene.offering() as working:
        branch = scene.one
        theirs = scene.amended(branch)
        forge.merge(1)
        revert(scene)
        await working.until(lambda: working.count("locks", "failed") >= 1, "it is told")
        assert scene.proposals == {branch: theirs}
    assert f"{branch} is not overwritten: its last commit is by A Platform Engineer" in caplog.text


async def test_a_request_that_was_not_opened_in_time_is_opened_later(
    scene: ProposalHub, forge: GitHubServer
) -> None:
    failing = {"POST": LIMIT}
    forge.faults = [lambda method, path: failing.get(method) if path.endswith("/pulls") else None]
    scene.departs("cpu")
    async with scene.working() as working:
        await working.until(lambda: working.count("locks", "failed") >= 1, "the limit is met")
        branch = scene.one
        assert forge.pulls == []
        failing.clear()
        await working.until(lambda: forge.opened() == [branch], "it is opened")
        await working.looks_again("locks", "unchanged")
        assert scene.one == branch


async def test_while_the_forge_cannot_say_what_people_refused_nothing_is_pushed(
    scene: ProposalHub, forge: GitHubServer
) -> None:
    answers = {"now": (502, {"message": "Bad Gateway"}, {})}
    forge.faults = [lambda _method, _path: answers.get("now")]
    scene.departs("cpu")
    async with scene.working() as working:
        for fault in ((502, {}, {}), LIMIT, (401, {"message": "Bad credentials"}, {})):
            answers["now"] = fault
            before = working.count("locks", "failed")
            await working.until(
                lambda before=before: working.count("locks", "failed") > before, "it is counted"
            )
            assert scene.proposals == {}
        answers.clear()
        await working.until(lambda: len(forge.opened()) == 1, "all is well again")


async def test_a_push_that_the_rules_refuse_stops_no_other(
    scene: ProposalHub, forge: GitHubServer, caplog: pytest.LogCaptureFixture
) -> None:
    scene.over_http = True
    scene.repository.hook("update", "case $1 in *locks-*) echo 'not so' >&2; exit 1;; esac")
    scene.departs("cpu")
    scene.joins("c6")
    async with scene.working() as working:
        await working.until(lambda: len(forge.opened()) == 1, "the other is offered")
        await working.until(
            lambda: working.count("locks", "failed") >= 1, "the refused one is counted"
        )
    assert "inventory-" in forge.opened()[0]
    assert "hook declined" in caplog.text
    assert TOKEN not in caplog.text


@pytest.mark.parametrize("number", [1, 3, 4, 5])
async def test_a_leader_that_ends_in_the_midst_leaves_the_rest_to_the_next(
    scene: ProposalHub, forge: GitHubServer, number: int
) -> None:
    """It ends with its git that is the nth to ask the server: before it pushed, in its first push,
    in its second, after both.
    """
    asking: list[str] = []
    under_way = asyncio.Event()

    async def noted(command: Sequence[str], *, what: str, **how: Any) -> Finished:
        if what in {"git ls-remote", "git fetch", "git push"}:
            asking.append(what)
            if len(asking) == number:
                under_way.set()
        return await run(command, what=what, **how)

    scene.departs("cpu")
    scene.joins("c6")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gitops_dsf.reconciler.git.program.run", noted)
        async with scene.working():
            await under_way.wait()
    assert asking == ["git ls-remote", "git fetch", *["git push"] * 2, "git ls-remote"][:number]
    await _offers_each_once(scene, forge)


async def _offers_each_once(scene: ProposalHub, forge: GitHubServer) -> None:
    """The next leader has both proposals open, each once, and git's objects are whole."""
    async with scene.working() as working:
        await working.until(lambda: len(forge.opened()) == 2, "both are offered in the end")
        await working.looks_again("locks", "unchanged")
        assert sorted(forge.opened()) == sorted(scene.proposals)
    assert len(forge.pulls) == 2
    git("fsck", "--strict", folder=scene.repository.bare)


async def test_two_that_think_they_lead_offer_it_once(
    scene: ProposalHub, forge: GitHubServer, tmp_path: Path
) -> None:
    scene.departs("cpu")
    async with scene.working() as one:
        scene.work = tmp_path / "other"
        async with scene.working() as other:
            for each in (one, other):
                await each.until(
                    lambda each=each: each.count("locks", "unchanged") >= 2, "both see it"
                )
    assert len(forge.pulls) == len(scene.proposals) == 1


async def test_git_that_is_away_or_wants_another_token_delays_only(scene: ProposalHub) -> None:
    scene.over_http = True
    scene.departs("cpu")
    scene.server.manners.away = True
    async with scene.working() as working:
        await working.until(lambda: working.count("locks", "failed") >= 1, "away is counted")
        token = (scene.secret / "token").read_text(encoding="utf-8")
        (scene.secret / "token").write_text("ghp_expired", encoding="utf-8")
        scene.server.manners.away = False
        before = working.count("locks", "failed")
        await working.until(lambda: working.count("locks", "failed") > before, "denied is counted")
        assert scene.proposals == {}
        (scene.secret / "token").write_text(token, encoding="utf-8")
        await working.until(lambda: scene.proposals, "the rotated token works")


async def test_a_repository_that_cannot_be_read_is_told(
    scene: ProposalHub, caplog: pytest.LogCaptureFixture
) -> None:
    scene.repository.commit({"gitops-dsf.yaml": None})
    async with scene.working() as working:
        await working.until(lambda: working.count("inventory", "failed") >= 1, "it is counted")
    assert "the repository has no gitops-dsf.yaml; git.path names the folder" in caplog.text


async def test_a_repository_with_a_submodule_among_its_sources_is_told(
    scene: ProposalHub, caplog: pytest.LogCaptureFixture
) -> None:
    """The reconciler's clone fills none. Clusters in it would be offered a second time."""
    clone = scene.repository.clone
    git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},clusters/team", folder=clone)
    git("commit", "--quiet", "--message", "A team's clusters", folder=clone)
    git("push", "--quiet", "origin", "main", folder=clone)
    scene.joins("c6")
    async with scene.working() as working:
        await working.until(lambda: working.count("inventory", "failed") >= 1, "it is counted")
    assert "the repository has sources that this clone cannot read: clusters/team" in caplog.text
    assert scene.proposals == {}


async def test_mistakes_of_others_keep_the_inventory_as_it_is(
    scene: ProposalHub, caplog: pytest.LogCaptureFixture
) -> None:
    scene.repository.commit({"clusters/c1.yaml": "kind: [\n"})
    scene.joins("c6")
    async with scene.working() as working:
        await working.looks_again("inventory", "undecided")
    assert scene.proposals == {}
    assert "clusters/c1.yaml" in caplog.text
    assert str(scene.work) not in caplog.text


async def test_a_replica_that_no_longer_leads_offers_and_withdraws_nothing(
    scene: ProposalHub, forge: GitHubServer
) -> None:
    """It was frozen, or cannot reach the hub; another one may offer something newer."""
    claim = FixedClaim(seconds=0)
    scene.departs("cpu")
    async with scene.working(claim=claim) as working:
        await working.until(lambda: working.count("locks", "failed") >= 3, "it is counted")
        assert (scene.proposals, forge.pulls) == ({}, [])
        claim.seconds = 1000
        await working.until(forge.opened, "it is opened")
        branch = scene.one
        claim.seconds = 0
        scene.pages.pages["/cpu/config"] = page("cpu_score")
        before = working.count("locks", "failed")
        await working.until(lambda: working.count("locks", "failed") >= before + 3, "it is counted")
        assert (scene.one, forge.opened()) == (branch, [branch])
        claim.seconds = 1000
        await working.until(lambda: not scene.proposals, "it is withdrawn")
        assert forge.opened() == []


async def test_a_push_that_failed_delays_the_next_one_no_longer_than_a_failure(
    scene: ProposalHub,
) -> None:
    """The server refuses three pushes.

    Pauses between proposals, minutes to hours, are for those that people saw.
    """
    scene.hurries = ("APART", "LEFT")
    scene.repository.hook(
        "update",
        "case $1 in *locks-*) ;; *) exit 0;; esac",
        "count=$(cat pushes 2>/dev/null || echo 0)",
        "echo $((count + 1)) > pushes",
        "[ $count -ge 3 ] || { echo 'not now' >&2; exit 1; }",
    )
    scene.departs("cpu")
    async with scene.working() as working:
        await working.until(lambda: scene.proposals, "the fourth push is accepted")
        await working.until(lambda: working.count("locks", "pushed") == 1, "it is counted")
        assert working.count("locks", "failed") == 3
        assert working.count("locks", "waiting") == 0
