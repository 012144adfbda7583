"""A fleet repository that is rendered, and hubs that it can be installed on."""

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitops_dsf.cli.scaffold import scaffold
from gitops_dsf.views.doctor.checks.ocm import GROUPS
from tests.support.apiserver import KINDS, FakeApiServer
from tests.support.commandline import gitops_dsf
from tests.support.hubobjects import by_path, fleet
from tests.support.served import serving

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Serve = Callable[..., FakeApiServer]


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed") / "fleet"
    scaffold(target=folder, name="fleet", git_url="https://git.example.com/fleet.git")
    done = gitops_dsf("render", folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serves a hub with OCM and Argo CD, and the objects of a small fleet."""
    with ExitStack() as stack:

        def start(*, without: str = "") -> FakeApiServer:
            objects = {path: [] for path in KINDS} | by_path(fleet(now=datetime.now(UTC)))
            for group, versions in GROUPS.items():
                for version in versions:
                    objects.setdefault(f"/apis/{group}/{version}/others", [])
            kept = {
                path: items for path, items in objects.items() if not without or without not in path
            }
            return stack.enter_context(serving(FakeApiServer(serves=kept)))

        yield start


class Hasty:
    """A clock on which a pause passes at once."""

    def __init__(self) -> None:
        self._passed = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self._passed

    def sleep(self, seconds: float) -> None:
        self._passed += 50 * seconds


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("installation.install", "installation.uninstall", "cli.install"):
        monkeypatch.setattr(f"gitops_dsf.{module}.time", Hasty())


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def verb(
        hub: FakeApiServer, name: str, *arguments: str | Path
    ) -> "subprocess.CompletedProcess[str]":
        kubeconfig = hub.kubeconfig(tmp_path / "kubeconfig")
        return gitops_dsf(name, *arguments, "--context", "hub", "--kubeconfig", kubeconfig)

    return verb
