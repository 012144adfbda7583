"""A clone against real servers: bare repositories over file:// and over HTTP."""

import asyncio
import gc
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitops_dsf.reconciler.git import Cause, Clone, GitError, work_folder
from gitops_dsf.reconciler.git.credentials import Credentials
from gitops_dsf.reconciler.git.program import GitProgram
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
    (repository.clone / ".gitattributes").write_text("*.yaml text eol=lf\n*.bin -text\n", encoding="utf-8")
    repository.publish()
    return repository


@pytest.fixture(params=["http", "file"])
def url(request: pytest.FixtureRequest, repository: GitRepository) -> str:
    return repository.url if request.param == "http" else f"file://{repository.bare}"


def clone(url: str, folder: Path) -> Clone:
    folder.mkdir(exist_ok=True)
    return Clone(settings=GitSettings(url=url, author=AUTHOR), folder=folder)


async def test_files_are_read_as_they_are_in_the_commit(
    url: str, repository: GitRepository, tmp_path: Path
) -> None:
    mine = clone(url, tmp_path / "work")
    head = await mine.fetch("main")
    assert await mine.heads("main", "gitops-dsf/*") == {"main": head} == repository.branches()
    files = await mine.read(head)
    assert sorted(files) == [
        ".gitattributes",
        "a.yaml",
        "crlf.yaml",
        "dir/b c.yaml",
        "dir/run.sh",
        'odd "name".txt',
    ], "no symbolic link"
    assert files["dir/b c.yaml"] == "b: \u00fc\n".encode()
    assert await mine.read(head, lambda path: path.startswith("dir/b")) == {
        "dir/b c.yaml": "b: \u00fc\n".encode()
    }
    assert await mine.read(head, lambda _path: False) == {}
    assert await mine.written_by(head) == "A Platform Engineer <platform@example.com>"


async def test_a_commit_changes_what_it_names_and_nothing_else(
    url: str, repository: GitRepository, tmp_path: Path
) -> None:
    mine = clone(url, tmp_path / "work")
    head = await mine.fetch("main")
    files = {
        "a.yaml": b"a: 2\n",
        "dir/run.sh": b"#!/bin/sh\necho\n",
        "new/'q' \"x\".yaml": b"n: 1\n",
        "crlf.yaml": None,
        "none": None,
    }
    commit = await mine.commit(parent=head, files=files, message="Accept\n\nBecause.", at=AT)
    await mine.push(commit, branch="gitops-dsf/locks-1", expected=None)
    assert repository.branches() == {"main": head, "gitops-dsf/locks-1": commit}
    changed = git(
        "diff", "--raw", "-z", "--no-abbrev", "main", "gitops-dsf/locks-1", folder=repository.bare
    ).split("\0")
    assert sorted(changed[1::2]) == ["a.yaml", "crlf.yaml", "dir/run.sh", "new/'q' \"x\".yaml"]
    assert any(line.startswith(":100755 100755") for line in changed[::2]), "the file keeps its mode"
    shown = git(
        "show", "--no-patch", "--format=%an <%ae>%n%cn <%ce>%n%aI%n%P%n%B", commit, folder=repository.bare
    )
    assert shown == f"{AUTHOR}\n{AUTHOR}\n2026-11-21T08:00:00+00:00\n{head}\nAccept\n\nBecause.\n\n"
    git("fsck", "--strict", folder=repository.bare)


async def test_links_count_as_the_files_they_lead_to_and_are_not_written_over(
    repository: GitRepository, tmp_path: Path
) -> None:
    (repository.clone / "dir/same.yaml").symlink_to("../a.yaml")
    (repository.clone / "clusters").symlink_to("dir")
    repository.publish()
    mine = clone(repository.url, tmp_path / "work")
    head = await mine.fetch("main")
    assert await mine.read(head, lambda path: path in {"dir/same.yaml", "link", "clusters"}) == {
        "dir/same.yaml": b"a: 1\n"
    }
    for path, words in (
        ("dir/same.yaml", "is a symbolic link"),
        ("clusters/new.yaml", "clusters is not a folder"),
        ("a.yaml/x", "a.yaml is no"),
    ):
        with pytest.raises(GitError, match=words):
            await mine.commit(parent=head, files={path: b"x"}, message="Ours", at=AT)


