"""Which commits revisions name, several of them asked at once."""

from pathlib import Path

import pytest

from gitops_dsf.repository.git import Repository, RevisionError
from tests.hub.controlplane.gitrepository import git


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone with two commits, a branch and a tag of the first, and a file in the second."""
    root = tmp_path_factory.mktemp("commits")
    git("init", "--quiet", "--initial-branch=main", folder=root)
    git("commit", "--quiet", "--allow-empty", "--message", "One", folder=root)
    git("tag", "--annotate", "--message", "First", "v1", folder=root)
    git("branch", "first", folder=root)
    (root / "a").write_text("a\n")
    git("add", "a", folder=root)
    git("commit", "--quiet", "--message", "Two", folder=root)
    return root


def test_each_revision_has_its_commit_in_its_place(folder: Path) -> None:
    one, two = (git("rev-parse", name, folder=folder).strip() for name in ("first", "main"))
    asked = Repository(directory=folder).commits(["HEAD", "nothing", "v1", "main~1", two[:10]])
    assert asked == [two, None, one, one, two]


@pytest.mark.parametrize(
    "revision",
    ["main:a", "main^{tree}", "--all", "-h", "^main", "main..first", "main\nmain", "f" * 40, " "],
)
def test_what_is_no_commit_is_none(folder: Path, revision: str) -> None:
    two = git("rev-parse", "main", folder=folder).strip()
    assert Repository(directory=folder).commits([revision, "main"]) == [None, two]


def test_outside_of_a_repository_there_is_no_answer(tmp_path: Path) -> None:
    with pytest.raises(RevisionError, match="not a git repository"):
        Repository(directory=tmp_path).commits(["HEAD"])
