"""The CEL environment of OCM's placement controller, for checking and for evaluating.

OCM loads (sdk-go/pkg/cel/common/values.go): optional types, ext.Strings and the Kubernetes libraries Lists, Regex,
URLs, Quantity, IP, CIDR, Format and Semver, beside its own scores() and parseJSON().
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_optional, ext_strings

from gitops_dsf.simulator.cel import addresses, comparisons, lists, regexes, semvers, urls
from gitops_dsf.simulator.cel.function import CelUnsupported, Function, Overload
from gitops_dsf.simulator.cel.quantities import QuantityFunctions
from gitops_dsf.simulator.cel.scores import ScoreFunctions
from gitops_dsf.simulator.objects import AddOnPlacementScore

LONGEST_EXPRESSION = 100_000
MOST_BRACKETS = 200
"""Text nested deeper is not handed to the parser, which recurses in C."""
_STRING = re.compile(r"""[rRbB]?("{3}.*?"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')""", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NOT_OFFERED = frozenset({"format", "validate", "existsOne", "unwrapOpt", "unwrap"})
"""Names of OCM's environment that this one lacks. `format` is refused as Kubernetes' library; see also _STRING_FORMAT."""
_LIMITED = frozenset({"indexOf", "lastIndexOf", "isSorted", "sum", "min", "max", "isCanonical"})
"""Names that are offered for some types only; a failed check may be this environment's fault."""
_OPAQUE = frozenset({"quantity", "url", "ip", "cidr", "semver"})
_REFLECTION = frozenset({"type", "dyn", "string"})
"""What would show that abstract values are maps here."""


class CelSyntaxError(Exception):
    """The expression does not compile; OCM reports the Placement as misconfigured."""


@dataclass(frozen=True, slots=True)
class Program:
    """A checked expression."""

    expression: str
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
        names = _names(expression)
        if len(expression) > LONGEST_EXPRESSION or _brackets(expression) > MOST_BRACKETS:
            raise CelUnsupported(f"an expression beyond {LONGEST_EXPRESSION} characters or {MOST_BRACKETS} brackets")
        _refuse(names & _NOT_OFFERED, "not offered")
        if names & _OPAQUE:
            _refuse(names & _REFLECTION, "together with quantities, URLs, addresses or versions")
        try:
            checked = self._checking.compile(expression)
        except RuntimeError as error:
            _refuse(names & (_LIMITED | _NOT_OFFERED), "for these types")
            detail = str(error).removeprefix("INVALID_ARGUMENT: ").removesuffix(" [INVALID_ARGUMENT]")
            raise CelSyntaxError(detail) from error
        return Program(expression, self._running.deserialize(checked.serialize()))

    def evaluate(self, program: Program, view: Mapping[str, Any]) -> bool | str:
        """True, False, or why the expression fails on this cluster (a text, which drops the cluster).

        Raises:
            CelUnsupported: the answer depends on what this environment does not reproduce.
        """
        self._quantities.forget()
        self._unsupported = None
        value = program.compiled.eval(data={"managedCluster": view})
        if self._unsupported is not None:
            raise CelUnsupported(self._unsupported)
        kind = value.type()
        if kind == cel.Type.BOOL:
            return bool(value.value())
        if kind == cel.Type.ERROR:
            return str(value.value())
        return f"the result is not a bool but {kind.name()}"

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
                    return_type=_running_type(_kind(overload.returns)),
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


def _refuse(names: Iterable[str], why: str) -> None:
    found = sorted(names)
    if found:
        raise CelUnsupported(f"{', '.join(found)} ({why})")


def _names(expression: str) -> frozenset[str]:
    return frozenset(_NAME.findall(_STRING.sub(" ", expression)))


def _brackets(expression: str) -> int:
    return sum(expression.count(bracket) for bracket in "([{")


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


def _running_type(kind: str) -> Any:  # noqa: ANN401 - the binding has no types
    return getattr(cel.Type, kind.upper())
