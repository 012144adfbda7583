"""Help follows the width of the terminal, and COLUMNS."""

from collections.abc import Callable

import pytest

from dsf_agent.configuration.settings import parser
from dsf_scorer.command import main as dsf_scorer
from gitops_dsf.cli.helptext import filled
from gitops_dsf.cli.main import VERBS, main

CHILDREN = [
    *(["ci", job] for job in ("check", "publish")),
    *(["scorer", a] for a in ("run", "check", "new")),
]
PAGES = [[], *([name] for name in VERBS), *CHILDREN]


def dsf_agent(words: list[str]) -> object:
    return parser().parse_args(words)


def page(
    words: list[str],
    columns: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> str:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main([*words, "--help"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_help_fits_80_columns(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = page(words, 80, monkeypatch, capsys).splitlines()
    assert [line for line in lines if len(line) > 80] == []


@pytest.mark.parametrize("program", [dsf_scorer, dsf_agent])
def test_help_of_the_other_programs_fits_80_columns(
    program: Callable[[list[str]], object],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for words in ([], ["run"], ["check"]):
        with pytest.raises(SystemExit):
            program([*words, "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 60
    assert [line for line in lines if len(line) > 80] == []


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_no_word_is_lost_or_divided(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A long command goes on after a backslash, as a shell reads it."""

    def told(columns: int) -> list[str]:
        return page(words, columns, monkeypatch, capsys).replace("\\\n", "").split()

    wide = told(400)
    assert sorted(told(60)) == sorted(wide)


def test_wide_terminals_get_longer_lines_up_to_a_limit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    longest = {
        columns: max(map(len, page(["diff"], columns, monkeypatch, capsys).splitlines()))
        for columns in (100, 300)
    }
    assert 80 < longest[100] <= 100 < longest[300] <= 110


TEXT = """\
A paragraph that is
written in two lines.

examples:
  gitops-dsf diff --base main                what changes
  gitops-dsf diff --base main -o json        the same for programs
"""


def lines(width: int, text: str = TEXT) -> list[str]:
    return list(filled(text, width=width))


def test_examples_keep_their_columns_where_they_fit() -> None:
    assert lines(80) == [
        "A paragraph that is written in two lines.",
        "",
        "examples:",
        "  gitops-dsf diff --base main          what changes",
        "  gitops-dsf diff --base main -o json  the same for programs",
        "",
    ]


def test_explanations_go_below_where_they_do_not_fit() -> None:
    assert lines(40)[4:] == [
        "  gitops-dsf diff --base main",
        "      what changes",
        "  gitops-dsf diff --base main -o json",
        "      the same for programs",
        "",
    ]


def test_a_long_command_can_be_copied() -> None:
    """An option and its value stay together, and what is in quotes."""
    command = "  gitops-dsf import --from - --label 'a b c/*' --dry-run"
    assert lines(30, command) == [
        "  gitops-dsf import --from - \\",
        "      --label 'a b c/*' \\",
        "      --dry-run",
    ]
