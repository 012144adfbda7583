"""How a CEL function of Kubernetes is declared here, and what its implementation may report.

CEL's checker knows abstract types (kubernetes.Quantity), but the evaluator cannot carry them. So there are
two environments: expressions are type-checked with the abstract types, as OCM does, and evaluated with the
same functions over maps of one entry, whose key is the type's name and whose text is canonical, so that
equality is Kubernetes'.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Opaque = Mapping[str, str]


class CelUnsupported(Exception):  # noqa: N818 - not an error of the expression: this evaluator cannot know the answer
    """The evaluator meets a value whose treatment by OCM it does not reproduce."""


class CelFailure(ValueError):  # noqa: N818 - CEL speaks of failures; it is no error of the simulator
    """The function fails on this value, as it does in OCM: the cluster is dropped."""


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature. Types are written as CEL writes them; names with a dot are abstract types."""

    identifier: str
    parameters: tuple[str, ...]
    returns: str
    member: bool = True


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    overloads: tuple[Overload, ...]
    call: Callable[..., Any]
    """Gets the arguments of whichever overload was chosen."""


def opaque(type_name: str, text: str) -> Opaque:
    return {type_name: text}


def text_of(value: Mapping[str, Any], type_name: str) -> str:
    """The canonical text inside an opaque value.

    Raises:
        CelFailure: the value is of another type, which only a dynamic expression can bring about.
    """
    found = value.get(type_name)
    if not isinstance(found, str):
        raise CelFailure("no such overload")
    return found


def type_of(value: Mapping[str, Any]) -> str:
    """The type's name of an opaque value."""
    return next(iter(value), "")
