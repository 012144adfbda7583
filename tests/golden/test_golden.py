"""Whole repositories and every byte that they render to. `make golden` writes what the generator says now;
review the diff.
"""

import difflib
import shutil
from pathlib import Path

import pytest

from gitops_dsf.pipeline import produce

HERE = Path(__file__).parent
CASES = sorted(path.parent.name for path in HERE.glob("*/repo"))
FINDINGS = {"everything": ["DSF318"], "template": ["DSF191", "DSF175"]}
"""A stickiness of 0, and no registry."""


@pytest.mark.parametrize("case", CASES)
def test_a_repository_renders_to_its_golden_tree(case: str, update_golden: bool) -> None:
    result = produce(HERE / case / "repo")
    assert [item.code for item in result.diagnostics] == FINDINGS.get(case, [])
    assert result.tree is not None
    expected = HERE / case / "expected"
    actual = {path: result.tree.read(path).decode() for path in result.tree.files}
    if update_golden:
        shutil.rmtree(expected, ignore_errors=True)
        for path, text in actual.items():
            (expected / path).parent.mkdir(parents=True, exist_ok=True)
            (expected / path).write_text(text, encoding="utf-8")
    golden = {
        path.relative_to(expected).as_posix(): path.read_text(encoding="utf-8")
        for path in expected.rglob("*")
        if path.is_file()
    }
    assert _difference(golden, actual) == "", "the rendered tree changed: review it, then run `make golden`"


def _difference(golden: dict[str, str], actual: dict[str, str]) -> str:
    lines: list[str] = []
    for path in sorted(golden.keys() | actual.keys()):
        before, after = golden.get(path, ""), actual.get(path, "")
        if before != after:
            lines += difflib.unified_diff(
                before.splitlines(), after.splitlines(), f"golden/{path}", f"rendered/{path}", lineterm=""
            )
    return "\n".join(lines)
