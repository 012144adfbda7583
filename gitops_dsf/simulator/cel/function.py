"""Declares CEL functions of Kubernetes, and the errors that their implementations raise.

CEL's checker knows abstract types such as kubernetes.Quantity, but the evaluator cannot hold them.
So there are two environments. Expressions are type-checked with the abstract types, as in OCM, and
evaluated with the same functions over maps of one entry. The key is the name of the type, and the
value its canonical text, so that equality is the same as in Kubernetes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

Opaque = Mapping[str, str]


class CelUnsupported(Exception):  # noqa: N818 - the expression has no error
    """The evaluator meets a value that it may treat differently from OCM, so there is no answer."""


@dataclass(frozen=True, slots=True)
class Unsupported:
    """The simulator has no answer. Conclude nothing from it."""

    expression: str
    reason: str
    cluster: str | None = None
    """The cluster where it came up; None if the whole expression is not supported."""

    def __str__(self) -> str:
        if self.cluster:
            return (
                f"CEL expression {self.expression!r} on cluster {self.cluster} uses what the"
                f" simulator does not support: {self.reason}"
            )
        return (
            f"CEL expression {self.expression!r} uses what the simulator does not support:"
            f" {self.reason}"
        )


class CelFailure(ValueError):  # noqa: N818 - CEL calls it a failure, and the simulator works
    """The function fails on this value, as it does in OCM: the cluster is dropped."""


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature. Types are written as in CEL; names with a dot are abstract types."""

    identifier: str
    parameters: tuple[str, ...]
    returns: str
    member: bool


@dataclass(frozen=True, slots=True)
class CelFunction:
    """A function as CEL calls it, with every signature that it has."""

    name: str
    overloads: tuple[Overload, ...]
    call: Callable[..., Any]
    """Called with the arguments of the chosen overload."""


def function(
    name: str, call: Callable[..., Any], *signatures: tuple[str, ...], member: bool = False
) -> CelFunction:
    """A function that is called by its name alone. A signature ends with the returned type."""
    prefix = f"{name.replace('.', '_')}_function"
    if member:
        prefix = f"{name.replace('.', '_')}_method"
    overloads: list[Overload] = []
    for number, (*parameters, returns) in enumerate(signatures):
        overloads.append(Overload(f"{prefix}_{number}", tuple(parameters), returns, member))
    return CelFunction(name, tuple(overloads), call)


method = partial(function, member=True)
"""A function that is called on its first parameter."""


def parses(name: str, parse: Callable[[str], object]) -> CelFunction:
    """A function that says whether a text can be parsed."""

    def call(text: str) -> bool:
        try:
            parse(text)
        except CelFailure:
            return False
        return True

    return function(name, call, ("string", "bool"))


def kind(
    name: str, type_name: str, parse: Callable[[str], object], *, test: str
) -> tuple[CelFunction, CelFunction]:
    """Two functions: one makes an abstract value of a text, the other says whether it could.

    `parse` returns a value whose `str` is the canonical text, or raises CelFailure.
    """
    constructor = function(name, lambda text: {type_name: str(parse(text))}, ("string", type_name))
    return constructor, parses(test, parse)


def text_of(value: Mapping[str, Any], type_name: str) -> str:
    """The canonical text of an abstract value.

    Raises CelFailure if a dynamic one is of another type.
    """
    text = value.get(type_name)
    if not isinstance(text, str):
        raise CelFailure("no such overload")
    return text


def type_of(value: Mapping[str, Any]) -> str:
    """The type name of an abstract value."""
    return next(iter(value), "")
