"""Ends at any point, rivals, and servers that are away: nothing is lost or done twice."""

from pathlib import Path

import pytest

from tests.hub.controlplane.gitrepository import git
from tests.integration.reconciler.proposals.proposalhub import ProposalHub
from tests.support.githubserver import GitHubServer

pytestmark = pytest.mark.real_time  # git is a process, and its server a thread


@pytest.mark.parametrize("requests", [1, 4, 8])
async def test_a_leader_that_ends_in_the_midst_leaves_the_rest_to_the_next(
    scene: ProposalHub, forge: GitHubServer, requests: int
) -> None:
    """It ends after so many requests to the git server: before it pushed, between two pushes, after both."""
    scene.departs("cpu")
    scene.joins("c6")
    async with scene.working() as working:
        await working.until(lambda: scene.server.manners.requests >= requests, "it is under way")
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
                await each.until(lambda each=each: each.count("locks", "unchanged") >= 2, "both see it")
    assert len(forge.pulls) == len(scene.proposals) == 1


async def test_git_that_is_away_or_wants_another_token_delays_only(scene: ProposalHub) -> None:
    scene.over_http = True
    scene.departs("cpu")
    scene.server.stop()
    async with scene.working() as working:
        await working.until(lambda: working.count("locks", "failed") >= 1, "away is counted")
        token = (scene.secret / "token").read_text(encoding="utf-8")
        (scene.secret / "token").write_text("ghp_expired", encoding="utf-8")
        scene.server.start()
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
