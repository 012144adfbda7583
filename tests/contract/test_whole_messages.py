"""Every message is one literal where it is raised, so that people find what they paste.

A local that holds part of a sentence and is put into another text makes a message in pieces.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PRODUCT = ("gitops_dsf", "packages", "agent/dsf_agent")
STILL_IN_PIECES = frozenset(
    {
        "gitops_dsf/reconciler/journal/flapping.py",
        "agent/dsf_agent/process/check.py",
        "agent/dsf_agent/publish/hub.py",
    }
)
"""Files with messages in pieces. Remove a file when you clean it; add none."""


def is_sentence(value: ast.expr) -> bool:
    """Whether a text has words of ours; a path or a name that is put together has none."""
    parts = value.values if isinstance(value, ast.JoinedStr) else [value]
    words = [part.value for part in parts if isinstance(part, ast.Constant)]
    return any(isinstance(word, str) and " " in word.strip() for word in words)


def pieces(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    texts = set[str]()
    for statement in statements(function):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_sentence(value):
                texts.add(name)
    if not texts:  # Most functions need no look at their expressions.
        return texts
    used = set[str]()
    for node in ast.walk(function):
        if isinstance(node, ast.JoinedStr):
            used |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return texts & used


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """A statement and those inside of it. No expression has one."""
    yield node
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        inside = getattr(node, part, ())
        for each in inside if isinstance(inside, list) else ():
            yield from statements(each)


def in_pieces(path: Path) -> Iterator[str]:
    for node in statements(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for name in sorted(pieces(node)):
            yield f"{path.relative_to(ROOT)}: {name} in {node.name}"


def test_messages_are_whole() -> None:
    found = []
    for folder in PRODUCT:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.relative_to(ROOT).as_posix() not in STILL_IN_PIECES:
                found += in_pieces(path)
    assert found == [], "write each message as one literal"


def test_the_test_finds_a_message_in_pieces() -> None:
    (split,) = ast.parse('def f(x): what = f"{x} is wrong"; return f"{what}: write y"').body
    assert isinstance(split, ast.FunctionDef)
    assert pieces(split) == {"what"}
    (whole,) = ast.parse('def f(x): return f"{x} is wrong: write y"').body
    assert isinstance(whole, ast.FunctionDef)
    assert pieces(whole) == set()
