"""The files of a commit, as `git ls-tree` lists them, and what is wrong with one, as it says it."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from gitops_dsf.repository.git import Repository, RevisionError
from gitops_dsf.repository.recorded.entries import tree_entries
from gitops_dsf.repository.revision.tree import entries_below, entries_of

WHO = "A <a@example.com> 0 +0000"
FOLDER = "fleets/eu (1)"
DEEP = "deep/" * 1200
"""As deep as a path may be that a file system takes, and deeper than Python calls itself."""
FILES = f"""\
M 100644 inline gitops-dsf.yaml
M 100755 inline scorers/run.yaml
M 100644 inline scorers.yaml
M 120000 inline {FOLDER}/clusters/link.yaml
M 100644 inline {FOLDER}/apps/a.yaml
M 100644 inline "{FOLDER}/apps/new\\nline.yaml"
M 100644 inline "{FOLDER}/apps/\\377.yaml"
M 100644 inline {DEEP}a.yaml
""".replace(".yaml\n", ".yaml\ndata 1\nx\n").replace('.yaml"\n', '.yaml"\ndata 1\nx\n')


def git(where: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    done = subprocess.run(
        ["git", *arguments], cwd=where, capture_output=True, input=stdin, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def made(where: Path, *, hashes: str) -> Path:
    """A repository with the files in its one commit, and the folder of a fleet."""
    git(where, "init", "--quiet", "--template=", f"--object-format={hashes}")
    submodule = f"M 160000 {'1' * (40 if hashes == 'sha1' else 64)} clusters/team\n"
    commit = f"commit refs/heads/main\ncommitter {WHO}\ndata 1\nx\n{FILES}{submodule}"
    git(where, "fast-import", "--quiet", stdin=commit.encode())
    (where / FOLDER).mkdir(parents=True)
    return where


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tests add objects to it, and folders to its working tree."""
    return made(tmp_path_factory.mktemp("sha1"), hashes="sha1")


def without_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: Repository, *arguments: str, stdin: bytes | None = None) -> NoReturn:
        pytest.fail(f"git {arguments} is started")

    monkeypatch.setattr(Repository, "run", refused)


@pytest.mark.parametrize("hashes", ["sha1", "sha256"])
def test_a_commit_is_listed_as_git_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashes: str
) -> None:
    top = made(tmp_path, hashes=hashes)
    whole, below = (
        tree_entries(git(where, "ls-tree", "-r", "-z", "main")) for where in (top, top / FOLDER)
    )
    assert (len(whole), len(below)) == (9, 4)
    without_a_process(monkeypatch)
    here, there = (Repository(directory=where) for where in (top, top / FOLDER))
    assert entries_of(here, "main") == entries_below(here, "main") == whole
    assert (entries_of(there, "main"), entries_below(there, "main")) == (whole, below)


def test_a_bare_repository_has_no_folders(top: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--bare", str(top), "bare.git")
    bare = Repository(directory=tmp_path / "bare.git")
    assert entries_below(bare, "main") == entries_of(Repository(directory=top), "main")


def test_a_commit_may_have_no_such_folder(top: Path) -> None:
    for name in ("later", "new\nline", "gitops-dsf.yaml"):
        folder = top / name
        folder.mkdir(parents=True)
        assert entries_below(Repository(directory=folder), "main") == [], name


def written(where: Path, content: bytes, *, kind: str = "tree") -> str:
    literally = ("hash-object", "-t", kind, "-w", "--literally", "--stdin")
    return git(where, *literally, stdin=content).decode().strip()


def commit_of(where: Path, root: str) -> str:
    text = f"tree {root}\nauthor {WHO}\ncommitter {WHO}\n\nx\n"
    return written(where, text.encode(), kind="commit")


def test_modes_of_old_versions_are_listed_as_those_of_today(
    top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes = (b"100664", b"100775", b"120777", b"160755")
    content = b"".join(b"%b %d.yaml\0%020d" % (mode, at, at) for at, mode in enumerate(modes))
    old = commit_of(top, written(top, content))
    listed = tree_entries(git(top, "ls-tree", "-r", "-z", old))
    assert len(listed) == 4
    without_a_process(monkeypatch)
    assert entries_of(Repository(directory=top), old) == listed


def lost(where: Path, content: bytes) -> str:
    """A tree that is not there."""
    name = written(where, content)
    (where / ".git/objects" / name[:2] / name[2:]).unlink()
    return name


def cut(where: Path, content: bytes) -> str:
    return written(where, content[:-1])


def nameless(where: Path, content: bytes) -> str:
    return written(where, content.replace(b"a.yaml", b""))


def no_tree(where: Path, content: bytes) -> str:
    return git(where, "hash-object", "-w", "--stdin", stdin=content).decode().strip()


@pytest.mark.parametrize("fault", [lost, cut, nameless, no_tree])
def test_a_tree_that_git_cannot_read_is_an_error(
    top: Path, fault: Callable[[Path, bytes], str]
) -> None:
    """Never a commit without the files."""
    root = fault(top, f"100644 a.yaml\0{fault.__name__:20}".encode())
    folder = written(top, b"40000 apps\0" + bytes.fromhex(root))
    for broken in (commit_of(top, root), commit_of(top, folder)):
        for listed in (entries_of, entries_below):
            with pytest.raises(RevisionError):
                listed(Repository(directory=top), broken)
