"""Fixtures of the hub suite: one control plane for each process that runs tests.

`FAMILY` (comma list, default all) says which families of programs may run: `FAMILY=kubernetes,ocm
pytest tests/hub`. A test that needs families says so with `pytest.mark.family("ocm", ...)` and is
skipped, visibly, when one is left out. The hub is shared: a test brings what it needs, waits for
it, and takes it away again; scenes belong to one module. What a module leaves nevertheless is taken
away before the next one begins.
"""

import os
import time
from collections.abc import Generator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import pytest

from tests.hub import runrecord
from tests.hub.controlplane.api import Client
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.binaries import Binaries, obtain
from tests.hub.controlplane.family import family_names
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.kube import Kubernetes
from tests.hub.controlplane.kueue import CONTROLLERS, ONE_BY_ONE
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.processes import Processes
from tests.hub.scenario.jobs import WORKERS, Jobs, multikueue
from tests.hub.scenario.leftovers import remove_leftovers
from tests.support import environment

SUITE = Path(__file__).parent
SLOWEST = (
    "multikueue",
    "kueue",
    "verified_moves",
    "paced_moves",
    "kubelet",
    "first_hour",
    "argocd_sync",
    "install",
    "frozen_leader",
    "simulator_agrees",
    "adoption",
    "world_argocd",
    "addon",
    "world_ocm",
)
"""Files of more than half a minute. They begin first: at the end no process is left alone with one
of them.
"""
LOG_LINES = 12
ARGOCD = ("argocd", "argocd-oldest")
"""The first of these that FAMILY has runs; tests ask for the first."""
HANGING_SECONDS = 1200
"""After which a test hangs; its waits have bounds of their own."""

_plane = pytest.StashKey[ControlPlane]()
_jobs_plane = pytest.StashKey[ControlPlane]()


@pytest.fixture(autouse=True)
def _clean_environment() -> Iterator[None]:
    """For each test: the fixtures of the suite build and start programs as the person does who runs
    it.
    """
    with mock.patch.dict(os.environ):
        environment.clean(os.environ)
        yield


def chosen_families() -> tuple[str, ...]:
    """The families of FAMILY, or all."""
    asked = tuple(name for name in os.environ.get("FAMILY", "").split(",") if name)
    if unknown := sorted(set(asked) - set(family_names())):
        raise pytest.UsageError(
            f"FAMILY: no family {unknown[0]}; there are {', '.join(family_names())}"
        )
    return asked or family_names()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "family(*names): the families of programs that a test needs (see tests/hub)"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    first = {SUITE / f"test_{name}.py": place for place, name in enumerate(SLOWEST)}
    items.sort(key=lambda item: first.get(item.path, len(first)))
    chosen = chosen_families()
    available = {*chosen, *(ARGOCD[:1] if set(ARGOCD) & set(chosen) else ())}
    for item in items:
        if SUITE not in item.path.parents:
            continue
        item.add_marker(pytest.mark.hub)
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(HANGING_SECONDS))
        needed = {name for mark in item.iter_markers("family") for name in mark.args}
        if missing := ", ".join(sorted(needed - available)):
            reason = f"needs {missing}, not in FAMILY={','.join(chosen)}"
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="module", autouse=True)
def _alone(request: pytest.FixtureRequest) -> None:
    """Nothing of other modules is on the hub.

    Before the first module that uses it there is no hub.
    """
    plane = request.config.stash.get(_plane, None)
    if plane is not None:
        remove_leftovers(plane.hub.admin)


@pytest.fixture(scope="session")
def kubernetes_binaries() -> Binaries:
    return obtain("kubernetes")


@pytest.fixture(scope="session")
def ocm_binaries() -> Binaries | None:
    return obtain("ocm") if "ocm" in chosen_families() else None


