"""docs/reference/diagnostics.md: every code has an entry; the base repository and the good examples have no
findings.

test_places runs the bad examples.
"""

from pathlib import Path

import pytest

from gitops_dsf.diagnostics.codes import CODES
from gitops_dsf.pipeline import check
from tests.support.diagnostics_docs import ENTRIES, Entry, write

WITH_YAML = [entry for entry in ENTRIES if entry.example("bad") is not None]


def test_every_code_has_an_entry_in_order() -> None:
    assert [entry.code for entry in ENTRIES] == list(CODES)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.code)
def test_an_entry_has_the_title_of_its_code_and_at_most_one_example(entry: Entry) -> None:
    assert entry.title == CODES[entry.code].title
    assert [kind for kind, _ in entry.blocks] in (["diff"], [])


def test_the_base_repository_has_no_findings(tmp_path: Path) -> None:
    write(tmp_path, "")
    checked = check(tmp_path)
    assert checked.diagnostics == ()
    assert checked.resolved is not None


@pytest.mark.parametrize("entry", WITH_YAML, ids=lambda entry: entry.code)
def test_a_good_example_has_no_findings(entry: Entry, tmp_path: Path) -> None:
    example = entry.example("good")
    assert example is not None
    write(tmp_path, example)
    assert [(item.code, str(item.position), item.message) for item in check(tmp_path).diagnostics] == []
