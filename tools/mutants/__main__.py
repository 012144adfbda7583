"""`python -m tools.mutants [TARGET ...] [--minutes N]` lists mutants of the targets that no test notices."""

import argparse
import ast
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import pickle
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import types
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

import pytest

from tools.changed import SOURCES
from tools.mutants.mutations import Mutation, mutations
from tools.mutants.reach import IMPORT, Chosen, Reach, Recorder
from tools.mutants.targets import TARGETS, Target

ROOT: Final = Path(__file__).parents[2]
LIBRARIES: Final = (
    "hypothesis", "pydantic", "msgspec", "httpx", "yaml", "ruamel.yaml", "promql_parser", "cel_expr_python",
    "re2", "prometheus_client", "cryptography.x509", "kubernetes.client",
)  # fmt: skip
"""Modules to load before the first fork. Other imports of the tests are loaded after their first run."""
PYTEST: Final = (
    "-q", "-x", "-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not soak",
    "--hypothesis-profile", "mutants", "-W", "ignore::pytest.PytestAssertRewriteWarning",
)  # fmt: skip
LONGEST_FACTOR: Final = 5
"""A mutant counts as noticed if it takes this many times as long as the same tests without a mutant."""
START_SECONDS: Final = 15.0
"""For the start of pytest, on a busy machine."""
MEMORY: Final = 6 << 30
"""Bytes of address space of a mutant."""


class Fate(StrEnum):
    NOTICED = "noticed"
    SLOW = "noticed (too slow)"
    SURVIVED = "SURVIVED"
    NOT_REACHED = "NO TEST RUNS IT"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, kw_only=True)
class Mutant:
    path: Path
    tree: ast.Module
    mutation: Mutation

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)} {self.mutation}"