async def test_whoever_amends_a_commit_counts(repository: GitRepository, tmp_path: Path) -> None:
    mine = clone(repository.url, tmp_path / "work")
    head = await mine.fetch("main")
    commit = await mine.commit(parent=head, files={"a.yaml": b"a: 2\n"}, message="Ours", at=AT)
    await mine.push(commit, branch="ours", expected=None)
    assert await mine.written_by(await mine.fetch("ours")) == AUTHOR
    git("fetch", "--quiet", "origin", "ours", folder=repository.clone)
    git("checkout", "--quiet", "--detach", "FETCH_HEAD", folder=repository.clone)
    git("commit", "--quiet", "--amend", "--message", "Better", folder=repository.clone)
    git("push", "--quiet", "--force", "origin", "HEAD:refs/heads/ours", folder=repository.clone)
    assert await mine.written_by(await mine.fetch("ours")) == "A Platform Engineer <platform@example.com>"


async def test_an_orphan_replaces_its_branch_only_under_its_lease(
    url: str, repository: GitRepository, tmp_path: Path
) -> None:
    mine = clone(url, tmp_path / "work")
    first = await mine.commit(parent=None, files={"snapshot.yaml": b"a: 1\n"}, message="State", at=AT)
    await mine.push(first, branch="state", expected=None)
    second = await mine.commit(parent=None, files={"other.yaml": b"a: 2\n"}, message="State", at=AT)
    for wrong in (None, repository.branches()["main"]):
        with pytest.raises(GitError, match="stale info") as caught:
            await mine.push(second, branch="state", expected=wrong)
        assert caught.value.cause is Cause.REJECTED
    assert repository.branches()["state"] == first
    await mine.push(second, branch="state", expected=first)
    await mine.push(second, branch="state", expected=second)
    assert git("ls-tree", "--name-only", "state", folder=repository.bare) == "other.yaml\n"
    assert git("rev-list", "--count", "state", folder=repository.bare) == "1\n"
    with pytest.raises(GitError) as caught:
        await mine.delete(branch="state", expected=first)
    assert caught.value.cause is Cause.REJECTED
    await mine.delete(branch="state", expected=second)
    assert list(repository.branches()) == ["main"]


async def test_the_protected_branch_is_never_forced(repository: GitRepository, tmp_path: Path) -> None:
    mine = clone(repository.url, tmp_path / "work")
    head = await mine.fetch("main")
    commit = await mine.commit(parent=head, files={"a.yaml": b"a: 2\n"}, message="Ours", at=AT)
    theirs = repository.commit({"a.yaml": "a: 3\n"})
    with pytest.raises(GitError, match=r"fetch first|non-fast-forward") as caught:
        await mine.advance(commit, branch="main")
    assert caught.value.cause is Cause.REJECTED
    assert repository.branches()["main"] == theirs == await mine.fetch("main")
    again = await mine.commit(parent=theirs, files={"a.yaml": b"a: 2\n"}, message="Ours", at=AT)
    await mine.advance(again, branch="main")
    assert repository.branches()["main"] == again
    assert (tmp_path / "work/repository.git/shallow").exists(), "history is not fetched"
    for forced in (
        mine.push(again, branch="main", expected=again),
        mine.delete(branch="main", expected=again),
    ):
        with pytest.raises(GitError, match="main is the protected branch"):
            await forced
    with pytest.raises(GitError, match="link is a symbolic link"):
        await mine.commit(parent=again, files={"link": b"x"}, message="Ours", at=AT)


