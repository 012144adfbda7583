"""How the mutation tester changes loaded modules, and which tests it runs first."""

import ast
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tools.mutants.__main__ import Mutant
from tools.mutants.mutations import mutations
from tools.mutants.order import Order
from tools.mutants.patch import Live, NotPatchableError
from tools.mutants.reach import IMPORT

SOURCE = """\
from functools import cache

LIMIT = 1
LABELS = {"a", "b"}
SUM = LIMIT + 1


@cache
def over(value: int) -> bool:
    return value > LIMIT


class Limit:
    most = 5

    def over(self, value: int) -> bool:
        def inner() -> bool:
            return value > self.most

        return inner()


def later(value: int = 7) -> int:
    return value
"""


@pytest.fixture
def loaded(tmp_path: Path) -> Iterator[ModuleType]:
    path = tmp_path / "mutated.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("mutated", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutated"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["mutated"]


def mutate(module: ModuleType, wanted: str) -> None:
    file = str(module.__file__)
    tree = ast.parse(SOURCE, filename=file)
    [found] = [mutation for mutation in mutations(tree) if str(mutation) == wanted]
    Live(frozenset({file})).apply(found, tree, file)


def test_a_decorated_function_gets_the_changed_code(loaded: ModuleType) -> None:
    before = loaded.over
    assert not before(1)
    mutate(loaded, "line 10: value > LIMIT -> value >= LIMIT")
    loaded.over.cache_clear()
    assert before(1)


def test_a_method_gets_the_changed_code_also_of_the_functions_in_it(loaded: ModuleType) -> None:
    limit = loaded.Limit()
    assert not limit.over(5)
    mutate(loaded, "line 18: value > self.most -> value >= self.most")
    assert limit.over(5)


def test_a_constant_gets_the_changed_value_also_where_it_was_imported(
    loaded: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = ModuleType("other")
    vars(other)["LABELS"] = loaded.LABELS
    monkeypatch.setitem(sys.modules, "other", other)
    mutate(loaded, "line 4: {'a', 'b'} -> {'b'}")
    assert loaded.LABELS == vars(other)["LABELS"] == {"b"}


@pytest.mark.parametrize("wanted", ["line 14: 5 -> 6", "line 23: 7 -> 8"])
def test_what_takes_effect_on_import_only_must_be_imported(loaded: ModuleType, wanted: str) -> None:
    with pytest.raises(NotPatchableError):
        mutate(loaded, wanted)


REACH = {
    ("m.py", 1): {IMPORT},
    ("m.py", 5): {"t.py::fast", "t.py::slow"},
    ("m.py", 6): {"u.py", IMPORT},
}
SECONDS = {"t.py::fast": 0.1, "t.py::slow": 2.0, "u.py::one": 0.5, "u.py::two": 0.4}


def test_the_tests_of_a_line() -> None:
    order = Order(REACH, SECONDS)
    assert order.reached("m.py", [1]) == (set(), True)
    assert order.reached("m.py", [5]) == ({"t.py::fast", "t.py::slow"}, False)
    assert order.reached("m.py", [6]) == ({"u.py::one", "u.py::two"}, True), "a fixture runs it"


def test_what_runs_on_import_may_be_noticed_by_every_test() -> None:
    """A table that a function fills on import is read by tests that run no line of its module."""
    seconds = {**SECONDS, "v.py::reads_the_table": 0.1}
    order = Order({**REACH, ("n.py", 1): {"t.py::fast"}}, seconds)
    assert order.others("m.py", [1], used_elsewhere=False) == set(seconds)
    assert order.others("m.py", [5], used_elsewhere=False) == set(SECONDS)
    assert order.others("m.py", [5], used_elsewhere=True) == set(seconds)
    assert order.others("n.py", [2], used_elsewhere=False) == {"t.py::fast"}
    assert order.others("o.py", [1], used_elsewhere=False) == set(seconds), "no test runs the file"


def test_a_test_whose_parameters_changed_is_new() -> None:
    order = Order(REACH, SECONDS)
    assert order.new(["t.py::fast", "t.py::fast[2]"]) == ["t.py::fast[2]"]
    assert order.seconds("t.py::fast[2]") == 2.0
    assert order.seconds("w.py::one") == 0.0


@pytest.mark.parametrize(
    ("wanted", "lines"),
    [
        ("line 3: 1 -> 2", {5, 10}),
        ("line 10: value > LIMIT -> value >= LIMIT", {10}),
        ("line 14: 5 -> 6", set()),
    ],
)
def test_the_lines_that_behave_differently(wanted: str, lines: set[int]) -> None:
    """The assignment of a constant is not among them: it always runs on import."""
    tree = ast.parse(SOURCE)
    [found] = [mutation for mutation in mutations(tree) if str(mutation) == wanted]
    assert Mutant(path=Path("m.py"), tree=tree, mutation=found).lines == lines


def test_tests_of_a_branch_come_before_tests_that_reach_only_its_condition() -> None:
    tests = {f"t.py::{number}": 0.01 for number in range(100)}
    reach = {("m.py", 1): set(tests), ("m.py", 2): {"t.py::70"}}
    order = Order(reach, tests)
    assert order.ordered(tests, "m.py", "f", [1, 2])[0] == "t.py::70"


def test_fast_tests_and_tests_that_noticed_neighbours_come_first() -> None:
    order = Order(REACH, SECONDS)
    assert order.ordered(SECONDS, "m.py", "f") == ["t.py::fast", "u.py::two", "u.py::one", "t.py::slow"]
    order.noticed("u.py::one", "m.py", "f")
    assert order.ordered(SECONDS, "m.py", "f")[0] == "u.py::one"
    assert order.ordered(SECONDS, "m.py", "g")[0] == "t.py::fast"
