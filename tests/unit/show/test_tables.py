"""Tables and findings in a terminal.

Long texts continue below their column; a pipe gets whole lines.
"""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from unittest import mock

import pytest

from gitops_dsf.show.tables import table, wrapped

ROWS = [["edge-1", "taint maintenance=true:NoSelect is not tolerated"], ["eu-north-1", "short"]]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@contextmanager
def terminal(columns: int) -> Iterator[None]:
    with redirect_stdout(Terminal()), mock.patch.dict(os.environ, {"COLUMNS": str(columns)}):
        yield


def test_a_long_cell_continues_below_its_column() -> None:
    with terminal(40):
        text = table(["out", "because"], ROWS)
    assert text == (
        "  out         because\n"
        "  edge-1      taint\n"
        "              maintenance=true:NoSelect\n"
        "              is not tolerated\n"
        "  eu-north-1  short\n"
    )
    assert max(map(len, text.splitlines())) <= 40


def test_a_wide_terminal_and_a_pipe_get_whole_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(100):
        whole = table(["out", "because"], ROWS)
    monkeypatch.delenv("COLUMNS", raising=False)
    with redirect_stdout(io.StringIO()):
        assert table(["out", "because"], ROWS) == whole
    assert len(whole.splitlines()) == 3


def test_a_pipe_follows_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as `COLUMNS=40 gitops-dsf simulate | less`, as git and ls do."""
    with terminal(40):
        narrow = table(["out", "because"], ROWS)
    monkeypatch.setenv("COLUMNS", "40")
    with redirect_stdout(io.StringIO()):
        assert table(["out", "because"], ROWS) == narrow


@pytest.mark.parametrize("columns", ["", "0", "-1", "wide", "8²"])
def test_columns_that_are_no_width_are_ignored(
    columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    with redirect_stdout(io.StringIO()):
        assert len(table(["out", "because"], ROWS).splitlines()) == 3


def test_words_are_not_broken_and_a_very_narrow_terminal_gets_whole_lines() -> None:
    name = "a-name-that-is-longer-than-the-terminal-is-wide"
    with terminal(40):
        assert wrapped(f"see {name} now", indent=10) == f"see\n{'':10}{name}\n{'':10}now"
    with terminal(20):
        assert wrapped("one two three", indent=10) == "one two three"


def test_numbers_stay_on_the_right() -> None:
    with terminal(40):
        text = table(["cluster", "score", "note"], [["eu", "5", "word " * 10]], right={1})
    assert text.splitlines()[1].startswith("  eu           5  word")