async def test_a_rule_of_the_server_is_told(repository: GitRepository, tmp_path: Path) -> None:
    hook = repository.bare / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'commits must be signed' >&2\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    mine = clone(repository.url, tmp_path / "work")
    commit = await mine.commit(parent=None, files={"a": b""}, message="x", at=AT)
    with pytest.raises(GitError, match=r"pre-receive hook declined.*commits must be signed") as caught:
        await mine.push(commit, branch="state", expected=None)
    assert caught.value.cause is Cause.REJECTED


async def test_what_is_missing_or_away_is_told_apart(
    server: GitServer, repository: GitRepository, tmp_path: Path
) -> None:
    with pytest.raises(GitError) as caught:
        await clone(f"{server.url}/none.git", tmp_path / "none").heads("main")
    assert caught.value.cause is Cause.MISSING
    mine = clone(repository.url, tmp_path / "work")
    with pytest.raises(GitError) as caught:
        await mine.fetch("none")
    assert caught.value.cause is Cause.MISSING
    server.manners.status = 503
    with pytest.raises(GitError) as caught:
        await mine.heads("main")
    assert caught.value.cause is Cause.UNREACHABLE
    server.stop()
    with pytest.raises(GitError) as caught:
        await mine.heads("main")
    assert caught.value.cause is Cause.UNREACHABLE


async def test_many_files_take_one_process(url: str, repository: GitRepository, tmp_path: Path) -> None:
    mine = clone(url, tmp_path / "work")
    files = {f"clusters/{n:05}.yaml": b"x" * n for n in range(1000)}
    commit = await mine.commit(parent=None, files=files, message="Many", at=AT)
    assert await mine.read(commit) == files
    await mine.push(commit, branch="state", expected=None)
    assert git("ls-tree", "-r", "--name-only", "state", folder=repository.bare).count("\n") == 1000


async def test_a_path_that_leaves_the_repository_is_refused(
    repository: GitRepository, tmp_path: Path
) -> None:
    mine = clone(repository.url, tmp_path / "work")
    for path in ("../a", "/a", "a//b", ".git/config", "a/.GIT/x", ""):
        with pytest.raises(ValueError, match="cannot be a path in a repository"):
            await mine.commit(parent=None, files={path: b""}, message="x", at=AT)


async def test_the_clone_is_made_anew_before_it_grows(repository: GitRepository, tmp_path: Path) -> None:
    url = repository.bare.as_uri()
    mine = Clone(settings=GitSettings(url=url, author=AUTHOR), folder=tmp_path, renew_after=2)
    kept = []
    for number in range(3):
        head = (await mine.heads("main"))["main"]
        assert await mine.fetch("main") == head
        commit = await mine.commit(
            parent=head, files={"a.yaml": f"a: {number}\n".encode()}, message="x", at=AT
        )
        await mine.advance(commit, branch="main")
        kept.append(commit)
    with pytest.raises(GitError):
        await mine.read(kept[0])
    assert repository.branches()["main"] == kept[-1]


async def test_a_work_folder_is_emptied_before_and_removed_after(tmp_path: Path) -> None:
    left = tmp_path / "work/proposals/repository.git/index.lock"
    left.parent.mkdir(parents=True)
    left.write_text("", encoding="utf-8")
    settings = GitSettings(url="file:///none", author=AUTHOR, work_dir=tmp_path / "work")
    async with work_folder(settings, "proposals") as folder:
        assert list(folder.iterdir()) == []
    assert not folder.exists()
    async with work_folder(GitSettings(url="file:///none", author=AUTHOR), "state") as other:
        assert other.is_dir()
    assert not other.exists()


async def test_a_cancelled_push_ends_its_processes(
    server: GitServer, repository: GitRepository, tmp_path: Path
) -> None:
    mine = clone(repository.url, tmp_path / "work")
    commit = await mine.commit(parent=None, files={"a": b""}, message="x", at=AT)
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
    # What the server had already received may still take effect; whoever comes next asks and goes on from
    # there.
    await mine.push(commit, branch="state", expected=(await mine.heads("state")).get("state"))
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


