"""Sources of a commit as files: what the file system refuses is an error of that commit, told in words."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitops_dsf.reconciler.git import Cause, Clone, GitError
from gitops_dsf.reconciler.proposals.checkout import Checkout
from gitops_dsf.reconciler.settings import GitSettings

pytestmark = pytest.mark.real_time  # git is a process


async def test_a_name_that_no_file_system_takes_is_told(tmp_path: Path) -> None:
    clone = Clone(settings=GitSettings(url="file:///none", author="A <a@example.com>"), folder=tmp_path)
    files = {"gitops-dsf.yaml": b"", f"scorers/{'x' * 300}.yaml": b""}
    at = datetime(2026, 11, 22, tzinfo=UTC)
    commit = await clone.commit(parent=None, files=files, message="x", at=at)
    with pytest.raises(GitError, match=r"scorers/x+\.yaml cannot be written.*File name too long") as caught:
        await Checkout(root=tmp_path / "checkout", folder="").take(clone, commit)
    assert caught.value.cause is Cause.FAILED
