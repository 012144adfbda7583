"""Some verbs as a process of their own; the other tests run their code in the test's process
(tests.support.commandline). Verbs that need no extra run as processes in
tests/integration/test_without_extras.py.
"""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitops_dsf.cli.scaffold import scaffold
from tests.support.apiserver import serving
from tests.support.hubobjects import fleet, hub_with

NOBODY = "http://127.0.0.1:1"
URL = "https://git.example.com/team/fleet.git"

RUNS: dict[str, tuple[list[str], int, str]] = {
    # verb: arguments, exit code, a piece of what it says
    "backtest": (["--prometheus", NOBODY], 1, "127.0.0.1:1"),
    "init": (["another"], 0, "cd another"),
    "reconcile": (["--kubeconfig", "missing"], 1, "kubeconfig missing"),
    "render": (["--check"], 1, "run `gitops-dsf render`"),
    "status": (["--context", "hub", "--kubeconfig", "kubeconfig"], 0, "clusters"),
}


@pytest.mark.parametrize("verb", sorted(RUNS))
def test_a_verb_as_a_process(verb: str, tmp_path: Path) -> None:
    arguments, code, text = RUNS[verb]
    scaffold(
        target=tmp_path / "fleet",
        name="fleet",
        extras=("examples",),
        registry="registry.example.com",
        git_url=URL,
    )
    with serving(hub_with(fleet(now=datetime.now(UTC)))) as hub:
        hub.kubeconfig(tmp_path / "fleet" / "kubeconfig")
        done = subprocess.run(
            [sys.executable, "-m", "gitops_dsf", verb, *arguments],
            cwd=tmp_path / "fleet",
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == code, done.stdout + done.stderr
    assert text in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
