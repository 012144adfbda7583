"""`python -m tools.mutants [TARGET ...] [--minutes N]` lists mutants of the targets that no test notices."""

import argparse
import ast
import gc
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import math
import os
import pickle
import random
import shutil
import signal
import sys
import tempfile
import time
import types
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

import pytest

from tools.mutants.mutations import Mutation, mutations
from tools.mutants.order import Order
from tools.mutants.patch import Live, NotPatchableError, enclosing
from tools.mutants.process import forked, limit_time
from tools.mutants.reach import Recorder, find_caches
from tools.mutants.runner import Session
from tools.mutants.targets import TARGETS, Target

ROOT: Final = Path(__file__).parents[2]
SOURCES: Final = ("packages/wire/", "packages/scorer/", "packages/runtime/", "agent/")
"""Folders that are not part of the import name of their packages."""
LIBRARIES: Final = (
    "hypothesis", "pydantic", "msgspec", "httpx", "yaml", "ruamel.yaml", "promql_parser", "cel_expr_python",
    "re2", "prometheus_client", "cryptography.x509", "kubernetes.client",
)  # fmt: skip
"""Modules to load before the first fork."""
PYTEST: Final = (
    "-q", "-p", "no:randomly", "-p", "no:cacheprovider", "-m", "not soak",
    "-o", "timeout=0", "--capture", "no", "--tb", "no", "--hypothesis-profile", "mutants",
    "-W", "ignore::pytest.PytestAssertRewriteWarning",
)  # fmt: skip
IMPORT_SECONDS: Final = 60.0
"""For a mutant that must be imported: pytest's start and its collection of the tests."""
AT_FIRST: Final = 3
"""A mutant that must be imported first runs only against the files of this many tests."""
NOT_PATCHABLE: Final = 3
PROGRESS: Final = 100
"""Mutants between two lines about the progress."""


class Fate(StrEnum):
    NOTICED = "noticed"
    SLOW = "noticed (too slow)"
    SURVIVED = "SURVIVED"
    SOME_SURVIVED = "SURVIVED SOME TESTS"
    """No test of the most promising ones noticed it. The others did not run."""
    NOT_REACHED = "NO TEST RUNS IT"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, kw_only=True)
