"""The track record names tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/contributing/faults.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and "| mended in |" not in line
]


def test_the_page_has_rows() -> None:
    assert len(ROWS) > 25
    assert all(len(row) == 4 for row in ROWS), [row for row in ROWS if len(row) != 4]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:60])
def test_what_reproduces_a_fault_exists(row: list[str]) -> None:
    _, _, reproduced, mended = row
    assert re.fullmatch(r"`[0-9a-f]{8}`(, `[0-9a-f]{8}`)*", mended.rstrip("| ")), mended
    if found := re.search(r"`([^`]+\.py)`", reproduced):
        text = (ROOT / "tests" / found[1]).read_text()
        words = re.search(r'"([^"]+)"', reproduced)
        assert words is None or words[1].replace(" ", "_") in text
    else:
        assert re.search(r"`make world SEED=\d+ .*`|`python -m tests\.world .*`", reproduced), (
            reproduced
        )
