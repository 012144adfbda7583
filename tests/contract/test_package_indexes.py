"""A package whose docstring lists its modules lists each of them, and no others.

A reader who looks for a subject in such a list concludes from a missing name that nothing has it.
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = ("gitops_dsf", "packages", "agent", "tools", "demo", "benchmarks", "tests")
INDENTED = re.compile(r"^ {4}(.+)$", re.MULTILINE)
"""A row of an indented list."""
HEADING = re.compile(r"^ {4}(\w+)/? {2}", re.MULTILINE)
"""The name that a row of an indented list explains."""
TABLE_ROW = re.compile(r"^\|.*`(\w+)`.*\|$", re.MULTILINE)
"""A row of a table that names a module."""
MIN_ROWS = 2
"""A list has at least this many rows about modules. Prose may leave modules out."""


def modules_of(package: Path) -> set[str]:
    modules = {path.stem for path in package.glob("*.py")} - {"__init__", "__main__"}
    return modules | {path.parent.name for path in package.glob("*/__init__.py")}


def mistakes(docstring: str, modules: set[str]) -> list[str]:
    headings = HEADING.findall(docstring)
    rows = headings + TABLE_ROW.findall(docstring)
    count = sum(name in modules for name in rows)
    # A list of other things may have words that are names of modules, too.
    if count < MIN_ROWS or 2 * count < len(rows):
        return []
    # The text above a list may explain modules, too, and a row may name several.
    named = set(re.findall(r"`(\w+)`", docstring))
    for row in INDENTED.findall(docstring):
        named |= set(re.findall(r"\w+", row))
    removed = set(headings) - modules
    found = [f"lacks {name}" for name in sorted(modules - named)]
    return found + [f"has {name}, which is no module" for name in sorted(removed)]


def packages() -> list[str]:
    found: list[str] = []
    for folder in CODE:
        for path in (ROOT / folder).rglob("__init__.py"):
            found.append(path.parent.relative_to(ROOT).as_posix())
    return sorted(found)


@pytest.mark.parametrize("package", packages())
def test_a_list_of_modules_is_whole(package: str) -> None:
    text = (ROOT / package / "__init__.py").read_text("utf-8")
    docstring = ast.get_docstring(ast.parse(text)) or ""
    assert mistakes(docstring, modules_of(ROOT / package)) == []


def test_the_test_finds_a_missing_and_a_removed_module() -> None:
    docstring = "The hub.\n\n    api     requests\n    view    objects\n    lease   who leads\n"
    assert mistakes(docstring, {"api", "view", "lease"}) == []
    assert mistakes(docstring, {"api", "view", "lease", "clock"}) == ["lacks clock"]
    assert mistakes(f"{docstring}    clock   time\n", {"api", "view", "lease"}) == [
        "has clock, which is no module"
    ]
    table = "| subject | module |\n|---|---|\n| requests | `api` |\n| who leads | `lease` |\n"
    assert mistakes(table, {"api", "lease", "view"}) == ["lacks view"]
    assert mistakes("It calls `api` and `lease`.", {"api", "lease", "view"}) == []
    others = (
        "    api     bees\n    lease   rent\n    cars    fuel\n    house   door\n    boat    sea\n"
    )
    assert mistakes(others, {"api", "lease", "view"}) == []
