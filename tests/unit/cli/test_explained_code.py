"""`explain`, which prints the entries of docs/reference/diagnostics.md without the page."""

import pytest

from gitops_dsf.cli.main import main
from gitops_dsf.cli.report import entries
from gitops_dsf.diagnostics.codes import CODES, RETIRED


def test_every_code_is_explained() -> None:
    found = entries()
    assert list(found) == list(CODES)
    for code, entry in found.items():
        assert entry.title == CODES[code].title
        assert "```" not in entry.text + entry.bad + entry.good
        assert entry.bad != entry.good or entry.bad == "", code


def test_one_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "dsf310"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(
        "DSF310 no eligible cluster (error)\n\nThe application would run nowhere."
    )
    assert "\nWith this finding:\n\n    # apps/web.yaml\n    spec:\n" in out
    assert "{env: staging}" in out.partition("Without it:")[0]
    assert "{env: prod}" in out.partition("Without it:")[2]


def test_codes_that_begin_so_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "DSF"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(CODES)
    assert "DSF310  error    no eligible cluster" in lines
    assert main(["explain", "dsf31"]) == 0
    some = capsys.readouterr().out.splitlines()
    assert some == [line for line in lines if line.startswith("DSF31")]


@pytest.mark.parametrize("word", ["DSF998", "DSF9999", *sorted(RETIRED)])
def test_an_unknown_code(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", word]) == 2
    said = f"{word} is no longer reported\n" if word in RETIRED else f"there is no code {word}; "
    assert said in capsys.readouterr().err
