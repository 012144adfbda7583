"""Git objects that no git command would make, and files of every awkward name."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.repository.git import Repository, RevisionError
from gitops_dsf.repository.revision.base import find_base
from gitops_dsf.repository.revision.branch import find_branch
from gitops_dsf.repository.revision.checkout import checkout


def git(where: Path, *arguments: str, stdin: bytes = b"") -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=where, capture_output=True, input=stdin, check=False
    )
    assert done.returncode == 0, done.stderr
    return os.fsdecode(done.stdout).strip()


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    where = tmp_path / "r"
    where.mkdir()
    git(where, "init", "--quiet", "--initial-branch=main")
    return Repository(directory=where)


def commit_of(repository: Repository, *, entry: str, mode: str, content: bytes) -> str:
    """A commit with one file `entry` in apps/, made object by object."""
    where = repository.directory
    blob = git(where, "hash-object", "-w", "--stdin", stdin=content)
    raw = mode.encode() + b" " + entry.encode() + b"\0" + bytes.fromhex(blob)
    inner = git(where, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=raw)
    tree = git(
        where,
        "hash-object",
        "-t",
        "tree",
        "-w",
        "--literally",
        "--stdin",
        stdin=b"40000 apps\0" + bytes.fromhex(inner),
    )
    return git(where, "commit-tree", "-m", "made", tree)


@pytest.mark.parametrize("entry", ["..", ".git"])
def test_a_file_that_would_leave_the_folder_is_refused(
    repository: Repository, entry: str, tmp_path: Path
) -> None:
    made = commit_of(repository, entry=entry, mode="100644", content=b"kind: X\n")
    with pytest.raises(RevisionError, match="invalid path"), checkout(repository, made):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r"]


def test_awkward_names_and_contents(repository: Repository) -> None:
    where = repository.directory / "apps"
    contents = {
        "with space.yaml": b"a: 1\n",
        'quo"te\ttab.yaml': b"",
        "ünïcode.yml": "ü: 1\r\n".encode(),
        "new\nline.yaml": b"\n\n",
    }
    where.mkdir()
    for name, content in contents.items():
        (where / name).write_bytes(content)
    (where / "README.md").write_text("not a source\n")
    git(repository.directory, "add", "--all")
    git(repository.directory, "commit", "--quiet", "--message", "all")
    with checkout(repository, "HEAD") as there:
        found = {path.name: path.read_bytes() for path in (there.root / "apps").iterdir()}
    assert (found, there.diagnostics) == (contents, ())
    assert not there.root.exists()


def test_an_object_that_is_missing_is_told(repository: Repository) -> None:
    made = commit_of(repository, entry="a.yaml", mode="100644", content=b"kind: X\n")
    blob = git(repository.directory, "rev-parse", f"{made}:apps/a.yaml")
    (repository.directory / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with (
        pytest.raises(
            RevisionError,
            match=rf"apps/a\.yaml: this clone lacks the content of the file \(object {blob}\)",
        ),
        checkout(repository, made),
    ):
        pass


def test_a_file_that_is_damaged_is_told(repository: Repository) -> None:
    """Git says so after it began to answer, and then ends."""
    made = commit_of(repository, entry="a.yaml", mode="100644", content=os.urandom(200_000))
    blob = git(repository.directory, "rev-parse", f"{made}:apps/a.yaml")
    file = repository.directory / ".git/objects" / blob[:2] / blob[2:]
    whole = file.read_bytes()
    file.chmod(0o644)
    file.write_bytes(whole[: len(whole) // 2])
    with (
        pytest.raises(RevisionError, match=rf"{repository.directory}: .*{blob}"),
        checkout(repository, made),
    ):
        pass


def test_one_process_reads_objects_of_every_size(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is in them, and after questions for what there is not."""
    contents = [b"", b"\n", b"a missing\n", os.urandom(70_000), b"\n" * 1_000_000, b"end"]
    hash_it = ("hash-object", "-w", "--stdin")
    names = [git(repository.directory, *hash_it, stdin=content) for content in contents]
    commit = commit_of(repository, entry="a.yaml", mode="100644", content=b"a: 1")
    started: list[str] = []
    begin = subprocess.Popen.__init__

    def counted(self: Any, words: Sequence[str], *more: Any, **how: Any) -> None:
        started.append(words[3])
        begin(self, words, *more, **how)

    monkeypatch.setattr(subprocess.Popen, "__init__", counted)
    with repository.reading() as reading:
        assert started == [], "nothing was asked"
        assert reading.commits(["nothing", commit, "main"]) == [None, commit, None]
        # A reader that stops early does not spoil what is read next.
        assert next(reading.contents(names[3:])) == contents[3]
        found = list(reading.contents([*names, "0" * 40, names[0]]))
        assert (found, reading.commit(commit)) == ([*contents, None, b""], commit)
    assert started == ["cat-file"]


