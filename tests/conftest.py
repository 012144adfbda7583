"""What every test shares.

A clean environment, hypothesis without deadlines, and the switch that refreshes golden files.
"""

import asyncio
import gc
import json
import os
import subprocess
import sys
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, chdir, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pytest
from xdist.scheduler import LoadGroupScheduling

from tests.support import environment, laws
from tests.support.virtual_time import VirtualLoop
from tests.support.warmpython import warm_python
from tools import version

laws.register()


SLOWEST = (
    "integration/demo/test_demo.py",
    "integration/agent/test_scoring_faults.py",
    "integration/agent/test_source_faults.py",
    "integration/test_template_pipeline.py",
    "integration/test_init.py",
    "integration/test_ci.py",
    "integration/preview/test_wide.py",
    "integration/agent/test_process_end.py",
    "integration/agent/test_isolation.py",
    "integration/reconciler/pacing/test_verified_moves.py",
    "unit/agent/test_query_scores.py",
    "unit/agent/test_many_results.py",
    "contract/test_version.py",
    "browser/test_every_page.py",
    "browser/test_fleet_page.py",
    "browser/test_preview_comment.py",
)
"""Files with tests, or with groups of tests, of more than five seconds. They begin first: at the
end no process is left alone with one of them.
"""
ID_CHARACTERS = 80
"""Of a parameter in the name of a test."""
PACKED: Final = "json"
"""Of a report on its way between processes."""
GARBAGE: Final = 20_000
"""Objects that are made before garbage is looked for, as in the agent. At Python's 700 the looks
take a thirtieth of the time.
"""
TESTS: Final = Path(__file__).parent
UV: Final = Path(sys.executable).with_name("uv")
WARM_PROGRAMS: Final = pytest.StashKey[Path]()
"""The folder of the fixture `warm_programs`, in the process that starts the workers."""
AUTHORITY = TESTS / "data" / "authority.pem"
"""A certificate whose key nobody has."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write what the programs say now into tests/golden",
    )


def pytest_asyncio_loop_factories(
    item: pytest.Item,
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Coroutines run in virtual time, unless they wait for another process or thread and are marked
    so.
    """
    real = (
        item.get_closest_marker("real_time")
        or "hub" in item.path.relative_to(item.config.rootpath).parts
    )
    return {"real": asyncio.new_event_loop} if real else {"virtual": VirtualLoop}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first.

    Tests that share a fixture of their module or package run in one worker, so that the fixture is
    made once. So do the unit tests of a file, so that the controller sends fewer messages.
    """
    first = {TESTS / name: place for place, name in enumerate(SLOWEST)}
    items.sort(key=lambda item: first.get(item.path, len(first)))
    for item in items:
        fixtures = getattr(item, "_fixtureinfo").name2fixturedefs.values()  # noqa: B009 - pytest has no public name for it
        scopes = {one.scope for definitions in fixtures for one in definitions}
        file = item.nodeid.partition("::")[0]
        if "wheels" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("wheels"))
        elif "package" in scopes:
            item.add_marker(pytest.mark.xdist_group(file.rpartition("/")[0]))
        elif "module" in scopes or _folder(item.path) == "unit":
            item.add_marker(pytest.mark.xdist_group(file))


class Groups(LoadGroupScheduling):
    """Groups of tests.

    After each test, pytest-xdist adds up all groups that its worker ever had, so the time that it
    needs grows with the square of their number. This one forgets those that are done.
    """

    def _pending_of(self, workload: dict[str, dict[str, bool]]) -> int:
        for group in [group for group, tests in workload.items() if all(tests.values())]:
            del workload[group]
        return int(super()._pending_of(workload))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Groups | None:
    return Groups(config, log) if config.getoption("dist") == "loadgroup" else None


def pytest_make_parametrize_id(val: object) -> str | None:
    """Short names for long texts.

    Every process of pytest-xdist sends the names of all tests, and each test's name with each of
    its reports.
    """
    if not isinstance(val, str | bytes) or len(val) <= ID_CHARACTERS:
        return None
    content = val.encode("utf-8", "surrogatepass") if isinstance(val, str) else val
    return (
        f"{ascii(val[:ID_CHARACTERS])[:ID_CHARACTERS]}... {len(val)} long,"
        f" {zlib.crc32(content):08x}"
    )


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable(
    report: pytest.CollectReport | pytest.TestReport,
) -> Generator[None, dict[str, Any], dict[str, Any]]:
    """The report of what passed as one text.

    pytest-xdist 3.8 sends three reports for each test, and packs each part of them in Python.
    """
    parts = yield
    return {PACKED: json.dumps(parts)} if report.passed else parts


@pytest.hookimpl(wrapper=True)
def pytest_report_from_serializable(data: dict[str, Any]) -> Generator[None, object, object]:
    if PACKED in data:
        data.update(json.loads(data.pop(PACKED)))
    return (yield)


def pytest_sessionstart(session: pytest.Session) -> None:
    """What is made while tests are collected stays to the end: there is no garbage to look for."""
    gc.disable()
    worker: Mapping[str, Any] | None = getattr(session.config, "workerinput", None)
    if worker is not None:
        number = int(worker["workerid"].removeprefix("gw"))
        _import_from(session.config, number / worker["workercount"])


def _import_from(config: pytest.Config, share: float) -> None:
    """Imports all test files, those of a worker's own share first.

    In a fresh clone, pytest compiles each file when it is imported for the first time, and keeps
    the result on disk. Processes that go through the files in the same order compile each of them
    at the same time; this way each process compiles a part and finds the rest.
    """
    ignored = {config.invocation_params.dir / name for name in config.getoption("ignore") or ()}
    files = [
        file
        for folder in map(Path, config.args)
        for file in sorted(folder.resolve().rglob("test_*.py"))
        if not ignored.intersection(file.parents)
    ]
    first = int(len(files) * share)
    for file in files[first:] + files[:first]:
        # Collection imports the file again, and reports the error.
        with suppress(Exception, pytest.skip.Exception):
            import_module(".".join(file.relative_to(TESTS.parent).with_suffix("").parts))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Cleans the environment once for all tests; for each of them takes longer.

    The hub suite does it itself.

    No collection of a test's garbage need go through the modules and thousands of tests.
    """
    beside = [_folder(item.path) == "hub" for item in session.items]
    if not all(beside):
        environment.clean(os.environ)
        # No test trusts the machine's authorities; to read them takes 40 ms for each client. The
        # programs of the hub suite fetch from the network, so they keep them.
        if not any(beside):
            os.environ["SSL_CERT_FILE"] = str(AUTHORITY)
    gc.freeze()
    gc.set_threshold(GARBAGE)
    gc.enable()


