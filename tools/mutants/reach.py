"""Which tests run which lines of the mutated modules: only these can notice a change of the line."""

import sys
import threading
import time
from collections import defaultdict
from collections.abc import Generator, Mapping
from types import FrameType
from typing import Any

import pytest

IMPORT = "import"
"""The test of a line that runs when its module is imported. Any test may notice a change there."""

Reach = dict[tuple[str, int], set[str]]
"""File and line to the tests that run it: their IDs, or a test file for what its fixtures run."""


class Recorder:
    """A plugin of pytest. It slows tests down by a factor of about three."""

    def __init__(self, files: frozenset[str]) -> None:
        self.reach: Reach = defaultdict(set)
        self.seconds: dict[str, float] = {}
        """How long each test takes, by ID."""
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
    """A plugin of pytest that runs only these tests, named by ID or by file, or with `others` all but these.
    The fastest come first: one failure is enough.
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
