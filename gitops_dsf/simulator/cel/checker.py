"""Type-checking CEL expressions as OCM's placement controller does, without evaluating them.

OCM loads (sdk-go/pkg/cel/common/values.go): optional types, ext.Strings and the Kubernetes libraries Lists,
Regex, URLs, Quantity, IP, CIDR, Format and Semver, beside its own scores() and parseJSON().
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_optional, ext_strings

from gitops_dsf.hub.scores import Scores
from gitops_dsf.simulator.cel import addresses, limits, lists, quantities, texts
from gitops_dsf.simulator.cel.function import CelUnsupported, Function, Opaque, Overload, method, type_of
from gitops_dsf.simulator.cel.lists import score_functions
from gitops_dsf.simulator.cel.quantities import QuantityFunctions

_FIND = re.compile(r"\.\s*find(?:All)?\s*\(\s*(" + limits.STRING.pattern + r")\s*[,)]", re.DOTALL)
_PLACE = re.compile(r"^ERROR: <input>:(\d+):(\d+): (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake that the compiler reports."""

    offset: int | None
    """Character offset in the expression, from 0; None if the compiler does not report it."""
    reason: str


class CelSyntaxError(Exception):
    """The expression does not compile; OCM reports the Placement as misconfigured."""

    def __init__(self, message: str, mistakes: tuple[Mistake, ...]) -> None:
        super().__init__(message)
        self.mistakes = mistakes


@dataclass(frozen=True, slots=True)
class Checked:
    """A checked expression."""

    serialized: bytes
    yields: str
    """The type of its value as CEL writes it: BOOL, DYN if it depends on the cluster, or another type."""


class Checker:
    """Compiles expressions with the functions that OCM offers. Not thread-safe."""

    def __init__(self, functions: Iterable[Function] = ()) -> None:
        functions = functions or library({}, QuantityFunctions())
        self._environment = new_environment([_declared(function) for function in functions])

    def check(self, expression: str) -> Checked:
        """Type-checks an expression. Raises CelSyntaxError: OCM's compiler would reject it, too. Raises
        CelUnsupported: it uses what this environment does not reproduce, or may fail only here.
        """
        limits.refuse_expression(expression)
        try:
            compiled = self._environment.compile(expression)
        except RuntimeError as error:
            limits.refuse_failure(expression, str(error))
            detail = str(error).removeprefix("INVALID_ARGUMENT: ").removesuffix(" [INVALID_ARGUMENT]")
            raise CelSyntaxError(f"compilation failed: {detail}", _mistakes(expression, detail)) from error
        except TypeError as error:  # not valid Unicode
            raise CelUnsupported("an expression that is no text") from error
        self._check_patterns(expression)
        return Checked(serialized=compiled.serialize(), yields=str(compiled.return_type().name()))

    def _check_patterns(self, expression: str) -> None:
        for found in _FIND.finditer(expression):
            problem = texts.regex_error(str(self._environment.compile(found.group(1)).eval().value()))
            if problem:
                raise CelSyntaxError(f"instantiation failed: {problem}", (Mistake(found.start(1), problem),))


def library(scores: Scores, quantities: QuantityFunctions) -> tuple[Function, ...]:
    """Every function that OCM offers, over the scores of a hub."""
    return (
        *score_functions(scores),
        *quantities.functions(),
        *_comparisons(),
        *addresses.functions(),
        *texts.functions(),
        *lists.functions(),
    )


def _comparisons() -> tuple[Function, ...]:
    """The three functions that quantities and semantic versions share."""

    def compare(value: Opaque, other: Opaque) -> int:
        chosen = texts.compare if type_of(value) == texts.SEMVER else quantities.compare
        return chosen(value, other)

    pairs = [(kind, kind) for kind in (quantities.TYPE, texts.SEMVER)]
    signs, truths = ([(*pair, returns) for pair in pairs] for returns in ("int", "bool"))
    return (
        method("compareTo", compare, *signs),
        method("isGreaterThan", lambda value, other: compare(value, other) == 1, *truths),
        method("isLessThan", lambda value, other: compare(value, other) == -1, *truths),
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
    starts = [0, *(match.end() for match in re.finditer("\n", expression))]
    found = []
    for line, column, reason in _PLACE.findall(detail):
        offset = starts[int(line) - 1] + int(column) - 1 if int(line) <= len(starts) else len(expression)
        found.append(Mistake(min(offset, len(expression)), reason))
    return tuple(found) or (Mistake(None, detail.partition("\n")[0]),)


def _declared(function: Function) -> Any:  # noqa: ANN401 - the binding has no types
    return cel.FunctionDecl(function.name, [_overload(overload) for overload in function.overloads])


def _overload(overload: Overload) -> Any:  # noqa: ANN401 - the binding has no types
    return cel.Overload(
        overload.identifier,
        return_type=_type(overload.returns),
        parameters=[_type(parameter) for parameter in overload.parameters],
        is_member=overload.member,
    )


def _type(written: str) -> Any:  # noqa: ANN401 - the binding has no types
    if "." in written:
        return cel.Type.AbstractType(written)
    if written.startswith("list("):
        return cel.Type.List(_type(written[5:-1]))
    if written.startswith("map("):
        key, _, value = written[4:-1].partition(",")
        return cel.Type.Map(_type(key), _type(value))
    return getattr(cel.Type, written.upper())
