"""The first line of the docstring of each test module stands alone.

Ruff asks that of the product's docstrings (D205). In tests it would ask it of functions, too.
"""

import ast
from pathlib import Path

TESTS = Path(__file__).parents[1]


def stands_alone(source: str) -> bool:
    lines = (ast.get_docstring(ast.parse(source)) or "").split("\n")
    return len(lines) < 2 or not lines[1]


def test_the_first_line_of_each_module_stands_alone() -> None:
    wrapped: list[str] = []
    for path in sorted(TESTS.rglob("*.py")):
        if not stands_alone(path.read_text("utf-8")):
            wrapped.append(path.relative_to(TESTS).as_posix())
    assert wrapped == []


def test_the_test_finds_a_first_line_that_wraps() -> None:
    assert stands_alone('"""One line."""\n')
    assert stands_alone('"""One line.\n\nAnd more.\n"""\n')
    assert stands_alone("x = 1\n")
    assert not stands_alone('"""A line that goes\non.\n"""\n')