class _Mutated(importlib.machinery.SourceFileLoader):
    """Compiles a tree instead of the file."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        super().__init__(name, str(path))
        self._tree = tree

    def get_code(self, fullname: str) -> types.CodeType:  # noqa: ARG002 - as importlib calls it
        return compile(self._tree, self.path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant
        self._name = _module(mutant.path)

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - as importlib calls it
        target: types.ModuleType | None = None,  # noqa: ARG002 - as importlib calls it
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        loader = _Mutated(fullname, self._mutant.path, self._mutant.tree)
        return importlib.util.spec_from_file_location(fullname, self._mutant.path, loader=loader)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.mutants", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"{', '.join(TARGETS)}; default: all")
    parser.add_argument("--minutes", type=float, default=60.0, help="for each target; the rest is not tried")
    parser.add_argument("--file", default="", help="only the source files of the target with this name")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.targets if name not in TARGETS]
    if unknown:
        parser.error(f"there is no target {unknown[0]}; write one of {', '.join(TARGETS)}")
    _load(LIBRARIES)
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = folder
        rows = [
            _examined(name, TARGETS[name], seconds=given.minutes * 60, only=given.file, folder=Path(folder))
            for name in given.targets or TARGETS
        ]
    _say("\n| target | mutants | tried | noticed | survive | no test runs it |\n|---|---|---|---|---|---|")
    for row in rows:
        _say(row)
    return 0


def _examined(name: str, target: Target, *, seconds: float, only: str, folder: Path) -> str:
    sources = [path for path in target.source_files(ROOT) if not only or path.name == only]
    tests = [str(path.relative_to(ROOT)) for path in target.test_files(ROOT)]
    mutants = []
    for path in sources:
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
        mutants += [Mutant(path=path, tree=tree, mutation=one) for one in mutations(tree)]
    known, longest = _known(sources, tests, folder)
    _say(f"{name}: {len(mutants)} mutants; all tests take {longest:.1f} s")
    _load(known.libraries)
    # In random order, so that a short run tries a fair sample.
    random.Random(0).shuffle(mutants)  # noqa: S311 - an order, not a secret
    fates: dict[Fate, list[Mutant]] = {fate: [] for fate in Fate}
    end = time.monotonic() + seconds
    for mutant in mutants:
        fate = (
            Fate.NOT_TRIED
            if time.monotonic() > end
            else _fate(mutant, known=known, tests=tests, limit=longest * LONGEST_FACTOR + START_SECONDS)
        )
        fates[fate].append(mutant)
        if fate not in {Fate.NOTICED, Fate.NOT_TRIED}:
            _say(f"{fate}: {mutant}")
    tried = len(mutants) - len(fates[Fate.NOT_TRIED])
    noticed = len(fates[Fate.NOTICED]) + len(fates[Fate.SLOW])
    row = (
        f"| {name} | {len(mutants)} | {tried} | {noticed} | {len(fates[Fate.SURVIVED])} |"
        f" {len(fates[Fate.NOT_REACHED])} |"
    )
    _say(row)
    return row


@dataclass(frozen=True, kw_only=True)
class _Known:
    """Results of the tests without a mutant: which lines each runs, how many seconds each takes, and what
    they import.
    """

    reach: Reach
    seconds: dict[str, float]
    libraries: list[str]


def _known(sources: Sequence[Path], tests: Sequence[str], folder: Path) -> tuple[_Known, float]:
    """Runs the tests without a mutant, which must pass. Returns which lines each runs, and the seconds for
    all.
    """
    kept = folder / "reach"

    def record() -> int:
        recorder = Recorder(frozenset(map(str, sources)))
        recorder.start()
        code = pytest.main([*PYTEST, *tests], plugins=[recorder])
        sys.settrace(None)
        kept.write_bytes(
            pickle.dumps(_Known(reach=dict(recorder.reach), seconds=recorder.seconds, libraries=_libraries()))
        )
        return int(code)

    start = time.monotonic()
    if _forked(lambda: int(pytest.main([*PYTEST, *tests])), limit=1800) != 0:
        raise SystemExit(f"the tests fail without a mutant: {' '.join(tests)}")
    taken = time.monotonic() - start
    if _forked(record, limit=3600) != 0:
        raise SystemExit(f"the tests fail while they are traced: {' '.join(tests)}")
    found: _Known = pickle.loads(kept.read_bytes())  # noqa: S301 - written above
    return found, taken


def _fate(mutant: Mutant, *, known: _Known, tests: Sequence[str], limit: float) -> Fate:
    where = mutant.mutation
    reached = {
        test
        for line in range(where.line, where.last_line + 1)
        for test in known.reach.get((str(mutant.path), line), ())
    }
    if not reached:
        return Fate.NOT_REACHED
    chosen = frozenset(reached - {IMPORT})
    files = [path for path in tests if any(test.startswith(path) for test in chosen)]
    # Alone first, the file that reaches the line most often: it notices most mutants, and the others need not
    # be imported.
    files.sort(key=lambda path: -sum(test.startswith(path) for test in chosen))
    for part in filter(None, (files[:1], files[1:])):
        seconds = sum(known.seconds.get(test, 0.0) for test in chosen if test.startswith(tuple(part)))
        most = seconds * LONGEST_FACTOR + START_SECONDS
        fate = _tested(mutant, part, chosen=Chosen(chosen, seconds=known.seconds), limit=min(limit, most))
        if fate is not Fate.SURVIVED:
            return fate
    # A cached value, or a fixture of a session, may let another test notice what these computed.
    rest = Chosen(chosen, seconds=known.seconds, others=True)
    return _tested(mutant, tests, chosen=rest, limit=limit)


def _tested(mutant: Mutant, tests: Sequence[str], *, chosen: Chosen, limit: float) -> Fate:
    def run() -> int:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        mutant.mutation.apply()
        sys.meta_path.insert(0, _Finder(mutant))
        return int(pytest.main([*PYTEST, *tests], plugins=[chosen]))

    code = _forked(run, limit=limit)
    if code is None:
        return Fate.SLOW
    unnoticed = {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}
    return Fate.SURVIVED if code in unnoticed else Fate.NOTICED


def _forked(work: Callable[[], int], *, limit: float) -> int | None:
    """Runs `work` in a child process without output. Returns its result; None after `limit` seconds."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            os.setsid()
            nowhere = os.open(
                os.environ.get("MUTANTS_OUTPUT", os.devnull), os.O_RDWR | os.O_CREAT | os.O_APPEND
            )
            for stream in range(3):
                os.dup2(nowhere, stream)
            code = work()
        except BaseException:
            traceback.print_exc()
            raise
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    end = time.monotonic() + limit
    status = None
    try:
        while status is None and time.monotonic() < end:
            done, found = os.waitpid(child, os.WNOHANG)
            if done:
                status = os.waitstatus_to_exitcode(found)
            else:
                time.sleep(0.02)
    finally:
        # The group also contains the processes that the tests started.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        if status is None:
            os.waitpid(child, 0)
    return status


def _libraries() -> list[str]:
    """Every loaded module that is not part of the repository, so it has no mutants."""
    return [
        name
        for name, module in sys.modules.items()
        if (file := getattr(module, "__file__", None)) and ("site-packages" in file or str(ROOT) not in file)
    ]


def _load(names: Sequence[str]) -> None:
    """Imports modules before a fork, so that mutants need not. A module that cannot be imported alone is left
    to the tests.
    """
    for name in names:
        with suppress(Exception):
            importlib.import_module(name)


def _module(path: Path) -> str:
    """The import name of a file of the repository."""
    relative = path.relative_to(ROOT).as_posix()
    for folder in SOURCES:
        relative = relative.removeprefix(folder)
    return relative.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