async def test_many_links_to_one_file_are_read_once(repository: GitRepository, tmp_path: Path) -> None:
    repository.commit({"big.yaml": "x" * 100_000})
    for number in range(40):
        (repository.clone / f"link-{number}.yaml").symlink_to("big.yaml")
    repository.publish()
    mine = clone(repository.url, tmp_path / "work")
    files = await mine.read(await mine.fetch("main"), lambda path: path.startswith("link-"))
    assert len(files) == 40
    assert len({id(content) for content in files.values()}) == 1


@pytest.mark.parametrize("kind", ["file", "links"])
async def test_files_that_would_fill_the_memory_are_not_read(
    repository: GitRepository, tmp_path: Path, kind: str
) -> None:
    repository.commit({"big.yaml": "x" * (100_000 if kind == "links" else 1_000_001)})
    for number in range(10 if kind == "links" else 0):
        (repository.clone / f"link-{number}.yaml").symlink_to("big.yaml")
    repository.publish()
    (tmp_path / "work").mkdir()
    mine = Clone(
        settings=GitSettings(url=repository.url, author=AUTHOR),
        folder=tmp_path / "work",
        read_bytes=1_000_000,
    )
    head = await mine.fetch("main")
    with pytest.raises(GitError, match=r"at most 1000000 are read; the largest is \S+ with 100000") as caught:
        await mine.read(head)
    assert caught.value.cause is Cause.FAILED
    assert list(await mine.read(head, lambda path: path == "a.yaml")) == ["a.yaml"]


async def test_a_path_that_is_a_file_and_a_folder_is_told(repository: GitRepository, tmp_path: Path) -> None:
    """git takes such a tree, which only a program writes."""

    def object_of(kind: str, content: bytes) -> str:
        done = subprocess.run(
            ["git", "hash-object", "-w", "-t", kind, "--literally", "--stdin"],
            cwd=repository.bare,
            input=content,
            capture_output=True,
            check=True,
        )
        return done.stdout.decode().strip()

    blob = object_of("blob", b"a: 1\n")
    inner = object_of("tree", b"100644 b.yaml\0" + bytes.fromhex(blob))
    outer = object_of(
        "tree", b"100644 a.yaml\0" + bytes.fromhex(blob) + b"40000 a.yaml\0" + bytes.fromhex(inner)
    )
    commit = git("commit-tree", outer, "-m", "both", folder=repository.bare).strip()
    git("update-ref", "refs/heads/main", commit, folder=repository.bare)
    mine = clone(f"file://{repository.bare}", tmp_path / "work")
    with pytest.raises(GitError, match=r"a\.yaml is a file and a folder in commit") as caught:
        await mine.read(await mine.fetch("main"))
    assert caught.value.cause is Cause.FAILED


def test_a_command_that_is_given_up_leaves_no_pipe_open(tmp_path: Path) -> None:
    program = GitProgram(folder=tmp_path, repository=tmp_path / "r.git", credentials=Credentials(folder=None))

    async def run() -> None:
        with pytest.raises(GitError, match="took longer"):
            await program.run("-c", "alias.loud=!yes", "loud", seconds=0.2, most=1 << 30)

    asyncio.run(run())
    # A transport of a loop that was closed warns when it is collected.
    gc.collect()


async def test_what_git_writes_is_bounded(tmp_path: Path) -> None:
    program = GitProgram(folder=tmp_path, repository=tmp_path / "r.git", credentials=Credentials(folder=None))
    loud = "alias.loud=!head -c 9000000 /dev/zero | tr '\\0' x"
    with pytest.raises(GitError, match="git -c was stopped because it wrote more than 1000000 bytes"):
        await program.run("-c", loud, "loud", most=1_000_000)
    assert len(await program.run("-c", loud, "loud", most=9_000_000)) == 9_000_000
    with pytest.raises(GitError, match=r"x\.\.\.$"):
        await program.run("-c", f"{loud} >&2; exit 1", "loud", most=1)
