"""Records which tests run which lines of the mutated modules. Only these can notice a change of the line."""

import functools
import gc
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Generator
from types import FrameType
from typing import Any

import pytest

IMPORT = "import"
"""Stands for a line that runs while modules are imported and tests are collected. Any test may notice a
change of it.
"""

Reach = dict[tuple[str, int], set[str]]
"""The tests that run each file and line: their IDs, or a test file if its fixtures run the line."""


class Recorder:
    """A pytest plugin. It makes tests about three times slower while it traces."""

    def __init__(self, files: frozenset[str]) -> None:
        self.reach: Reach = defaultdict(set)
        self.seconds: dict[str, float] = {}
        """The duration of each test by ID."""
        self._files = files
        self._test = IMPORT
        self._traces = False

    def start(self) -> None:
        self._traces = True
        sys.settrace(self._trace)
        threading.settrace(self._trace)

    def stop(self) -> None:
        self._traces = False
        sys.settrace(None)
        threading.settrace(None)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None]:
        if self._traces:
            forget_cached_results()
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
        if not self._traces:
            yield
            return
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


_CACHES: list[Any] = []


def find_caches() -> None:
    """Finds every function with functools.cache. Call it before gc.freeze, which hides objects."""
    _CACHES[:] = [found for found in gc.get_objects() if isinstance(found, functools._lru_cache_wrapper)]  # noqa: SLF001 - the type has no public name


def forget_cached_results() -> None:
    """With a cached result, only the first of several tests would run the function."""
    for cache in _CACHES:
        if str(getattr(cache, "__module__", "")).startswith(("gitops_dsf", "dsf_")):
            cache.cache_clear()
