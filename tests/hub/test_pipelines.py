"""The workflows of `init` and of this repository, read by actionlint as GitHub reads them."""

import subprocess
from pathlib import Path

import pytest

from tests.hub.controlplane.binaries import obtain
from tests.support.commandline import gitops_dsf

pytestmark = pytest.mark.family("actionlint")
OURS = Path(__file__).parents[2] / ".github/workflows"


def test_github_takes_the_workflows(tmp_path: Path) -> None:
    """Keys, expressions, contexts, schedules and the names of jobs."""
    assert gitops_dsf("init", "fleet", "--forge", "github", cwd=tmp_path).returncode == 0
    files = [*(tmp_path / "fleet/.github/workflows").iterdir(), *OURS.iterdir()]
    assert len(files) == 4
    done = subprocess.run(
        [obtain("actionlint").path("actionlint"), "-shellcheck=", "-pyflakes=", *files],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
