"""A clone against real servers: bare repositories over file:// and over HTTP."""

import asyncio
import gc
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.reconciler.git.clone import Clone, file_entry, working_clone
from gitops_dsf.reconciler.git.credentials import GitError
from gitops_dsf.reconciler.git.program import Finished, run
from gitops_dsf.reconciler.settings import GitSettings
from tests.hub.controlplane.gitrepository import GitRepository, git
from tests.hub.controlplane.gitserver import GitServer

pytestmark = pytest.mark.real_time  # git is a process, and its server a thread

AUTHOR = "Fleet Reconciler <fleet@example.com>"
AT = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    with GitServer(folder=tmp_path / "git") as server:
        yield server


@pytest.fixture
def repository(server: GitServer) -> GitRepository:
    repository = server.create("fleet")
    repository.commit(
        {
            "a.yaml": "a: 1\n",
            "dir/b c.yaml": "b: \u00fc\n",
            'odd "name".txt': "x\n",
            "dir/run.sh": "#!/bin/sh\n",
        }
    )
    (repository.clone / "dir/run.sh").chmod(0o755)
    (repository.clone / "link").symlink_to("/etc/passwd")
    (repository.clone / "crlf.yaml").write_bytes(b"a: 1\r\n")
    (repository.clone / ".gitattributes").write_text(
        "*.yaml text eol=lf\n*.bin -text\n", encoding="utf-8"
    )
    repository.publish()
    return repository


def clone(url: str, folder: Path) -> Clone:
    folder.mkdir(exist_ok=True)
    return Clone(settings=GitSettings(url=url, author=AUTHOR), folder=folder)


@pytest.fixture
def mine(repository: GitRepository, tmp_path: Path) -> Clone:
    """A clone of a path, which takes a fifth of the processes of HTTP."""
    return clone(f"file://{repository.bare}", tmp_path / "work")


async def checked_out(mine: Clone) -> str:
    """Its head."""
    await mine.heads("main")
    head = await mine.fetch("main")
    await mine.checkout(head, folder="")
    return head


async def committed(mine: Clone, files: dict[str, bytes], *, parent: str | None = None) -> str:
    return await mine.commit_files(files, parent=parent, message="Accept\n\nBecause.", at=AT)


async def test_what_a_commit_holds_is_read(mine: Clone, repository: GitRepository) -> None:
    assert await mine.heads("main", "gitops-dsf/*") == repository.branches()
    head = await mine.fetch("main")
    assert head == repository.branches()["main"]
    names = [
        ".gitattributes",
        "a.yaml",
        "crlf.yaml",
        "dir/b c.yaml",
        "dir/run.sh",
        "link",
        'odd "name".txt',
    ]
    assert list(await mine.files(head)) == names
    assert (await mine.files(head))["a.yaml"] == file_entry(b"a: 1\n")
    assert (await mine.files(head))["dir/run.sh"] == file_entry(b"#!/bin/sh\n").replace(
        "100644", "100755"
    )
    assert await mine.read(head, "dir/b c.yaml") == "b: \u00fc\n".encode()
    assert await mine.written_by(head) == "A Platform Engineer <platform@example.com>"


async def test_a_checkout_has_one_folder_without_what_is_rendered(
    mine: Clone, repository: GitRepository
) -> None:
    files = {
        "eu [1]/scorers/a.yaml": "a\n",
        "eu [1]/rendered/x.yaml": "x\n",
        "eu [1]/rendered.yaml": "y\n",
    }
    repository.commit(dict(files))
    await mine.heads("main")
    head = await mine.fetch("main")
    for _ in range(2):
        await mine.checkout(head, folder="eu [1]")
        found = sorted(path.relative_to(mine.tree).as_posix() for path in mine.tree.rglob("*.yaml"))
        assert found == ["eu [1]/rendered.yaml", "eu [1]/scorers/a.yaml"]
        (mine.tree / "eu [1]/scorers/a.yaml").unlink()
        (mine.tree / "eu [1]/new.yaml").write_text("what a worker left", encoding="utf-8")


async def test_contents_that_nobody_asks_for_are_not_fetched(
    repository: GitRepository, tmp_path: Path
) -> None:
    git("config", "uploadpack.allowFilter", "true", folder=repository.bare)
    for number in range(3):
        (repository.clone / "rendered").mkdir(exist_ok=True)
        (repository.clone / f"rendered/{number}.bin").write_bytes(
            random.Random(number).randbytes(1_000_000)
        )
    repository.publish()
    mine = clone(repository.url, tmp_path / "work")
    head = await checked_out(mine)
    (mine.tree / "a.yaml").write_text("a: 2\n", encoding="utf-8")
    commit = await mine.commit(["a.yaml"], parent=head, message="x", at=AT)
    assert list(await mine.changes(head, commit)) == ["a.yaml"]
    await mine.push(commit, branch="ours", expected=None)
    size = sum(path.stat().st_size for path in (tmp_path / "work/repository.git").rglob("*"))
    assert size < 400_000
    assert git("rev-list", "--count", "main..ours", folder=repository.bare) == "1\n"


