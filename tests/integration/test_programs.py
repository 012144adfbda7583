"""Each verb once as a process of its own; the other tests run its code in the test's process
(tests.support.commandline). Verbs that need no extra run as processes in
tests/integration/test_without_extras.py.
"""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitops_dsf.cli.main import VERBS
from gitops_dsf.cli.scaffold import scaffold
from tests.integration import test_without_extras
from tests.support.apiserver import serving
from tests.support.hubobjects import fleet, hub_with

NOBODY = "http://127.0.0.1:1"
URL = "https://git.example.com/team/fleet.git"

RUNS: dict[str, tuple[list[str], int, str]] = {
    # verb: arguments, exit code, a piece of what it says
    "backtest": (["--prometheus", NOBODY], 1, "127.0.0.1:1"),
    "ci": (["check", "--base", "."], 1, "failed: render, preview"),
    "doctor": (["--context", "hub", "--kubeconfig", "kubeconfig"], 1, ""),
    "init": (["another"], 0, "cd another"),
    "install": (["--context", "hub", "--kubeconfig", "kubeconfig"], 1, "run `gitops-dsf render`"),
    "log": (["--journal", "missing"], 2, "missing"),
    "reconcile": (["--kubeconfig", "missing"], 1, "kubeconfig missing"),
    "render": (["--check"], 1, "run `gitops-dsf render`"),
    "schema": (["--out", "schemas"], 0, " written"),
    "scorer": (["check", NOBODY], 1, "Connection refused"),
    "status": (["--context", "hub", "--kubeconfig", "kubeconfig"], 0, "clusters"),
    "sync": (["--check", "--scorer", "region-preference"], 2, "configSyncMode None"),
    "uninstall": (["--context", "hub", "--kubeconfig", "kubeconfig", "--dry-run"], 0, "What stays"),
}


def test_every_verb_is_here() -> None:
    elsewhere = {command.split()[0] for command, _ in test_without_extras.COMMANDS}
    assert RUNS.keys() | elsewhere == VERBS.keys()
    assert not RUNS.keys() & elsewhere


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
