"""A drifted lock becomes a branch, and nothing but that lock."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.reconciler.git.program import Finished, run
from tests.hub.controlplane.gitrepository import git
from tests.integration.reconciler.proposals.proposalhub import AUTHOR, ProposalHub, page
from tests.support.pageserver import Answer

pytestmark = pytest.mark.real_time  # git is a process, and its server a thread


@pytest.mark.worker
async def test_what_a_page_says_is_offered_on_a_branch_of_its_own(
    scene: ProposalHub, tmp_path: Path
) -> None:
    scene.over_http = True
    scene.departs("cpu")
    scene.drifts("mem", drifted=False)
    ran = tmp_path / "ran"
    scene.repository.commit({"msgspec.py": f"open({str(ran)!r}, 'w')\n"})
    async with scene.working() as working:
        # One look is enough here: each starts two workers, of half a second of the processor.
        await working.until(lambda: working.open("locks") == 1, "a branch is offered")
        await working.until(lambda: working.count("inventory", "nothing") >= 1, "nothing more")
        branch = scene.one
        assert branch.startswith("gitops-dsf/locks-")
        assert scene.changed(branch) == ["locks/cpu.yaml"]
        assert "interval: 30" in scene.repository.read("locks/cpu.yaml", branch=branch)
        assert scene.errors(branch, tmp_path / "copy") == []
        shown = git(
            "show", "--no-patch", "--format=%an <%ae>%n%B", branch, folder=scene.repository.bare
        )
        assert shown.startswith(f"{AUTHOR}\nAccept what /config of scorer cpu says\n")
        assert "- config.scoring.params.interval: 60 -> 30" in shown
        assert (
            working.count("locks", "pushed"),
            working.open("locks"),
            working.open("inventory"),
        ) == (
            1,
            1,
            0,
        )
        assert scene.hub.events("LockProposed") == [
            f"/config differs from the lock; a new lock is proposed on branch {branch}"
        ]
    assert not (tmp_path / "work/proposals").exists(), "nothing is left behind"
    assert not ran.exists(), "no file of the repository runs"


async def test_a_page_that_is_not_accepted_leaves_everything_as_it_is(scene: ProposalHub) -> None:
    async with scene.offering() as working:
        before = scene.proposals
        for wrong in (
            page("mem_score"),
            page("cpu_score", query="avg("),
            Answer(status=500),
            Answer(body=b"<html>", media="text/html"),
        ):
            scene.pages.pages["/cpu/config"] = wrong
            await working.looks_again("locks", "undecided")
            assert scene.proposals == before
        assert working.count("locks", "withdrawn") == 0


async def test_an_open_proposal_is_committed_again_only_when_its_files_differ(
    scene: ProposalHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    verbs: list[str] = []

    async def noted(command: Sequence[str], *, what: str, **how: Any) -> Finished:
        verbs.append(what)
        return await run(command, what=what, **how)

    monkeypatch.setattr("gitops_dsf.reconciler.git.program.run", noted)
    async with scene.offering() as working:
        before_push = verbs[: verbs.index("git push")]
        assert before_push.count("git checkout") == 1, "nobody has written into a fresh checkout"
        await working.looks_again("locks", "unchanged")
        verbs.clear()
        await working.looks_again("locks", "unchanged")
        assert "git ls-remote" in verbs
        assert "git checkout" in verbs, "what the worker before has written is not looked at"
        assert "git commit-tree" not in verbs
        # The description shows the beginning of each query, which is the same.
        alike = " or ".join(["up"] * 100)
        for metric in ("a", "b"):
            before = scene.proposals
            scene.pages.pages["/cpu/config"] = page("cpu_score", query=f"{alike} or {metric}")
            await working.until(
                lambda before=before: len(scene.proposals.keys() - before) == 1, "it is offered"
            )
            await working.until(lambda: len(scene.proposals) == 1, "the old one is gone")
            text = scene.repository.read("locks/cpu.yaml", branch=scene.one)
            assert f"or {metric}" in text


async def test_people_who_push_to_a_branch_own_it(scene: ProposalHub) -> None:
    async with scene.offering() as working:
        branch = scene.one
        theirs = scene.amended(branch)
        scene.pages.pages["/cpu/config"] = page("cpu_score", interval=45)
        await working.until(lambda: len(scene.proposals) == 2, "the newer one is beside it")
        await working.looks_again("locks", "unchanged")
        assert scene.proposals[branch] == theirs
        assert working.count("locks", "superseded") == 0


async def test_a_branch_that_people_deleted_is_not_pushed_again(scene: ProposalHub) -> None:
    async with scene.offering() as working:
        await working.looks_again("locks", "unchanged")
        git("update-ref", "-d", f"refs/heads/{scene.one}", folder=scene.repository.bare)
        await working.looks_again("locks", "refused", times=3)
        assert scene.proposals == {}
        scene.pages.pages["/cpu/config"] = page("cpu_score", interval=45)
        await working.until(lambda: scene.proposals, "other content is news")


async def test_what_was_merged_before_and_is_said_again_is_offered_again(
    scene: ProposalHub,
) -> None:
    """People who delete the branch of a merge refuse nothing."""
    scene.drifts("cpu")

    def merged() -> None:
        branch = scene.one
        git("fetch", "--quiet", "origin", branch, folder=scene.repository.clone)
        git("merge", "--quiet", "--no-edit", "FETCH_HEAD", folder=scene.repository.clone)
        git(
            "push",
            "--quiet",
            "--atomic",
            "origin",
            "HEAD:main",
            f":{branch}",
            folder=scene.repository.clone,
        )

    async with scene.working() as working:
        for interval in (30, 45):
            scene.pages.pages["/cpu/config"] = page("cpu_score", interval=interval)
            await working.until(lambda: scene.proposals, "a branch appears")
            await working.looks_again("locks", "unchanged")
            merged()
        scene.pages.pages["/cpu/config"] = page("cpu_score", interval=30)
        await working.until(lambda: scene.proposals, "the first content again")


async def test_the_locks_of_all_scorers_are_offered_together(
    scene: ProposalHub, tmp_path: Path
) -> None:
    for name in ("cpu", "mem"):
        scene.departs(name)
    async with scene.working() as working:
        await working.until(lambda: scene.proposals, "both are offered")
        assert scene.changed(scene.one) == ["locks/cpu.yaml", "locks/mem.yaml"]
        assert scene.errors(scene.one, tmp_path / "copy") == []
        before = scene.proposals
        scene.pages.pages["/mem/config"] = Answer(status=500)
        scene.drifts("mem", drifted=False)
        await working.looks_again("locks", "undecided")
        assert scene.proposals == before, "it stays while one of its pages cannot be read"


async def test_another_fleet_of_the_repository_is_not_touched(
    scene: ProposalHub, tmp_path: Path
) -> None:
    files = {
        path: scene.repository.read(path)
        for path in git("ls-files", folder=scene.repository.clone).split()
    }
    moved = {f"fleets/eu/{path}": text for path, text in files.items()}
    scene.repository.commit({**dict.fromkeys(files), **moved})
    theirs = "gitops-dsf/locks-0123456789abcdef"
    git("branch", theirs, "main", folder=scene.repository.bare)
    scene.folder = "fleets/eu"
    scene.departs("cpu")
    async with scene.working() as working:
        await working.until(lambda: len(scene.proposals) == 2, "a branch appears")
        await working.looks_again("locks", "unchanged")
        (branch,) = set(scene.proposals) - {theirs}
        assert branch.startswith("gitops-dsf/fleets/eu/locks-")
        assert scene.changed(branch) == ["fleets/eu/locks/cpu.yaml"]
        assert scene.errors(branch, tmp_path / "copy") == []
