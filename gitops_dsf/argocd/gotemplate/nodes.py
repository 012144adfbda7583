"""The nodes of a parsed template, named after those of Go's package text/template/parse.

Offsets are characters from the start of the text.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class ConstantNode:
    """A literal. A number that is not whole and decimal, and nil, are None."""

    offset: int
    value: str | int | bool | None
    kind: Literal["text", "number", "bool", "nil"]


@dataclass(frozen=True, slots=True)
class FieldNode:
    """`.a.b`; `.` alone has no names."""

    offset: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VariableNode:
    """`$x.a.b`."""

    offset: int
    name: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FunctionNode:
    """The name of a function."""

    offset: int
    name: str


@dataclass(frozen=True, slots=True)
class ChainNode:
    """A pipeline in parentheses, and the fields taken from its result."""

    offset: int
    pipeline: "PipeNode"
    names: tuple[str, ...]


Operand: TypeAlias = ConstantNode | FieldNode | VariableNode | FunctionNode | ChainNode


@dataclass(frozen=True, slots=True)
class PipeNode:
    """Commands, each of which passes its result on to the next.

    `variables` take the result of the last one.
    """

    offset: int
    variables: tuple[str, ...]
    assigns: bool
    """Whether the variable existed before."""
    commands: tuple[tuple[Operand, ...], ...]


@dataclass(frozen=True, slots=True)
class ActionNode:
    """`{{ pipeline }}`."""

    pipeline: PipeNode


@dataclass(frozen=True, slots=True)
class BranchNode:
    """`{{ if }}`, `{{ range }}` or `{{ with }}`."""

    kind: Literal["if", "range", "with"]
    length: int
    """Characters of the body as it is written."""
    pipeline: PipeNode
    body: tuple["Statement", ...]
    otherwise: tuple["Statement", ...]


Statement: TypeAlias = ActionNode | BranchNode