class Mutant:
    path: Path
    tree: ast.Module
    mutation: Mutation

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)} {self.mutation}"

    @property
    def file(self) -> str:
        return str(self.path)

    @property
    def place(self) -> ast.stmt | None:
        """The function that contains it, or the statement of the module."""
        return enclosing(self.tree, self.mutation.holder, self.mutation.field)

    @property
    def function(self) -> str:
        """The name of the function that contains it; empty outside of functions."""
        place = self.place
        return place.name if isinstance(place, ast.FunctionDef | ast.AsyncFunctionDef) else ""

    @property
    def names(self) -> set[str]:
        """Constants that it changes."""
        match self.place:
            case ast.Assign(targets=targets):
                return {target.id for target in targets if isinstance(target, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                return {name}
            case _:
                return set()

    @property
    def lines(self) -> set[int]:
        """Lines of the module that behave differently. Of a constant those that use it."""
        if self.function:
            return set(range(self.mutation.line, self.mutation.last_line + 1))
        return {
            node.lineno
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in self.names
        }

    @property
    def around(self) -> set[int]:
        """The lines of the function that contains it; of a constant those that use it."""
        place = self.place
        if isinstance(place, ast.FunctionDef | ast.AsyncFunctionDef):
            return set(range(place.lineno, (place.end_lineno or place.lineno) + 1))
        return self.lines

    @property
    def is_used_elsewhere(self) -> bool:
        """Whether other modules may use what it changes."""
        return not self.function and not (self.names and all(name.startswith("_") for name in self.names))


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


class Examination:
    """The mutants of one target and what became of them."""

    def __init__(
        self,
        name: str,
        target: Target,
        *,
        folder: Path,
        only: str,
        again: Collection[str],
        most: float,
        skip: int,
    ) -> None:
        self._name = name
        self._most = most
        self._tests = [str(path.relative_to(ROOT)) for path in target.test_files(ROOT)]
        self._folder = folder
        self._files = frozenset(
            str(path) for path in target.source_files(ROOT) if not only or path.name == only
        )
        self._mutants: list[Mutant] = []
        for file in sorted(self._files):
            path = Path(file)
            tree = ast.parse(path.read_text(encoding="utf-8"), filename=file)
            found = [Mutant(path=path, tree=tree, mutation=one) for one in mutations(tree)]
            self._mutants += [mutant for mutant in found if not again or str(mutant) in again]
        # In random order, so that a short run tries a fair sample.
        random.Random(0).shuffle(self._mutants)  # noqa: S311 - an order, not a secret
        del self._mutants[:skip]
        self._fates: dict[int, Fate] = {}
        self._order = Order({}, {})
        self._end = 0.0

    def run(self, *, seconds: float) -> str:
        """Tries every mutant, at most for so many seconds. Returns a row of a table."""
        start = time.monotonic()
        self._end = start + seconds
        kept = self._folder / "kept"
        kept.unlink(missing_ok=True)
        code = forked(lambda: self._collected(kept))
        if not kept.exists():
            raise SystemExit(f"the tests fail without a mutant ({code}): {' '.join(self._tests)}")
        self._fates, self._order, libraries = pickle.loads(kept.read_bytes())  # noqa: S301 - written below
        _load(libraries)
        rest = [index for index in range(len(self._mutants)) if index not in self._fates]
        quick = len(self._fates)
        _say(
            f"{self._name}: {quick} mutants in {time.monotonic() - start:.0f} s; {len(rest)} must be imported"
        )
        for index in rest:
            fate = Fate.NOT_TRIED if self._is_over() else self._imported(self._mutants[index])
            self._decided(index, fate)
        counts = Counter(self._fates.values())
        noticed = counts[Fate.NOTICED] + counts[Fate.SLOW]
        survived = counts[Fate.SURVIVED] + counts[Fate.SOME_SURVIVED]
        row = (
            f"| {self._name} | {len(self._mutants)} | {len(self._mutants) - counts[Fate.NOT_TRIED]} |"
            f" {noticed} | {survived} | {counts[Fate.NOT_REACHED]} |"
        )
        _say(f"{row} {time.monotonic() - start:.0f} s")
        return row

    def _collected(self, kept: Path) -> int:
        """Collects the tests once, then forks for each mutant that can be patched into the loaded modules."""
        recorder = Recorder(self._files)
        recorder.start()

        def work(session: Session) -> None:
            recorder.stop()
            gc.unfreeze()
            find_caches()
            live = Live(self._files)
            gc.freeze()
            if not self._recorded(recorder, session):
                return
            for index, mutant in enumerate(self._mutants):
                fate = Fate.NOT_TRIED if self._is_over() else self._patched(mutant, live, session)
                if fate is not None:
                    self._decided(index, fate)
            kept.write_bytes(pickle.dumps((self._fates, self._order, _libraries())))

        return int(pytest.main([*PYTEST, *self._tests], plugins=[recorder, Session(self._folder, work)]))

    def _recorded(self, recorder: Recorder, session: Session) -> bool:
        """Runs the tests without a mutant, which must pass."""
        kept = self._folder / "reach"

        def record() -> int:
            recorder.start()
            failed = session.run_all()
            recorder.stop()
            kept.write_bytes(pickle.dumps((dict(recorder.reach), recorder.seconds, failed)))
            return 0

        start = time.monotonic()
        if forked(record) != 0:
            _say(f"{self._name}: the tests could not run")
            return False
        reach, seconds, failed = pickle.loads(kept.read_bytes())  # noqa: S301 - written above
        for test in failed:
            _say(f"fails without a mutant: {test}")
        self._order = Order(reach, seconds)
        _say(
            f"{self._name}: {len(self._mutants)} mutants; {len(seconds)} tests took"
            f" {time.monotonic() - start:.1f} s while they were traced"
        )
        return not failed

    def _patched(self, mutant: Mutant, live: Live, session: Session) -> Fate | None:
        """None if the mutant must be imported."""
        tests, on_import = self._order.reached(mutant.file, mutant.lines)
        if not mutant.function:
            tests |= self._others(mutant)
        if not tests:
            return Fate.NOT_REACHED if mutant.function and not on_import else None

        def run() -> int:
            try:
                live.apply(mutant.mutation, mutant.tree, mutant.file)
            except NotPatchableError:
                return NOT_PATCHABLE
            session.run_until_failure(ordered, self._order.seconds)
            return 0

        every = self._order.ordered(tests, mutant.file, mutant.function, mutant.around)
        ordered = self._order.until(every, self._most)
        code = self._forked(run, mutant)
        if code == NOT_PATCHABLE or (code == 0 and (on_import or not mutant.function)):
            return None
        return _fate(code, some=len(ordered) < len(every))

    def _imported(self, mutant: Mutant) -> Fate:
        tests, _ = self._order.reached(mutant.file, mutant.lines)
        likely = self._order.ordered(tests, mutant.file, mutant.function, mutant.around)
        others = self._others(mutant) - tests
        every = likely + self._order.ordered(others, mutant.file, mutant.function)
        ordered = self._order.until(every, self._most)
        first = {test.partition("::")[0] for test in ordered[:AT_FIRST]}
        for files in (first, {test.partition("::")[0] for test in ordered} - first):
            chosen = [test for test in ordered if test.partition("::")[0] in files]
            code = self._forked(lambda: self._import(mutant, files, chosen), mutant)  # noqa: B023 - called at once
            if code != 0:
                return _fate(code)
        return Fate.SURVIVED if len(ordered) == len(every) else Fate.SOME_SURVIVED

    def _others(self, mutant: Mutant) -> set[str]:
        """Tests that may notice a change that takes effect on import."""
        return self._order.others(mutant.file, mutant.lines, used_elsewhere=mutant.is_used_elsewhere)

    def _import(self, mutant: Mutant, files: Collection[str], tests: Sequence[str]) -> int:
        mutant.mutation.apply()
        sys.meta_path.insert(0, _Finder(mutant))
        limit_time(IMPORT_SECONDS)

        def work(session: Session) -> None:
            chosen = [*tests, *self._order.new(session.tests)]
            session.run_until_failure(chosen, self._order.seconds)

        session = Session(self._folder, work)
        return int(pytest.main([*PYTEST, *sorted(files)], plugins=[session])) if files else 0

    def _forked(self, run: Callable[[], int], mutant: Mutant) -> int:
        noticed = self._folder / "noticed"
        noticed.unlink(missing_ok=True)
        code = forked(run)
        if noticed.exists():
            self._order.noticed(noticed.read_text(), mutant.file, mutant.function)
        for path in self._folder.glob("tmp*"):
            shutil.rmtree(path, ignore_errors=True)
        return code

    def _decided(self, index: int, fate: Fate) -> None:
        self._fates[index] = fate
        if len(self._fates) % PROGRESS == 0:
            _say(f"{self._name}: {len(self._fates)} of {len(self._mutants)}")
        if fate not in {Fate.NOTICED, Fate.NOT_TRIED}:
            _say(f"{fate}: {self._mutants[index]}")

    def _is_over(self) -> bool:
        return time.monotonic() > self._end


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.mutants", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"{', '.join(TARGETS)}; default: all")
    parser.add_argument("--minutes", type=float, default=60.0, help="for each target; the rest is not tried")
    parser.add_argument("--file", default="", help="only the source files of the target with this name")
    parser.add_argument(
        "--again", type=Path, help="the output of an earlier run: try only the mutants that it lists"
    )
    parser.add_argument(
        "--most",
        type=float,
        default=math.inf,
        help="seconds of tests for each mutant, the most promising ones; a quick first run",
    )
    parser.add_argument(
        "--skip", type=int, default=0, help="mutants that an earlier run of the same sources has tried"
    )
    given = parser.parse_args(arguments)
    unknown = [name for name in given.targets if name not in TARGETS]
    if unknown:
        parser.error(f"there is no target {unknown[0]}; write one of {', '.join(TARGETS)}")
    again = frozenset(_listed(given.again.read_text(encoding="utf-8"))) if given.again else frozenset()
    _load(LIBRARIES)
    os.chdir(ROOT)
    rows = []
    for name in given.targets or TARGETS:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = folder
            examination = Examination(
                name,
                TARGETS[name],
                folder=Path(folder),
                only=given.file,
                again=again,
                most=given.most,
                skip=given.skip,
            )
            rows.append(examination.run(seconds=given.minutes * 60))
    _say("\n| target | mutants | tried | noticed | survive | no test runs it |\n|---|---|---|---|---|---|")
    for row in rows:
        _say(row)
    return 0


def _listed(output: str) -> list[str]:
    """The mutants that an output names."""
    unnoticed = (Fate.SURVIVED, Fate.SOME_SURVIVED, Fate.NOT_REACHED)
    return [line.partition(": ")[2] for line in output.splitlines() if line.startswith(unnoticed)]


def _fate(code: int, *, some: bool = False) -> Fate:
    if code in {-signal.SIGPROF, -signal.SIGALRM}:
        return Fate.SLOW
    if code not in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
        return Fate.NOTICED
    return Fate.SOME_SURVIVED if some else Fate.SURVIVED


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


_OUTPUT: Final = os.fdopen(os.dup(1), "w", encoding="utf-8")
"""Standard output of this process, also in silent child processes."""


def _say(text: str) -> None:
    _OUTPUT.write(f"{text}\n")
    _OUTPUT.flush()


if __name__ == "__main__":
    sys.exit(main())
