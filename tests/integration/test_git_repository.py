"""The repositories of tests: what is published without a push is the same as with one."""

from pathlib import Path

import pytest

from tests.hub.controlplane.gitrepository import GitError, GitRepository, git


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    bare = tmp_path / "bare.git"
    return GitRepository.create(url=bare.as_uri(), bare=bare, clone=tmp_path / "clone")


@pytest.mark.parametrize("packed", [False, True])
def test_what_is_committed_is_served_whole(repository: GitRepository, packed: bool) -> None:
    if packed:
        git("gc", "--quiet", folder=repository.clone)
        git("pack-refs", "--all", folder=repository.bare)
    one = repository.commit({"a/x": "1\n", "b": "2\n"})
    two = repository.commit({"a/x": "3\n", "b": None})
    assert repository.branches() == {"main": two}
    assert repository.publish() == two, "nothing has changed"
    assert git("rev-parse", "main^", folder=repository.bare).strip() == one
    assert repository.read("a/x") == "3\n"
    git("fsck", "--strict", folder=repository.bare)
    # The clone knows what it has published, so that it is ahead of nothing.
    assert git("rev-parse", "origin/main", folder=repository.clone).strip() == two


def test_what_a_push_would_not_do_is_not_done(repository: GitRepository, tmp_path: Path) -> None:
    """Another one was faster, or a hook refuses."""
    first = repository.commit({"x": "1\n"})
    hook = repository.hook("pre-receive", "exit 1")
    with pytest.raises(GitError, match="pre-receive hook declined"):
        repository.commit({"x": "2\n"})
    assert repository.branches() == {"main": first}
    hook.unlink()
    other = tmp_path / "other"
    git("clone", "--quiet", str(repository.bare), str(other), folder=tmp_path)
    git("commit", "--quiet", "--allow-empty", "--message", "Theirs", folder=other)
    git("push", "--quiet", "origin", "main", folder=other)
    hook.parent.rmdir()
    theirs = repository.branches()
    with pytest.raises(GitError, match="rejected"):
        repository.commit({"x": "3\n"})
    assert repository.branches() == theirs
