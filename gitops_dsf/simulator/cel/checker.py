"""Type-checks CEL expressions with the functions that OCM offers.

OCM v1.2.1 loads (sdk-go/pkg/cel/common/values.go) optional types, ext.Strings and the Kubernetes
libraries Lists, Regex, URLs, Quantity, IP, CIDR, Format and Semver, beside its own scores() and
parseJSON(). Format is not offered here: `limits` refuses expressions that use it.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_optional, ext_strings

from gitops_dsf.diagnostics import Mistake
from gitops_dsf.hub.scores import Scores
from gitops_dsf.simulator.cel import addresses, limits, lists, patterns, quantities, urls, versions
from gitops_dsf.simulator.cel.function import (
    CelFunction,
    CelUnsupported,
    Opaque,
    method,
    type_of,
)
from gitops_dsf.simulator.cel.quantities import QuantityFunctions
from gitops_dsf.simulator.cel.score_functions import score_functions

_FIND = re.compile(r"\.\s*find(?:All)?\s*\(\s*(" + limits.STRING.pattern + r")\s*[,)]", re.DOTALL)
_ERROR_POSITION = re.compile(r"^ERROR: <input>:(\d+):(\d+): (.*)$", re.MULTILINE)


class CelSyntaxError(Exception):
    """The expression does not compile; OCM reports the Placement as misconfigured."""

    def __init__(self, message: str, mistakes: tuple[Mistake, ...]) -> None:
        super().__init__(message)
        self.mistakes = mistakes


@dataclass(frozen=True, slots=True)
class CheckedExpression:
    """An expression that passed the type check."""

    serialized: bytes
    yields: str
    """The type of its value in CEL's spelling.

    BOOL, DYN if it depends on the cluster, or another.
    """


class Checker:
    """Compiles expressions with the functions that OCM offers. Not thread-safe."""

    def __init__(self) -> None:
        self._environment = new_environment(_declarations())

    def check(self, expression: str) -> CheckedExpression:
        """Type-checks an expression.

        Raises CelSyntaxError if OCM's compiler rejects it, too, and CelUnsupported if it uses what
        this environment does not reproduce, or may fail only here.
        """
        limits.refuse_expression(expression)
        try:
            compiled = self._environment.compile(expression)
        except RuntimeError as error:
            limits.refuse_failure(expression, str(error))
            detail = (
                str(error).removeprefix("INVALID_ARGUMENT: ").removesuffix(" [INVALID_ARGUMENT]")
            )
            raise CelSyntaxError(
                f"compilation failed: {detail}", _mistakes(expression, detail)
            ) from error
        except TypeError as error:
            raise CelUnsupported("an expression that is not valid Unicode") from error
        self._check_patterns(expression)
        return CheckedExpression(
            serialized=compiled.serialize(), yields=str(compiled.return_type().name())
        )

    def _check_patterns(self, expression: str) -> None:
        # OCM compiles constant patterns when it makes the program, so a bad one is a mistake of the
        # Placement, and not of one cluster.
        for call in _FIND.finditer(expression):
            pattern = self._environment.compile(call.group(1)).eval().value()
            problem = patterns.regex_error(str(pattern))
            if problem:
                raise CelSyntaxError(
                    f"instantiation failed: {problem}", (Mistake(problem, offset=call.start(1)),)
                )


def library(scores: Scores, quantities: QuantityFunctions) -> tuple[CelFunction, ...]:
    """Every function that OCM offers, over the scores of a hub."""
    return (
        *score_functions(scores),
        *quantities.functions(),
        *_comparisons(),
        *patterns.functions(),
        *urls.functions(),
        *versions.functions(),
        *addresses.functions(),
        *lists.functions(),
    )


def _comparisons() -> tuple[CelFunction, ...]:
    """The three functions that quantities and semantic versions share."""

    def compare(value: Opaque, other: Opaque) -> int:
        if type_of(value) == versions.SEMVER:
            return versions.compare(value, other)
        return quantities.compare(value, other)

    def is_greater(value: Opaque, other: Opaque) -> bool:
        return compare(value, other) > 0

    def is_less(value: Opaque, other: Opaque) -> bool:
        return compare(value, other) < 0

    # CEL lets a function be declared once, so both libraries share these.
    quantity = quantities.TYPE
    version = versions.SEMVER
    return (
        method("compareTo", compare, (quantity, quantity, "int"), (version, version, "int")),
        method(
            "isGreaterThan", is_greater, (quantity, quantity, "bool"), (version, version, "bool")
        ),
        method("isLessThan", is_less, (quantity, quantity, "bool"), (version, version, "bool")),
    )


def new_environment(declarations: list[Any]) -> Any:  # noqa: ANN401 - the binding has no types
    """An environment of the engine, with OCM's variable and extensions."""
    return cel.NewEnv(
        variables={"managedCluster": cel.Type.Map(cel.Type.STRING, cel.Type.DYN)},
        extensions=[ext_optional.ExtOptional(), ext_strings.ExtStrings()],
        functions=declarations,
    )


def _mistakes(expression: str, detail: str) -> tuple[Mistake, ...]:
    """The positions in an error message, which counts lines and characters from 1."""
    line_starts = [0, *(match.end() for match in re.finditer("\n", expression))]
    mistakes = []
    for line, column, reason in _ERROR_POSITION.findall(detail):
        offset = len(expression)
        if int(line) <= len(line_starts):
            offset = min(offset, line_starts[int(line) - 1] + int(column) - 1)
        mistakes.append(Mistake(reason, offset=offset))
    return tuple(mistakes) or (Mistake(detail.partition("\n")[0], offset=None),)


@cache
def _declarations() -> list[Any]:
    """The types of every function, which are the same for all hubs. Do not change the list."""
    return list(map(_declared, library({}, QuantityFunctions())))


def _declared(function: CelFunction) -> Any:  # noqa: ANN401 - the binding has no types
    overloads = []
    for overload in function.overloads:
        declared = cel.Overload(
            overload.identifier,
            return_type=_type(overload.returns),
            parameters=list(map(_type, overload.parameters)),
            is_member=overload.member,
        )
        overloads.append(declared)
    return cel.FunctionDecl(function.name, overloads)


def _type(written: str) -> Any:  # noqa: ANN401 - the binding has no types
    if "." in written:
        return cel.Type.AbstractType(written)
    if written.startswith("list("):
        return cel.Type.List(_type(written[5:-1]))
    if written.startswith("map("):
        key, _, value = written[4:-1].partition(",")
        return cel.Type.Map(_type(key), _type(value))
    return getattr(cel.Type, written.upper())
