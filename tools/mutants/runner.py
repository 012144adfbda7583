"""A plugin of pytest that runs some of the collected tests, and ends with the first failure."""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

import pytest

from tools.mutants.process import limit_time

NOTICED: Final = 1
FACTOR: Final = 3
"""A mutant counts as noticed if a test takes this many times as long as while it was traced, ..."""
SECONDS: Final = 1.0
"""... and this long more."""


class Session:
    """Does `work` with the collected tests instead of running them."""

    def __init__(self, folder: Path, work: "Callable[[Session], None]") -> None:
        self.tests: dict[str, pytest.Item] = {}
        """The collected tests by ID."""
        self._folder = folder
        self._work = work
        self._failures: list[str] | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.tests = {item.nodeid: item for item in session.items}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            os._exit(NOTICED)  # a file of tests cannot be imported
        self._work(self)
        return True

    def run_until_failure(self, tests: Iterable[str], seconds: Callable[[str], float]) -> None:
        """Runs tests in this order, without those that were not collected. The first failure writes the name
        of the test into the folder and ends the process. No report is made, because that takes long.
        """
        self._failures = None
        for item, following in self._pairs(tests):
            limit_time(seconds(item.nodeid) * FACTOR + SECONDS)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)

    def run_all(self) -> list[str]:
        """Runs all tests. Returns those that fail."""
        self._failures = []
        for item, following in self._pairs(self.tests):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return self._failures

    def _pairs(self, tests: Iterable[str]) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
        """Tests and their followers. Temporary files of the tests go to the folder."""
        here = tempfile.mkdtemp(dir=self._folder)
        os.environ["PYTEST_DEBUG_TEMPROOT"] = tempfile.tempdir = here
        items = [item for test in tests if (item := self.tests.get(test)) is not None]
        return zip(items, [*items[1:], None], strict=True)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        expected = (pytest.skip.Exception, pytest.xfail.Exception)
        if call.excinfo is not None and not isinstance(call.excinfo.value, expected):
            self._failed(item.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed(report.nodeid)

    def _failed(self, test: str) -> None:
        if self._failures is None:
            (self._folder / "noticed").write_text(test, encoding="utf-8")
            os._exit(NOTICED)
        self._failures.append(test)
