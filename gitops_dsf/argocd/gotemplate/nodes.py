"""The nodes of a parsed template. Offsets are characters from the start of the text."""

from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal. A number that is not whole and decimal, and nil, are None."""

    offset: int
    value: str | int | bool | None
    kind: Literal["text", "number", "bool", "nil"]


@dataclass(frozen=True, slots=True)
class Field:
    """`.a.b`; `.` alone has no names."""

    offset: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Variable:
    """`$x.a.b`."""

    offset: int
    name: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """The name of a function."""

    offset: int
    name: str


@dataclass(frozen=True, slots=True)
class Group:
    """A pipeline in parentheses, and the fields taken from its result."""

    offset: int
    pipeline: "Pipeline"
    names: tuple[str, ...]


Operand: TypeAlias = Constant | Field | Variable | Function | Group


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands, each of which passes its result on to the next.

    `variables` take the result of the last one.
    """

    offset: int
    variables: tuple[str, ...]
    assigns: bool
    """Whether the variable existed before."""
    commands: tuple[tuple[Operand, ...], ...]


@dataclass(frozen=True, slots=True)
class Action:
    """`{{ pipeline }}`."""

    pipeline: Pipeline


@dataclass(frozen=True, slots=True)
class Branch:
    """`{{ if }}`, `{{ range }}` or `{{ with }}`."""

    kind: Literal["if", "range", "with"]
    length: int
    """Characters of the body as it is written."""
    pipeline: Pipeline
    body: tuple["Statement", ...]
    otherwise: tuple["Statement", ...]


Statement: TypeAlias = Action | Branch