@cache
def _folder(path: Path) -> str:
    """The folder of tests that a file is in, empty for other files."""
    return path.relative_to(TESTS).parts[0] if path.is_relative_to(TESTS) else ""


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """What the tests of a file leave behind, such as caches, stays to the end.

    Agents collect every ten seconds of virtual time. In a process that has run many tests, each
    collection would take 50 ms.
    """
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """All workers share the programs that start at once: their server imports everything once."""
    config: pytest.Config = node.config
    if WARM_PROGRAMS not in config.stash:
        stack = ExitStack()
        config.add_cleanup(stack.close)
        config.stash[WARM_PROGRAMS] = stack.enter_context(warm_python())
    node.workerinput["warm_programs"] = str(config.stash[WARM_PROGRAMS])


@pytest.fixture(scope="session")
def warm_programs(pytestconfig: pytest.Config) -> Iterator[Path]:
    """A folder for PATH with `python` and our programs, which start at once."""
    worker: Mapping[str, Any] | None = getattr(pytestconfig, "workerinput", None)
    if worker is not None:
        yield Path(worker["warm_programs"])
        return
    with warm_python() as folder:
        yield folder


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with our wheels, by the build backend, of which `uv build` would start several.

    The tests that use it run in one worker, so that they are built once.
    """
    from hatchling.build import build_wheel

    out = tmp_path_factory.mktemp("wheels")
    for folder in version.members(TESTS.parent):
        # A backend builds the distribution of the working directory (PEP 517).
        with chdir(folder):
            build_wheel(str(out))
    return out


@pytest.fixture(scope="session")
def pipeline_programs(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for PATH with what the pipeline of a new fleet needs: gitops-dsf without any extra,
    and without the distribution that only extras use.
    """
    from gitops_dsf.cli.scaffold import scaffold

    root = tmp_path_factory.mktemp("pipeline")
    scaffold(target=root / "fleet", name="fleet", wheels=wheels)
    wanted = root / "fleet/requirements.txt"
    lines = wanted.read_text("utf-8").splitlines(keepends=True)
    wanted.write_text("".join(line for line in lines if "gitops_dsf_runtime" not in line), "utf-8")
    _uv("venv", "--quiet", "--python", sys.executable, str(root / "venv"))
    words = ("pip", "install", "--quiet", "--python", str(root / "venv"), "-r", "requirements.txt")
    try:  # After the first time everything comes from uv's cache.
        _uv(*words, "--offline", folder=root / "fleet")
    except AssertionError:
        _uv(*words, folder=root / "fleet")
    return root / "venv/bin"


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))


def _uv(*words: str, folder: Path = TESTS.parent) -> None:
    # The tests' own list of authorities is not for the package index.
    environment = {name: value for name, value in os.environ.items() if name != "SSL_CERT_FILE"}
    done = subprocess.run(
        [UV, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
