"""What the docstring below each field of a model says: for schemas, and for whoever left the field out.

Read from the source when somebody asks. pydantic's use_attribute_docstrings takes the source apart for every
class as it is defined, which was a seventh of what `validate` took to start.
"""

import ast
import inspect
import sys
from collections.abc import Mapping
from functools import cache
from itertools import pairwise

from pydantic import BaseModel

from gitops_dsf.repository.model.base import Authored


@cache
def field_docs(model: type[BaseModel]) -> Mapping[str, str]:
    """Name of each documented field, as Python knows it, to its docstring; what the base classes say is among
    them.
    """
    docs: dict[str, str] = {}
    for owner in reversed(model.__mro__):
        if issubclass(owner, Authored):
            docs |= _classes(owner.__module__).get(owner.__name__, {})
    return docs


@cache
def _classes(module: str) -> Mapping[str, Mapping[str, str]]:
    """The documented fields of every class of a module."""
    source = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: _documented(node) for node in source.body if isinstance(node, ast.ClassDef)}


def _documented(node: ast.ClassDef) -> Mapping[str, str]:
    docs: dict[str, str] = {}
    for statements in pairwise(node.body):
        match statements:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                docs[name] = unwrapped(text)
    return docs


def unwrapped(docstring: str | None) -> str:
    """A docstring as text: each paragraph on one line, paragraphs with an empty line between them."""
    paragraphs = inspect.cleandoc(docstring or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
