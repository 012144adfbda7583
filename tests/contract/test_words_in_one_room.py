"""`views` returns values, and `show` has the sentences. The exceptions are named, each with why."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_dsf import views

ROOT = Path(views.__file__).parent
EXCEPTIONS = {
    "doctor": "a finding is written where it is judged, as those of rules are",
    "preview/nextscores.py": "the causes for which scores are unknown are compared as values",
}
"""Modules and packages with sentences, by their paths in `views`."""
SENTENCE_WORDS = 4
"""From this many words on, a text is no name of a thing."""
WORD = re.compile(r"[A-Za-z][a-z'-]*[,;:.]?")


def sentences(code: str) -> Iterator[str]:
    """The texts of a module that are sentences, without docstrings and messages of errors."""
    tree = ast.parse(code)
    exempt: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise):
            exempt.update(ast.walk(node))
        # The text of an expression statement is a docstring.
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            exempt.add(node.value)
        elif isinstance(node, ast.JoinedStr) and node not in exempt:
            exempt.update(node.values)
    for node in ast.walk(tree):
        text = ""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        elif isinstance(node, ast.JoinedStr):
            texts = [part.value for part in node.values if isinstance(part, ast.Constant)]
            text = " - ".join(map(str, texts))
        if node not in exempt and _words(text) >= SENTENCE_WORDS:
            yield text


def _words(text: str) -> int:
    return sum(WORD.fullmatch(word) is not None for word in text.split())


def with_sentences() -> Iterator[str]:
    for path in sorted(ROOT.rglob("*.py")):
        if any(sentences(path.read_text(encoding="utf-8"))):
            yield path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("def f():\n    '''Says what a function does here.'''\n", 0),
        ("def f(x):\n    raise UsageError(f'the hub has no object {x}')\n", 0),
        ("def f():\n    return 'cluster label'\n", 0),
        ("def f():\n    return 'the scores are very old'\n", 1),
        ("def f(x):\n    return f'the scores of {x} are old'\n", 1),
    ],
)
def test_sentences_are_told_from_docstrings_errors_and_names(code: str, count: int) -> None:
    assert len(list(sentences(code))) == count


def test_only_the_named_exceptions_of_views_have_sentences() -> None:
    """And each exception is still one."""
    found = set()
    for path in with_sentences():
        package = path.partition("/")[0]
        found.add(package if package in EXCEPTIONS else path)
    assert found == set(EXCEPTIONS)
