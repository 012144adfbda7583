"""One backtest as each option prints it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from gitops_dsf.fleetbacktest.result import RevisionResult, document
from gitops_dsf.show.backtest.markdown import markdown
from gitops_dsf.show.backtest.page import page
from gitops_dsf.show.backtest.text import backtest_text
from gitops_dsf.show.jsontext import json_text
from tests.support.commandline import gitops_dsf
from tests.support.outputs import check_output


class Formats:
    """What a backtest of one run says in each format.

    That -o chooses the format is tested in test_orders.py.
    """

    def __init__(self, text: str, results: Sequence[RevisionResult], notes: Sequence[str]) -> None:
        self.text = text
        self._results = results
        self._notes = notes

    @property
    def data(self) -> Any:
        """-o json"""
        output = json_text(document(self._results, notes=self._notes))
        check_output(("backtest", "-o", "json"), output)
        return json.loads(output)

    @property
    def head(self) -> Any:
        return self.data["head"]

    @property
    def comment(self) -> str:
        """-o markdown"""
        return markdown(self._results, notes=self._notes)

    @property
    def page(self) -> str:
        """-o html"""
        return page(self._results, notes=self._notes)


def formats(fleet: Path, *words: str | Path) -> Formats:
    """Runs a backtest, which must end well."""
    with mock.patch("gitops_dsf.cli.backtest.backtest_text", wraps=backtest_text) as shown:
        done = gitops_dsf("backtest", fleet, *words)
    assert done.returncode == 0, done.stderr
    [call] = shown.call_args_list
    return Formats(done.stdout, *call.args, **call.kwargs)
