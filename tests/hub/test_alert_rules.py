"""The alert rules in Prometheus' own hands: promtool checks them, and runs the tests that are shipped beside
them.
"""

import subprocess
from pathlib import Path

import pytest

from tests.hub.controlplane.binaries import obtain

pytestmark = [pytest.mark.hub, pytest.mark.family("prometheus")]

FOLDER = Path(__file__).parents[2] / "monitoring"


def promtool(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    program = obtain("prometheus").path("promtool")
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=240, check=False)


@pytest.mark.parametrize("name", ["rules.yaml", "agent-rules.yaml"])
def test_promtool_finds_no_fault(name: str) -> None:
    answer = promtool("check", "rules", "--lint=all", "--lint-fatal", FOLDER / name)
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_alerts_fire_where_they_should_and_nowhere_else() -> None:
    answer = promtool("test", "rules", FOLDER / "rules_test.yaml")
    assert answer.returncode == 0, answer.stdout + answer.stderr