async def test_no_hook_and_no_filter_of_the_repository_runs(
    repository: GitRepository, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    script = f"#!/bin/sh\ntouch {ran}\n"
    repository.commit(
        {"hooks/post-checkout": script, ".git-hooks/post-checkout": script, ".lfsconfig": "[lfs]\n"}
    )
    (repository.clone / ".gitattributes").write_text("* filter=evil\n", encoding="utf-8")
    repository.publish()
    mine = clone(repository.url, tmp_path / "work")
    await mine.heads("main")
    hooks = tmp_path / "work/repository.git/hooks"
    hooks.mkdir()
    for name in ("post-checkout", "pre-push", "reference-transaction"):
        (hooks / name).write_text(script, encoding="utf-8")
        (hooks / name).chmod(0o755)
    head = await mine.fetch("main")
    await mine.checkout(head, folder="")
    await mine.push(
        await committed(mine, {"a.yaml": b"a: 2\n"}, parent=head), branch="ours", expected=None
    )
    assert not ran.exists()


def check_header(repository: GitRepository, commit: str, *, parent: str) -> None:
    """The commit is ours, with the time and the message of these tests, and has this parent."""
    form = "--format=%an <%ae>%n%cn <%ce>%n%aI%n%P%n%B"
    shown = git("show", "--no-patch", form, commit, folder=repository.bare)
    assert (
        shown == f"{AUTHOR}\n{AUTHOR}\n2026-11-21T08:00:00+00:00\n{parent}\nAccept\n\nBecause.\n\n"
    )


async def test_a_commit_changes_what_it_names_and_nothing_else(
    mine: Clone, repository: GitRepository
) -> None:
    head = await checked_out(mine)
    for name, text in {
        "a.yaml": "a: 2\n",
        "dir/run.sh": "#!/bin/sh\necho\n",
        'q "x".yaml': "n\n",
    }.items():
        (mine.tree / name).write_text(text, encoding="utf-8")
    names = ["a.yaml", "dir/run.sh", 'q "x".yaml', "crlf.yaml", "none"]
    (mine.tree / "crlf.yaml").unlink()
    commit = await mine.commit(names, parent=head, message="Accept\n\nBecause.", at=AT)
    await mine.push(commit, branch="gitops-dsf/locks-1", expected=None)
    assert repository.branches() == {"main": head, "gitops-dsf/locks-1": commit}
    changed = await mine.changes(head, commit)
    assert sorted(changed) == ["a.yaml", "crlf.yaml", "dir/run.sh", 'q "x".yaml']
    assert changed["dir/run.sh"].startswith("100755 "), "the file keeps its mode"
    check_header(repository, commit, parent=head)
    git("fsck", "--strict", folder=repository.bare)


async def test_a_commit_of_files_needs_no_working_tree(
    mine: Clone, repository: GitRepository
) -> None:
    await mine.heads("main")
    head = await mine.fetch("main")
    files = {
        "a.yaml": b"a: 2\r\n",
        'dir/q "x"\\\n.yaml': b"",
        "deep/er/b\u00e4.bin": bytes(range(256)) * 300,
    }
    commit = await committed(mine, files, parent=head)
    await mine.push(commit, branch="ours", expected=None)
    alone = await committed(mine, files)
    await mine.push(alone, branch="alone", expected=None)
    for branch, of_parent in (("ours", await mine.files(head)), ("alone", {})):
        found = await mine.files(repository.branches()[branch])
        assert found == of_parent | {path: file_entry(text) for path, text in files.items()}
        for path, text in files.items():
            assert await mine.read(repository.branches()[branch], path) == text
    check_header(repository, commit, parent=head)
    assert await mine.written_by(commit) == AUTHOR
    assert list(mine.tree.iterdir()) == []
    git("fsck", "--strict", folder=repository.bare)


async def test_a_branch_is_replaced_only_under_its_lease(
    mine: Clone, repository: GitRepository
) -> None:
    await mine.heads("main")
    first = await committed(mine, {"snapshot.yaml": b"a: 1\n"})
    await mine.push(first, branch="state", expected=None)
    second = await committed(mine, {"other.yaml": b"a: 2\n"})
    for wrong in (None, repository.branches()["main"]):
        with pytest.raises(GitError, match="stale info"):
            await mine.push(second, branch="state", expected=wrong)
    assert repository.branches()["state"] == first
    await mine.push(second, branch="state", expected=first)
    assert git("ls-tree", "--name-only", "state", folder=repository.bare) == "other.yaml\n"
    assert git("rev-list", "--count", "state", folder=repository.bare) == "1\n"
    with pytest.raises(GitError):
        await mine.push(None, branch="state", expected=first)
    await mine.push(None, branch="state", expected=second)
    assert list(repository.branches()) == ["main"]
    with pytest.raises(GitError, match="main is the protected branch"):
        await mine.push(second, branch="main", expected=repository.branches()["main"])


async def test_only_what_has_moved_is_fetched(
    mine: Clone, repository: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    verbs: list[str] = []

    async def noted(command: Sequence[str], **how: Any) -> Finished:
        verbs.extend(word for word in command if word == "fetch")
        return await run(command, **how)

    monkeypatch.setattr("gitops_dsf.reconciler.git.program.run", noted)

    async def fetched(branch: str) -> int:
        """How often. What comes is always the newest commit."""
        verbs.clear()
        await mine.heads(branch)
        found = await mine.fetch(branch)
        assert found == repository.branches()[branch]
        await mine.files(found)
        return len(verbs)

    assert [await fetched("main") for _ in range(3)] == [1, 0, 0]
    repository.commit({"a.yaml": "a: 2\n"})
    assert [await fetched("main") for _ in range(2)] == [1, 0]
    own = await committed(mine, {"mine.yaml": b"a: 1\n"})
    await mine.push(own, branch="state", expected=None)
    assert await fetched("state") == 0
    # Somebody else pushes after the branches were listed.
    await mine.heads("main", "state")
    theirs = repository.commit({"a.yaml": "a: 3\n"})
    git(
        "push",
        "--quiet",
        "--force",
        "origin",
        f"{theirs}:refs/heads/state",
        folder=repository.clone,
    )
    assert await mine.fetch("state") == own
    with pytest.raises(GitError, match="stale info"):
        await mine.push(None, branch="state", expected=own)
    assert await fetched("state") == 1, "the clone was made anew"


async def test_a_clone_is_made_anew_after_a_failure_and_before_it_grows(
    mine: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gitops_dsf.reconciler.git.clone.RENEW_AFTER", 2)
    await checked_out(mine)
    await committed(mine, {"a": b""})
    assert mine.head
    await mine.heads("main")
    assert not mine.head
    (tmp_path / "work/repository.git/index.lock").write_text("", encoding="utf-8")
    with pytest.raises(GitError, match=r"index\.lock"):
        await mine.checkout(await mine.fetch("main"), folder="")
    await checked_out(mine)
    assert (mine.tree / "a.yaml").exists()


async def test_a_work_folder_is_emptied_before_and_removed_after(tmp_path: Path) -> None:
    left = tmp_path / "work/proposals/repository.git/index.lock"
    left.parent.mkdir(parents=True)
    left.write_text("", encoding="utf-8")
    settings = GitSettings(url="file:///none", author=AUTHOR, work_dir=tmp_path / "work")
    folder = tmp_path / "work/proposals"
    async with working_clone(settings, "proposals", may_push=lambda: None):
        assert list(folder.iterdir()) == []
    assert not folder.exists()
    async with working_clone(
        GitSettings(url="file:///none", author=AUTHOR), "state", may_push=lambda: None
    ) as other:
        assert other.tree.parent.is_dir()
    assert not other.tree.parent.exists()


async def test_a_cancelled_push_ends_its_processes(
    server: GitServer, repository: GitRepository, tmp_path: Path
) -> None:
    mine = clone(repository.url, tmp_path / "work")
    await mine.heads("main")
    commit = await committed(mine, {"a": b""})
    server.manners.push_seconds = 3.0
    before = server.manners.requests
    task = asyncio.create_task(mine.push(commit, branch="state", expected=None))
    async with asyncio.timeout(60):
        while server.manners.requests < before + 2:  # noqa: ASYNC110 - the server lives in threads
            await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not _processes(repository.url)
    server.manners.push_seconds = 0.0
    # What the server had already received may still take effect; whoever comes next asks and goes
    # on from there.
    found = (await mine.heads("state")).get("state")
    commit = await committed(mine, {"a": b""})
    await mine.push(commit, branch="state", expected=found)
    assert (await mine.heads("state")) == {"state": commit}


def _processes(word: str) -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if word in line:
            found.append(line)
    return found


def test_a_command_that_is_given_up_leaves_no_pipe_open(tmp_path: Path) -> None:
    async def given_up() -> None:
        with pytest.raises(GitError, match="took longer"):
            await run(["yes"], what="yes", folder=tmp_path, seconds=0.2)

    asyncio.run(given_up())
    # A transport of a loop that was closed warns when it is collected.
    gc.collect()