@pytest.fixture(scope="session")
def control_plane(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    kubernetes_binaries: Binaries,
    ocm_binaries: Binaries | None,
) -> Iterator[ControlPlane]:
    """The hub with its spokes cluster1 and cluster2; with OCM when the family is chosen."""
    folder = tmp_path_factory.mktemp("control-plane")
    processes = Processes(logs=folder / "logs")
    kubernetes = Kubernetes(binaries=kubernetes_binaries, processes=processes, folder=folder)
    with ControlPlane(kubernetes=kubernetes, ocm_binaries=ocm_binaries) as plane:
        request.config.stash[_plane] = plane
        yield plane
        processes.check_listeners()
    left = processes.left_behind()
    assert not left, f"processes left behind: {left}"


@pytest.fixture(scope="session")
def hub(control_plane: ControlPlane) -> Client:
    """All rights on the hub."""
    return control_plane.hub.admin


@pytest.fixture(scope="session")
def git_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitServer]:
    """A forge on loopback; each test makes its own repository in it."""
    with GitServer(folder=tmp_path_factory.mktemp("git")) as server:
        yield server


@pytest.fixture(scope="session")
def argocd_binaries() -> Binaries:
    """The Argo CD that FAMILY chooses."""
    return obtain(next(name for name in ARGOCD if name in chosen_families()))


@pytest.fixture(scope="session")
def argocd(
    tmp_path_factory: pytest.TempPathFactory, control_plane: ControlPlane, argocd_binaries: Binaries
) -> Iterator[ArgoCD]:
    """Argo CD on the hub, with nothing in it but the default project. Knows no spoke until
    `knowing`.
    """
    folder = tmp_path_factory.mktemp("argocd")
    running = ArgoCD(
        binaries=argocd_binaries,
        processes=control_plane.processes,
        folder=folder,
        hub=control_plane.hub,
    )
    running.bring_up()
    yield running
    running.close()


@pytest.fixture(scope="session")
def jobs(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    kubernetes_binaries: Binaries,
    ocm_binaries: Binaries | None,
) -> Iterator[Jobs]:
    """A control plane of its own, with Kueue on the hub and on three spokes.

    Kueue tries one cluster for a job, and the next one after five minutes.
    """
    folder = tmp_path_factory.mktemp("jobs")
    processes = Processes(logs=folder / "logs")
    plane = ControlPlane(
        kubernetes=Kubernetes(binaries=kubernetes_binaries, processes=processes, folder=folder),
        ocm_binaries=ocm_binaries,
        spoke_names=WORKERS,
        kube_controllers=CONTROLLERS,
    )
    with plane:
        request.config.stash[_jobs_plane] = plane
        with multikueue(
            plane,
            obtain("kueue"),
            **ONE_BY_ONE,
            # How soon it takes away what a job that was deleted has left on a worker.
            gcInterval="2s",
        ) as running:
            yield running
    left = processes.left_behind()
    assert not left, f"processes left behind: {left}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: "pytest.CallInfo[None]"
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    planes = [item.config.stash.get(key, None) for key in (_plane, _jobs_plane)]
    for plane in planes:
        if not report.failed or call.when != "call" or plane is None:
            continue
        for name, process in plane.processes.running.items():
            state = "running" if process.running else f"ended with {process.child.returncode}"
            report.sections.append(
                (f"{name} ({state}), end of {process.log}", process.tail(LOG_LINES))
            )
    return report


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    terminalreporter.section("hub suite")
    terminalreporter.line(
        f"families: {', '.join(chosen_families())}; ended {time.strftime('%H:%M:%S')}"
    )
    if os.environ.get("RECORD") and exitstatus in (
        pytest.ExitCode.OK,
        pytest.ExitCode.TESTS_FAILED,
    ):
        counts = {
            name: len(terminalreporter.stats.get(name, ()))
            for name in ("passed", "failed", "skipped")
        }
        counts["failed"] += len(terminalreporter.stats.get("error", ()))
        runrecord.record(families=chosen_families(), day=datetime.now(UTC).date(), counts=counts)
        terminalreporter.line(f"recorded in {runrecord.PAGE}")
