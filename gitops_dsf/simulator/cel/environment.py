"""The CEL environment of OCM's placement controller, for checking and for evaluating.

OCM loads (sdk-go/pkg/cel/common/values.go): optional types, ext.Strings and the Kubernetes libraries Lists, Regex,
URLs, Quantity, IP, CIDR, Format and Semver, beside its own scores() and parseJSON().
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_optional, ext_strings

from gitops_dsf.simulator.cel import addresses, comparisons, limits, lists, regexes, semvers, urls
from gitops_dsf.simulator.cel.function import CelUnsupported, Function, Overload
from gitops_dsf.simulator.cel.quantities import QuantityFunctions
from gitops_dsf.simulator.cel.regexes import regex_error
from gitops_dsf.simulator.cel.scores import ScoreFunctions
from gitops_dsf.simulator.objects import AddOnPlacementScore

_FIND = re.compile(r"\.\s*find(?:All)?\s*\(\s*(" + limits.STRING.pattern + r")\s*[,)]", re.DOTALL)


class CelSyntaxError(Exception):
    """The expression does not compile; OCM reports the Placement as misconfigured."""


@dataclass(frozen=True, slots=True)
class Program:
    """A checked expression."""

    expression: str
    names: frozenset[str]
    """Identifiers in it."""
    depth: int
    """Nested comprehensions."""
    compiled: Any


class Environment:
    """Compiles and evaluates expressions over one hub's scores. Not for use by several threads at once."""

    def __init__(self, scores: Mapping[str, Mapping[str, AddOnPlacementScore]]) -> None:
        self._quantities = QuantityFunctions()
        self._unsupported: str | None = None
        functions = (
            *ScoreFunctions(scores).functions(),
            *self._quantities.functions(),
            *comparisons.functions(),
            *semvers.functions(),
            *addresses.functions(),
            *urls.functions(),
            *lists.functions(),
            *regexes.functions(),
        )
        self._checking = _new([_checked(function) for function in functions])
        self._running = _new([self._bound(function) for function in functions])

    def compile(self, expression: str) -> Program:
        """Type-checks an expression.

        Raises:
            CelSyntaxError: OCM's compiler would refuse it as well.
            CelUnsupported: it uses what this environment cannot answer, or may fail only here.
        """
        limits.refuse_expression(expression)
        try:
            checked = self._checking.compile(expression)
        except RuntimeError as error:
            limits.refuse_failure(expression, str(error))
            detail = str(error).removeprefix("INVALID_ARGUMENT: ").removesuffix(" [INVALID_ARGUMENT]")
            raise CelSyntaxError(f"compilation failed: {detail}") from error
        self._check_patterns(expression)
        running = self._running.deserialize(checked.serialize())
        return Program(expression, limits.names_in(expression), limits.nesting(expression), running)

    def _check_patterns(self, expression: str) -> None:
        for found in _FIND.finditer(expression):
            problem = regex_error(str(self._checking.compile(found.group(1)).eval().value()))
            if problem:
                raise CelSyntaxError(f"instantiation failed: {problem}")

    def evaluate(self, program: Program, view: Mapping[str, Any], *, most_scores: int) -> bool | str:
        """True, False, or why the expression fails on this cluster (a text, which drops the cluster).

        `most_scores` is the number of items in the largest AddOnPlacementScore of the cluster.

        Raises:
            CelUnsupported: the answer depends on what this environment does not reproduce.
        """
        limits.refuse_cluster(program.names, view)
        if program.depth:
            largest = limits.largest_collection(view, texts=limits.makes_lists(program.names))
            limits.refuse_cost(program.expression, program.depth, max(largest, most_scores))
        self._quantities.forget()
        self._unsupported = None
        try:
            value = program.compiled.eval(data={"managedCluster": view})
            kind = value.type()
            result = value.value() if kind in (cel.Type.BOOL, cel.Type.ERROR) else None
        except (RuntimeError, TypeError, UnicodeError) as error:  # the evaluator itself gave up, not the expression
            raise CelUnsupported(str(error)) from error
        if self._unsupported is not None:
            raise CelUnsupported(self._unsupported)
        if kind == cel.Type.BOOL:
            return bool(result)
        return str(result) if kind == cel.Type.ERROR else f"the result is not a bool but {kind.name()}"

    def _bound(self, function: Function) -> Any:  # noqa: ANN401 - the binding has no types
        """The function for the evaluator: abstract types are maps, and overloads that then look alike are one."""
        merged: dict[tuple[str, ...], Overload] = {}
        for overload in function.overloads:
            merged.setdefault(tuple(_kind(parameter) for parameter in overload.parameters), overload)
        return cel.FunctionDecl(
            function.name,
            [
                cel.Overload(
                    overload.identifier,
                    return_type=_returned_type(overload),
                    parameters=[_running_type(kind) for kind in kinds],
                    is_member=overload.member,
                    impl=self._watched(function.call),
                )
                for kinds, overload in merged.items()
            ],
        )

    def _watched(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """CEL turns exceptions into error values, which `||` can swallow; what is unsupported is kept aside."""

        def watched(*arguments: object) -> object:
            try:
                return call(*arguments)
            except CelUnsupported as error:
                self._unsupported = str(error)
                raise

        return watched


def _new(functions: list[Any]) -> Any:  # noqa: ANN401 - the binding has no types
    return cel.NewEnv(
        variables={"managedCluster": cel.Type.Map(cel.Type.STRING, cel.Type.DYN)},
        extensions=[ext_optional.ExtOptional(), ext_strings.ExtStrings()],
        functions=functions,
    )


def _checked(function: Function) -> Any:  # noqa: ANN401 - the binding has no types
    return cel.FunctionDecl(
        function.name,
        [
            cel.Overload(
                overload.identifier,
                return_type=_checking_type(overload.returns),
                parameters=[_checking_type(parameter) for parameter in overload.parameters],
                is_member=overload.member,
            )
            for overload in function.overloads
        ],
    )


def _checking_type(written: str) -> Any:  # noqa: ANN401 - the binding has no types
    if "." in written:
        return cel.Type.AbstractType(written)
    if written.startswith("list("):
        return cel.Type.List(_checking_type(written[5:-1]))
    if written.startswith("map("):
        key, _, value = written[4:-1].partition(",")
        return cel.Type.Map(_checking_type(key), _checking_type(value))
    return getattr(cel.Type, written.upper())


def _kind(written: str) -> str:
    """A type as the evaluator tells them apart: abstract values and dyn receivers are maps."""
    if "." in written or written == "dyn":
        return "map"
    return written.partition("(")[0]


def _returned_type(overload: Overload) -> Any:  # noqa: ANN401 - the binding has no types
    """Lists do not carry their element type into the evaluator, so neither does what is taken out of them."""
    if overload.returns == "dyn" or overload.parameters[0].startswith("list("):
        return cel.Type.DYN
    return _running_type(_kind(overload.returns))


def _running_type(kind: str) -> Any:  # noqa: ANN401 - the binding has no types
    return getattr(cel.Type, kind.upper())