def test_the_newest_copy_of_a_branch_is_taken(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    for ref, date in (
        ("refs/remotes/origin/state", "2026-01-02"),
        ("refs/heads/state", "2026-01-01"),
        ("refs/heads/a/state", "2026-01-03"),
    ):
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"{date}T00:00:00Z")
        git(
            repository.directory,
            "update-ref",
            ref,
            commit_of(repository, entry="a.yaml", mode="100644", content=ref.encode()),
        )
    (repository.directory / "fleet").mkdir()
    branch = find_branch(repository.directory / "fleet", "state")
    assert branch is not None
    assert dict(branch.contents(suffixes=(".yaml",))) == {
        "apps/a.yaml": b"refs/remotes/origin/state"
    }
    assert find_branch(repository.directory, "other") is None
    with pytest.raises(RevisionError, match="is not the name of a branch"):
        find_branch(repository.directory, "--all")


def test_before_the_first_commit_and_without_common_history(repository: Repository) -> None:
    made = commit_of(repository, entry="a.yaml", mode="100644", content=b"1")
    assert find_base(repository, made).commit == made, "HEAD has no commit yet"
    git(repository.directory, "commit", "--quiet", "--allow-empty", "--message", "another root")
    base = find_base(repository, made)
    assert (base.commit, base.title) == (made, made[:10])
    assert "they have no common history" in base.note


def tree_of(repository: Repository, *entries: tuple[str, str, bytes]) -> str:
    """A commit whose folder apps has these entries, made object by object: mode, name, content."""
    where, raw = repository.directory, b""
    for mode, name, content in entries:
        blob = git(where, "hash-object", "-w", "--stdin", stdin=content)
        raw += f"{mode} {name}".encode() + b"\0" + bytes.fromhex(blob)
    made = ("hash-object", "-t", "tree", "-w", "--literally", "--stdin")
    inner = git(where, *made, stdin=raw)
    tree = git(where, *made, stdin=b"40000 apps\0" + bytes.fromhex(inner))
    return git(where, "commit-tree", "-m", "made", tree)


def test_nothing_is_written_through_a_link_of_the_same_name(
    repository: Repository, tmp_path: Path
) -> None:
    target = tmp_path / "outside.yaml"
    target.write_text("mine\n")
    made = tree_of(
        repository,
        ("120000", "a.yaml", os.fsencode(target)),
        ("100644", "a.yaml", b"kind: Evil\n"),
    )
    with (
        pytest.raises(RevisionError, match=r"apps/a\.yaml.* cannot be written"),
        checkout(repository, made),
    ):
        pass
    assert target.read_text() == "mine\n"


@pytest.mark.parametrize("target", [b"", b"a\0b"])
def test_a_link_that_no_file_system_takes(repository: Repository, target: bytes) -> None:
    made = tree_of(repository, ("120000", "a.yaml", target))
    with pytest.raises(RevisionError, match=r"apps/a\.yaml"), checkout(repository, made):
        pass
