"""Argo CD itself judges with our health checks as the contract tests say of them."""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.hub.controlplane.binaries import Binaries
from tests.support.health_cases import ARGOCD, HealthCase, cases

pytestmark = pytest.mark.family("argocd")

HEALTH = ARGOCD / "install/argocd-cm-health.yaml"
COMMAND = ("admin", "settings", "resource-overrides", "health")


def test_argocd_itself_gives_the_verdicts_of_our_cases(
    tmp_path: Path, argocd_binaries: Binaries
) -> None:
    """The offline command runs the script of the ConfigMap in Argo CD's own Lua.

    It needs no server.
    """
    program = str(argocd_binaries.path("argocd"))
    environment = {"HOME": str(tmp_path), "ARGOCD_BINARY_NAME": "argocd", "PATH": "/usr/bin:/bin"}

    def verdict(case: HealthCase) -> str:
        answer = subprocess.run(
            [program, *COMMAND, str(case.input), "--argocd-cm-path", str(HEALTH)],
            capture_output=True,
            text=True,
            env=environment,
            timeout=60,
            check=False,
        )
        assert answer.returncode == 0, answer.stderr
        return answer.stdout

    found = cases()
    with ThreadPoolExecutor(max_workers=2) as pool:
        answers = list(pool.map(verdict, found))
    for case, answer in zip(found, answers, strict=True):
        assert answer == f"STATUS: {case.status}\nMESSAGE: {case.message}\n", case.input
