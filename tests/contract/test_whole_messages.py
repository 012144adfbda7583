"""Every message is one literal where it is raised, so that people find what they paste.

Three things make a message in pieces: a local that holds a sentence and is put into another text, a
sentence that is added to a text, and a part of a sentence that is there on a condition. Whole
clauses in a list, which are joined, are not pieces. Nor is a word that fills a place of a sentence.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = ("gitops_dsf", "packages", "agent/dsf_agent", "tools", "demo")
JOINT = re.compile(r"^[,;:.] |[,;:] $")
"""What begins or ends a part of a sentence."""
MARKUP = re.compile(r'^<|="|\n')
"""In lines and tags of a document, which are no sentences."""


def words_in(value: ast.expr) -> list[str]:
    """The words of ours in a text, also in those of a condition."""
    match value:
        case ast.Constant(value=str(word)):
            return [word]
        case ast.JoinedStr(values=parts):
            return [
                word for part in parts if isinstance(part, ast.Constant) for word in words_in(part)
            ]
        case ast.IfExp(body=body, orelse=orelse):
            return [*words_in(body), *words_in(orelse)]
    return []


def is_sentence(value: ast.expr) -> bool:
    """Whether a text has words of ours; a path or a name that is put together has none."""
    words = words_in(value)
    return any(" " in word.strip() for word in words) and not any(map(MARKUP.search, words))


def is_part(value: ast.expr) -> bool:
    """Whether a text is meant to follow or to precede another one."""
    words = words_in(value)
    joint = any(map(JOINT.search, words[:1] + words[-1:]))
    return (joint or is_sentence(value)) and not any(map(MARKUP.search, words))


def is_optional(value: ast.expr) -> bool:
    """Whether a text is a part of a sentence on a condition, and else empty."""
    match value:
        case ast.IfExp(body=body, orelse=ast.Constant(value="")):
            return is_part(body)
        case ast.IfExp(body=ast.Constant(value=""), orelse=orelse):
            return is_part(orelse)
    return False


def pieces(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The names of locals in pieces, and the operators and conditions that make pieces."""
    texts = set[str]()
    found = set[str]()
    for statement in statements(function):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.IfExp() as value):
                texts |= {name} if is_optional(value) else set()
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_sentence(value):
                texts.add(name)
            case ast.AugAssign(target=ast.Name(id=name), value=value) if is_part(value):
                found.add(f"{name} +=")
    for node in ast.walk(function):
        match node:
            case ast.JoinedStr(values=values):
                inserted = [part.value for part in values if isinstance(part, ast.FormattedValue)]
            # The arguments of a format, as a logger takes them.
            case ast.Call(args=[ast.Constant(value=str(text)), *inserted]) if (
                "%" in text and text != "%s"
            ):
                pass
            case _:
                continue
        for value in inserted:
            found |= texts & {part.id for part in ast.walk(value) if isinstance(part, ast.Name)}
            if is_optional(value):
                found.add("if")
    return found


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
            yield f"{path.relative_to(ROOT)}:{node.lineno}: {name} in {node.name}"


def test_messages_are_whole() -> None:
    found: list[str] = []
    for folder in CODE:
        for path in sorted((ROOT / folder).rglob("*.py")):
            found += in_pieces(path)
    assert found == [], "write each message as one literal"


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ('what = f"{x} is wrong"; return f"{what}: write y"', {"what"}),
        ('return f"{x} is wrong: write y"', set()),
        ('text = f"{x} is wrong"; text += f"; write {y}"; return text', {"text +="}),
        ('text = "wrong"; text += f": {y}"; return text', {"text +="}),
        (
            'clauses = [f"{x} is wrong"]; clauses.append("write y"); return "; ".join(clauses)',
            set(),
        ),
        ('hint = f"; write {y}" if y else ""; return f"{x} is wrong{hint}"', {"hint"}),
        ("return f\"{x} is wrong{f'; write {y}' if y else ''}\"", {"if"}),
        ('log.info("%s is wrong%s", x, "; write y" if y else "")', {"if"}),
        ('where = "the hub" if x else "each cluster"; return f"it runs on {where}"', set()),
        ('path = f"{x}/{y}"; path += "/z"; return f"{path} is wrong"', set()),
    ],
)
def test_the_test_finds_messages_in_pieces(code: str, found: set[str]) -> None:
    (function,) = ast.parse(f"def f(x, y): {code}").body
    assert isinstance(function, ast.FunctionDef)
    assert pieces(function) == found
