"""Git in memory answers as the real git does."""

import asyncio
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitops_dsf.reconciler.git import program
from gitops_dsf.reconciler.git.clone import Clone
from gitops_dsf.reconciler.git.credentials import GitError
from gitops_dsf.reconciler.settings import GitSettings
from tests.world import git
from tests.world.loop import PROGRAM, Program, WorldLoop
from tests.world.network import Network

AT = datetime(2026, 6, 1, 12, 30, tzinfo=UTC)


async def story(folder: Path, url: str) -> list[object]:
    """What two clones do one after another, and what they are answered."""
    said: list[object] = []
    settings = GitSettings(url=url, author="Somebody <somebody@example.com>")
    first, second = (Clone(settings=settings, folder=folder / name) for name in ("first", "second"))
    for each in ("first", "second"):
        (folder / each).mkdir(parents=True)
    said.append(await first.heads("state"))
    files = {"a.json": b"1\n", "scores/x.json": b"2\n", "scores-1": b"3\n", "b/c/d": b"4\n"}
    one = await first.commit_files(files, parent=None, message="One\n\nMore.", at=AT)
    await first.push(one, branch="state", expected=None)
    said += [one, await second.heads("state"), await second.heads("other")]
    tip = await second.fetch("state")
    said += [tip, await second.files(tip), await second.read(tip, "scores/x.json")]
    said.append(await second.committed_at(tip))
    changed = {"a.json": b"5\n", "new": b"6\n", 'odd "n\u00e4me"': b"\n\n"}
    two = await second.commit_files(changed, parent=tip, message="Two", at=AT)
    said += [two, await second.files(two), sorted((await second.changes(tip, two)).items())]
    await second.push(two, branch="state", expected=tip)
    # The first one has not seen that.
    again = await first.commit_files(files, parent=None, message="Again", at=AT)
    said.append(again)
    with pytest.raises(GitError) as refused:
        await first.push(again, branch="state", expected=one)
    said.append("stale info" in str(refused.value))
    said.append(await first.heads("state"))
    with pytest.raises(GitError):
        await first.fetch("other")
    said += await proposing(second)
    return said


async def proposing(clone: Clone) -> list[object]:
    """What the proposals do with the tip of a branch."""
    tip = await clone.fetch("state")
    await clone.checkout(tip, folder="")
    kept = sorted(str(path.relative_to(clone.tree)) for path in clone.tree.rglob("*.json"))
    lost = await clone.lost_sources(folder="")
    (clone.tree / "a.json").write_bytes(b"7\n")
    (clone.tree / "new").unlink()
    commit = await clone.commit(["a.json", "new"], parent=tip, message="Proposed", at=AT)
    changes = sorted((await clone.changes(tip, commit)).items())
    await clone.push(commit, branch="proposals/locks-1", expected=None)
    heads = await clone.heads("state", "proposals/*")
    author = await clone.written_by(await clone.fetch("proposals/locks-1"))
    await clone.checkout(tip, folder="")
    again = (clone.tree / "a.json").read_bytes()
    await clone.push(None, branch="proposals/locks-1", expected=commit)
    return [
        tip,
        kept,
        lost,
        commit,
        changes,
        heads,
        author,
        again,
        await clone.heads("proposals/*"),
    ]


@pytest.mark.real_time
def test_its_answers_are_those_of_git(
    loop: WorldLoop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = tmp_path / "bare.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(bare)], check=True)
    subprocess.run(["git", "-C", str(bare), "config", "uploadpack.allowFilter", "true"], check=True)
    real = asyncio.run(story(tmp_path / "real", f"file://{bare}"))

    network, repository = Network(seed=1), git.Repository()
    network.hosts[git.HOST] = repository
    monkeypatch.setattr(program, "run", git.Git(network, repository).run)

    async def in_memory() -> list[object]:
        PROGRAM.set(Program("reconciler-0"))
        return await story(tmp_path / "memory", git.URL)

    assert loop.run_until_complete(in_memory()) == real
    assert len(real) == 23
