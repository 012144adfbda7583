"""docs/decisions: every record has a number, a state, a date and the three parts, and the index lists it."""

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "decisions"
RECORDS = sorted(FOLDER.glob("[0-9]*.md"))
STATE = re.compile(r"(Accepted|Replaced by \[\d{4}\]\(\d{4}-[a-z0-9-]+\.md\)), \d{4}-\d{2}-\d{2}")


@pytest.mark.parametrize("record", RECORDS, ids=lambda path: path.stem)
def test_a_record_is_short_dated_and_has_three_parts(record: Path) -> None:
    text = record.read_text("utf-8")
    lines = text.splitlines()
    assert lines[0].startswith(f"# {record.name[:4]}: ")
    assert STATE.fullmatch(lines[2]), lines[2]
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences"]
    assert len(lines) <= 40


def test_numbers_are_given_once_and_without_gaps() -> None:
    assert [int(record.name[:4]) for record in RECORDS] == list(range(1, len(RECORDS) + 1))


def test_the_index_lists_every_record_with_its_title_and_date() -> None:
    rows = re.findall(
        r"^\| \[(\d{4})\]\(([^)]+)\) \| (.+) \| (\S+) \|$",
        (FOLDER / "README.md").read_text("utf-8"),
        re.MULTILINE,
    )
    expected = [
        (record.name[:4], record.name, text[0].partition(": ")[2], text[2].rpartition(", ")[2])
        for record in RECORDS
        for text in [record.read_text("utf-8").splitlines()]
    ]
    assert rows == expected
