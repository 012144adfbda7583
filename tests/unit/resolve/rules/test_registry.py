"""The registry of rules: every function that judges a Context is in it, and runs when it may."""

from collections.abc import Iterator
from importlib import import_module
from inspect import isfunction, signature
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Final, NoReturn

import pytest

from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.repository.load import Document
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.repository.sources import load
from gitops_dsf.resolve import findings, rules
from gitops_dsf.resolve.context import Context, context_of
from gitops_dsf.resolve.rules import RULES
from gitops_dsf.resolve.rules.registry import CLUSTERS, SETTINGS, Rule, rule, rules_of

EXAMPLE: Final = Path(__file__).parents[4] / "examples" / "fleet"
MODULES = [
    import_module(f"{rules.__name__}.{module.name}")
    for module in iter_modules(rules.__path__)
    if module.name != "registry"
]


def test_tests_of_rules_are_called_like_the_module_of_the_rules() -> None:
    """And no module beside this folder, which has the tests of what rules are judged by, is."""
    folder = Path(__file__).parent
    tested = {path.stem.removeprefix("test_") for path in folder.glob("test_*.py")}
    assert tested <= {module.name for module in iter_modules(rules.__path__)}
    beside = {path.stem.removeprefix("test_") for path in folder.parent.glob("test_*.py")}
    assert tested.isdisjoint(beside)


def unregistered(module: ModuleType) -> list[str]:
    """Functions of a module that take the context alone and give findings, and are not rules."""
    return [
        name
        for name, value in vars(module).items()
        if isfunction(value)
        and value.__module__ == module.__name__
        and list(signature(value).parameters) == ["context"]
        and "Diagnostic" in str(signature(value).return_annotation)
    ]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_module_is_listed_and_every_judging_function_of_it_is_registered(
    module: ModuleType,
) -> None:
    assert unregistered(module) == []
    own = rules_of([module])
    assert own
    assert {*own} <= {*RULES}


def test_a_function_without_the_decorator_is_noticed_whatever_it_returns() -> None:
    module = ModuleType("sample")
    source = """
from collections.abc import Iterable, Iterator
from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.resolve.context import Context

def yields(context: Context) -> Iterator[Diagnostic]: ...
def iterates(context: Context) -> Iterable[Diagnostic]: ...
def lists(context: "Context") -> "list[Diagnostic]": ...
def computes(context: Context) -> Iterator[str]: ...
def helps(context: Context, name: str) -> Iterator[Diagnostic]: ...
"""
    exec(compile(source, "sample.py", "exec"), vars(module))  # noqa: S102 - a module of a test
    assert unregistered(module) == ["yields", "iterates", "lists"]


def test_a_rule_is_called_like_its_function_and_knows_what_it_needs() -> None:
    @rule(needs=("ManagedCluster", SETTINGS, CLUSTERS))
    def nothing_is_wrong(context: Context) -> Iterator[Diagnostic]:
        assert context is sample
        yield from ()

    sample = object()
    assert isinstance(nothing_is_wrong, Rule)
    assert nothing_is_wrong.name == "nothing_is_wrong"
    assert nothing_is_wrong.needs == ("ManagedCluster", "settings", "clusters")
    assert list(nothing_is_wrong(sample)) == []  # type: ignore[arg-type]


def test_a_kind_that_does_not_exist_cannot_be_needed() -> None:
    with pytest.raises(ValueError, match="there is no kind ManagedClusters"):
        rule(needs=("ManagedClusters",))


def test_rules_that_find_nothing_look_for_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """To know one, a document is read a second time, which doubles the time for a large fleet."""
    context = context_of(declare(load(EXAMPLE)))

    def read_again(document: Document) -> NoReturn:
        raise AssertionError(document.name)

    monkeypatch.setattr(Document, "root", property(read_again))
    assert findings(context) == []
