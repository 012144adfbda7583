"""docs/diagnostics.md: every code has an entry; every bad example gives its code at the marked place, every
good one does not.

Aspects covered: completeness and order of the entries, titles, the base repository, bad and good examples.
"""

from pathlib import Path

import pytest

from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.diagnostics.codes import CODES
from gitops_dsf.pipeline import check
from tests.support.diagnostics_docs import ENTRIES, Entry, write

WITH_YAML = [entry for entry in ENTRIES if entry.example("bad") is not None]


def matches(mark: tuple[str, int, int], found: Diagnostic) -> bool:
    """`#<` stands for the first two columns, where a comment has no room for a caret."""
    file, line, column = mark
    place = found.position
    where = place.file == file or file.startswith(f"{place.file}/")
    return where and place.line == line and (place.column == column if column else place.column <= 2)


def test_every_code_has_an_entry_in_order() -> None:
    assert [entry.code for entry in ENTRIES] == list(CODES)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.code)
def test_an_entry_has_the_title_of_its_code_and_both_examples(entry: Entry) -> None:
    assert entry.title == CODES[entry.code].title
    assert [which for _, which, _ in entry.blocks] == ["bad", "good"]


def test_the_base_repository_has_no_findings(tmp_path: Path) -> None:
    write(tmp_path, "")
    checked = check(tmp_path)
    assert checked.diagnostics == ()
    assert checked.resolved is not None


@pytest.mark.parametrize("entry", WITH_YAML, ids=lambda entry: entry.code)
def test_a_bad_example_gives_its_code_at_the_mark(entry: Entry, tmp_path: Path) -> None:
    example = entry.example("bad")
    assert example is not None
    marks = write(tmp_path, example)
    found = check(tmp_path).diagnostics
    assert len(marks) == 1, "one mark per bad example"
    ours = [item for item in found if item.code == entry.code]
    assert any(matches(marks[0], item) for item in ours), (
        f"marked {marks[0]}, found {[(str(i.position), i.code, i.message) for i in found]}"
    )


@pytest.mark.parametrize("entry", WITH_YAML, ids=lambda entry: entry.code)
def test_a_good_example_has_no_findings(entry: Entry, tmp_path: Path) -> None:
    example = entry.example("good")
    assert example is not None
    write(tmp_path, example)
    assert [(item.code, str(item.position), item.message) for item in check(tmp_path).diagnostics] == []
