"""docs/decisions/scheduler.md: every hazard names a rule that exists and a test that exists, and every
hazard test is in the table.
"""

import ast
import re
from pathlib import Path

from gitops_dsf.diagnostics.codes import CODES

ROOT = Path(__file__).parents[2]
SUITE = ROOT / "tests" / "hub"
ROWS = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in (ROOT / "docs/decisions/scheduler.md")
    .read_text(encoding="utf-8")
    .partition("\n## Hazards\n")[2]
    .splitlines()
    if line.startswith("| ") and not line.startswith("| hazard |")
]
TEST = re.compile(r"`(test_\w+\.py)::(test_\w+)`")
WITHOUT_CODE = ("renderer", "agent", "none: ")


def hub_tests(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {
        f"{file.name}::{item.name}"
        for item in tree.body
        if isinstance(item, ast.FunctionDef) and item.name.startswith("test_")
    }


def test_every_row_has_four_cells_and_none_is_empty() -> None:
    assert len(ROWS) > 30
    for row in ROWS:
        assert len(row) == 4, row
        assert all(row), row


def test_every_rule_exists_or_says_who_prevents_it() -> None:
    for _, _, rule, _ in ROWS:
        if rule.startswith(WITHOUT_CODE):
            continue
        unknown = [code for code in rule.split(", ") if code not in CODES]
        assert not unknown, f"{rule}: no code {unknown}"


def test_every_named_test_exists() -> None:
    existing = set[str]().union(*(hub_tests(file) for file in SUITE.glob("test_*.py")))
    for *_, test in ROWS:
        found = TEST.fullmatch(test)
        assert found is not None, test
        assert f"{found[1]}::{found[2]}" in existing, test


def test_every_hazard_test_is_in_the_table() -> None:
    files = list(SUITE.glob("test_hazards*.py"))
    assert len(files) >= 3
    named = {f"{found[1]}::{found[2]}" for *_, test in ROWS for found in TEST.finditer(test)}
    assert set[str]().union(*(hub_tests(file) for file in files)) - named == set()
