"""Revisions as people and pipelines write them, and the commits that they name."""

import subprocess
from pathlib import Path

import pytest

from gitops_dsf.repository.git import Repository, RevisionError

NOTHING = (
    "nope",
    "-x",
    "--all",
    "HEAD:file",
    "HEAD^{tree}",
    "HEAD..main",
    "HEAD~9",
    "0" * 40,
    "",
    "main\nmain",
    "main main",
)


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, check=True)
    return done.stdout.decode().strip()


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clone")
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "first")
    git(folder, "tag", "--annotate", "v1", "--message", "first")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "second")
    return folder


def test_each_revision_has_its_commit_or_none(clone: Path) -> None:
    second, first = git(clone, "rev-list", "main").split()
    wanted = {"main": second, "HEAD": second, "v1": first, "HEAD~1": first, first[:10]: first}
    named = [name for pair in zip(NOTHING, [*wanted] * 3, strict=False) for name in pair]
    assert Repository(directory=clone).commits(named) == [wanted.get(name) for name in named]


def test_outside_of_a_repository_no_revision_is_merely_absent(tmp_path: Path) -> None:
    with pytest.raises(RevisionError, match="name the folder of the fleet repository"):
        Repository(directory=tmp_path).commit("main")
