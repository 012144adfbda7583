"""Records which tests run which lines of the mutated modules. Only these can notice a change of the line."""

import sys
import threading
import time
from collections import defaultdict
from collections.abc import Generator, Mapping
from types import FrameType
from typing import Any

import pytest

IMPORT = "import"
"""Stands for the tests of a line that runs on import. Any test may notice a change of it."""

Reach = dict[tuple[str, int], set[str]]
"""The tests that run each file and line: their IDs, or a test file if its fixtures run the line."""


class Recorder:
    """A pytest plugin. It makes tests about three times slower."""

    def __init__(self, files: frozenset[str]) -> None:
        self.reach: Reach = defaultdict(set)
        self.seconds: dict[str, float] = {}
        """The duration of each test by ID."""
        self._files = files
        self._test = IMPORT

    def start(self) -> None:
        sys.settrace(self._trace)
        threading.settrace(self._trace)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None]:
        yield from self._during(item.nodeid.partition("::")[0])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None]:
        start = time.monotonic()
        yield from self._during(item.nodeid)
        self.seconds[item.nodeid] = time.monotonic() - start

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None]:
        yield from self._during(item.nodeid)

    def _during(self, test: str) -> Generator[None]:
        before, self._test = self._test, test
        self.start()
        try:
            yield
        finally:
            self._test = before

    def _trace(self, frame: FrameType, event: str, _value: Any) -> Any:  # noqa: ANN401 - as sys.settrace has it
        if frame.f_code.co_filename not in self._files:
            return None
        if event in {"call", "line"}:
            self.reach[frame.f_code.co_filename, frame.f_lineno].add(self._test)
        return self._trace


class Chosen:
    """A pytest plugin that runs only these tests, named by ID or by file; with `others` all except these. The
    fastest run first, because one failure is enough.
    """

    def __init__(self, tests: frozenset[str], *, seconds: Mapping[str, float], others: bool = False) -> None:
        self._tests = tests
        self._seconds = seconds
        self._others = others

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        chosen = [item for item in items if self._runs(item.nodeid)]
        items[:] = sorted(chosen, key=lambda item: self._seconds.get(item.nodeid, 0.0))

    def _runs(self, test: str) -> bool:
        return (test in self._tests or test.partition("::")[0] in self._tests) is not self._others
