"""The public Python API (docs/reference/outputs.md).

What it exports, with every signature, is the recorded text beside this file.

A difference is a decision: `make golden` records it, and the changelog tells users. What is
promised of a class is all that is public in it, unless PARTLY names less.
"""

import ast
import importlib
import inspect
import re
import runpy
import textwrap
from collections.abc import Collection, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support.pages import Block, blocks

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference/outputs.md"
RECORD = Path(__file__).with_name("python_api.txt")
MODULES = ("dsf_scorer", "dsf_scorer.testing", "gitops_dsf.simulator")
PARTLY: dict[str, Collection[str]] = {
    "ScorerApp": ("__call__",),
    "HubState": ("build", "placement"),
    "Verdict": re.findall(
        r"\w+",
        "after candidates chosen cluster_sets current decisions drop_of dropped evicted "
        "evicts_everything filters groups next_expiry misconfigured notes now outcome"
        " panic placement "
        "prioritizer_scores ranked requeue_at satisfied scores status sync_error data"
        " unscheduled "
        "unsupported",
    ),
}
"""Objects that the library makes: people read these names of them, and construct none."""


def described(module: ModuleType) -> Iterator[str]:
    for name in sorted(module.__all__):
        found = getattr(module, name)
        where = f"{module.__name__}.{name}"
        if inspect.isclass(found):
            yield f"class {where}({', '.join(base.__name__ for base in found.__bases__)})"
            yield from sorted(f"    {line}" for line in members(found, PARTLY.get(name)))
        elif inspect.isfunction(found):
            yield f"{where}{signature(found)}"
        elif callable(found):
            yield f"{where}{signature(type(found).__call__)}"
        else:
            yield f"{where}: {type(found).__name__}"


def members(found: type, promised: Collection[str] | None) -> Iterator[str]:
    """Public fields, properties and methods of a class, as its source declares them."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(found))).body
    assert isinstance(node, ast.ClassDef)
    for item in node.body:
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            name, default = item.target.id, " = ..." if item.value else ""
            text = f"{name}: {ast.unparse(item.annotation)}{default}"
        elif isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name):
            name, text = item.targets[0].id, ast.unparse(item)
        elif isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
            kinds = {ast.unparse(decorator).rpartition(".")[2] for decorator in item.decorator_list}
            prefix = "property " if kinds & {"property", "cached_property"} else ""
            prefix = "classmethod " if "classmethod" in kinds else prefix
            name, text = (
                item.name,
                f"{prefix}{item.name}({ast.unparse(item.args)}) -> {returned(item)}",
            )
        else:
            continue
        public = not name.startswith("_") or (name == "__init__" and promised is None)
        if name in promised if promised is not None else public:
            yield text


def signature(function: Any) -> str:
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    prefix = " async" if isinstance(node, ast.AsyncFunctionDef) else ""
    return f"({ast.unparse(node.args)}) ->{prefix} {returned(node)}"


def returned(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return ast.unparse(node.returns) if node.returns else "None"


def test_the_public_api_is_the_recorded_one(update_golden: bool) -> None:
    now = (
        "\n".join(line for module in MODULES for line in described(importlib.import_module(module)))
        + "\n"
    )
    if update_golden:
        RECORD.write_text(now, "utf-8")
    assert RECORD.read_text("utf-8") == now, (
        "a change of the public API: `make golden` records it; tell users in CHANGELOG.md"
    )


@pytest.mark.parametrize("name", PARTLY)
def test_what_is_promised_of_a_class_is_there(name: str) -> None:
    (found,) = (
        getattr(module, name)
        for module in map(importlib.import_module, MODULES)
        if name in module.__all__
    )
    declared = {
        re.split(r"[ (:]", line.removeprefix("property ").removeprefix("classmethod "))[0]
        for line in members(found, PARTLY[name])
    }
    assert declared == set(PARTLY[name])


@pytest.mark.parametrize("module", MODULES)
def test_the_page_names_everything_that_is_exported(module: str) -> None:
    text = PAGE.read_text("utf-8")
    part = text.partition(f"\n### `{module}`\n")[2].partition("\n### ")[0]
    exported = set(importlib.import_module(module).__all__) - {"__version__"}
    assert {name for name in re.findall(r"`(\w+)`", part) if name in exported} == exported


@pytest.mark.parametrize("example", blocks(PAGE, "python"), ids=["testing", "simulator"])
def test_the_examples_of_the_page_run(example: Block, tmp_path: Path) -> None:
    file = tmp_path / "example.py"
    file.write_text(example.text, "utf-8")
    runpy.run_path(str(file))
