"""The small changes that the mutation tester makes, and the files that it looks for."""

import ast
from pathlib import Path

import pytest

from tools.mutants.mutations import mutations
from tools.mutants.targets import TARGETS, Target

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("source", "changed"),
    [
        ("x = a < b", {"x = a <= b"}),
        ("x = a in b", {"x = a not in b"}),
        ("x = a and b", {"x = a or b", "x = a", "x = b"}),
        ("x = not a", {"x = a"}),
        ("x = {'a', 'b'}", {"x = {'a'}", "x = {'b'}"}),
        ("x = {1: 'a'}", {"x = {}", "x = {2: 'a'}"}),
        ("x = min(a, 1)", {"x = max(a, 1)", "x = min(a, 2)"}),
        ("x = a if b else c", {"x = a", "x = c"}),
        ("x = [a for a in b if c]", {"x = [a for a in b]"}),
        ("x = True", {"x = False"}),
        ("x += a", {"x -= a"}),
        ("self.x = a", {"pass"}),
        ("del a[b]", {"pass"}),
        ("await a()", {"pass"}),
        ("x = 'a' + b", set()),
        ("log.info('a', b)", set()),
        ("x: Final[tuple[1, 2]] = a", set()),
        ("@rule(1)\ndef f(): pass", set()),
        ("@dataclass(frozen=True)\nclass A(B, gc=False):\n    x: int", set()),
        ("'''A docstring.'''", set()),
        ("raise E(f'{a + 1}')", {"pass"}),
        ("if a:\n    pass", {"if True:\n    pass", "if False:\n    pass"}),
        ("def f():\n    return a", {"def f():\n    return None"}),
    ],
)
def test_the_changes_of_a_construct(source: str, changed: set[str]) -> None:
    found = set()
    for index in range(len(mutations(ast.parse(source)))):
        tree = ast.parse(source)
        mutations(tree)[index].apply()
        compile(tree, "mutated", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        found.add(ast.unparse(tree))
    assert found == changed


def test_a_change_tells_its_line_and_leaves_the_tree_until_it_is_applied() -> None:
    tree = ast.parse("a = 1\nb = c < 2")
    found = mutations(tree)
    assert [str(one) for one in found] == ["line 1: 1 -> 2", "line 2: c < 2 -> c <= 2", "line 2: 2 -> 3"]
    assert ast.unparse(tree) == "a = 1\nb = c < 2"


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_every_pattern_of_a_target_finds_files(target: Target) -> None:
    """A module that moves takes its line in the table along."""
    for pattern in (*target.sources, *target.tests):
        assert list(ROOT.glob(pattern)), pattern
