"""The workflows of `init` and of this repository, read by actionlint as GitHub reads them."""

import subprocess
from pathlib import Path

import pytest

from tests.hub.controlplane.binaries import obtain
from tests.hub.controlplane.gitrepository import git
from tests.support.commandline import gitops_dsf

pytestmark = pytest.mark.family("actionlint")
OURS = Path(__file__).parents[2] / ".github/workflows"


def test_github_takes_the_workflows(tmp_path: Path) -> None:
    """Keys, expressions, contexts, schedules and the names of jobs."""
    assert gitops_dsf("init", "fleet", "--forge", "github", cwd=tmp_path).returncode == 0
    mono = tmp_path / "mono"
    mono.mkdir()
    git("init", "--quiet", folder=mono)
    assert gitops_dsf("init", "platform/eu", "--forge", "github", cwd=mono).returncode == 0
    new = [*tmp_path.glob("*/.github/workflows/*")]
    assert {path.name for path in new} == {"gitops-dsf.yaml", "gitops-dsf-eu.yaml"}
    files = [*new, *OURS.iterdir()]
    assert len(files) == 7
    done = subprocess.run(
        [obtain("actionlint").path("actionlint"), "-shellcheck=", "-pyflakes=", *files],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
