"""docs/operate/problems.md lists the reasons of the program."""

import re
from pathlib import Path

from dsf_wire.scored import Reason, ScoredReason

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/operate/problems.md").read_text(encoding="utf-8")


def _table(title: str) -> list[list[str]]:
    section = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    return [
        [cell.strip().replace("`", "") for cell in re.split(r"(?<!\\)\|", row)[1:-1]]
        for row in rows
    ]


def test_reasons() -> None:
    rows = _table("Reasons of failures")
    assert {row[0] for row in rows} == {reason.value for reason in Reason}
    assert all(len(row) == 3 and all(row) for row in rows)


def test_reasons_of_missing_scores() -> None:
    """Each has something to do for whoever reads it on the hub."""
    rows = _table("Reasons of missing scores")
    expected = {reason.value for reason in ScoredReason if reason is not ScoredReason.OTHER}
    assert {row[0] for row in rows} == expected
    assert all(len(row) == 3 and all(row) for row in rows)
