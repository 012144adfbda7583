"""The local git server behaves as a forge does: clone, push of any size, away and back at the same
address.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hub.controlplane.gitrepository import GitError, git
from tests.hub.controlplane.gitserver import GitServer

pytestmark = pytest.mark.hub


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    with GitServer(folder=tmp_path / "git") as server:
        yield server


def test_a_commit_can_be_cloned(server: GitServer, tmp_path: Path) -> None:
    repository = server.create("fleet")
    head = repository.commit({"rendered/a.yaml": "a: 1\n", "b.yaml": "b: 1\n"})
    again = repository.commit({"b.yaml": None})
    git("clone", "--quiet", repository.url, "copy", folder=tmp_path)
    assert git("rev-parse", "HEAD", folder=tmp_path / "copy").strip() == again != head
    assert (tmp_path / "copy/rendered/a.yaml").read_text(encoding="utf-8") == "a: 1\n"
    assert not (tmp_path / "copy/b.yaml").exists()
    assert repository.publish() == again, "nothing changed, so nothing is committed"


def test_a_push_above_the_chunking_limit_arrives(server: GitServer, tmp_path: Path) -> None:
    repository = server.create("fleet")
    git("clone", "--quiet", repository.url, "copy", folder=tmp_path)
    content = os.urandom(1_500_000).hex()
    (tmp_path / "copy/large.txt").write_text(content, encoding="utf-8")
    git("add", ".", folder=tmp_path / "copy")
    git("commit", "--quiet", "--message", "Large", folder=tmp_path / "copy")
    git("push", "--quiet", "origin", "HEAD:refs/heads/proposal", folder=tmp_path / "copy")
    assert sorted(repository.branches()) == ["main", "proposal"]
    assert repository.read("large.txt", branch="proposal") == content


def test_away_means_refused_and_back_means_the_same_address(server: GitServer, tmp_path: Path) -> None:
    repository = server.create("fleet")
    server.stop()
    head = repository.commit({"a.yaml": "a: 1\n"})
    with pytest.raises(GitError, match=r"Failed to connect|Connection refused|Couldn't connect"):
        git("ls-remote", repository.url, folder=tmp_path)
    server.start()
    assert head in git("ls-remote", repository.url, "refs/heads/main", folder=tmp_path)


def test_an_unknown_repository_is_named(server: GitServer, tmp_path: Path) -> None:
    with pytest.raises(GitError, match=r"repository .*/none.git.* not found"):
        git("ls-remote", f"{server.url}/none.git", folder=tmp_path)
