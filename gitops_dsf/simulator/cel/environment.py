"""The CEL environment of OCM's placement controller. Evaluates expressions that the checker accepted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cel_expr_python import cel

from gitops_dsf.hub.scores import Scores
from gitops_dsf.simulator.cel import limits
from gitops_dsf.simulator.cel.checker import Checker, library, new_environment
from gitops_dsf.simulator.cel.function import CelUnsupported, Function, Overload
from gitops_dsf.simulator.cel.quantities import QuantityFunctions
from gitops_dsf.simulator.cel.scores import ScoreFunctions


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
    """Compiles and evaluates expressions over the scores of one hub. Not thread-safe."""

    def __init__(self, scores: Scores) -> None:
        self._quantities = QuantityFunctions()
        self._unsupported: str | None = None
        functions = library(ScoreFunctions(scores), self._quantities)
        self._checker = Checker(functions)
        self._running = new_environment([self._bound(function) for function in functions])

    def compile(self, expression: str) -> Program:
        """Type-checks an expression.

        Raises:
            CelSyntaxError: OCM's compiler would reject it, too.
            CelUnsupported: it uses what this environment does not reproduce, or may fail only here.
        """
        running = self._running.deserialize(self._checker.check(expression).serialized)
        return Program(expression, limits.names_in(expression), limits.nesting(expression), running)

    def evaluate(self, program: Program, view: Mapping[str, Any], *, most_scores: int) -> bool | str:
        """Returns True, False, or a text: why the expression fails on this cluster, which drops it.

        `most_scores` is the number of items in the largest AddOnPlacementScore of the cluster.

        Raises:
            CelUnsupported: the answer depends on what this environment does not reproduce.
        """
        limits.refuse_cluster(program.names, view)
        if "replace" in program.names:
            limits.refuse_growth(program.expression, longest_text=limits.longest_text(view))
        if program.depth:
            largest = limits.largest_collection(view, texts=limits.makes_lists(program.names))
            limits.refuse_cost(program.expression, program.depth, max(largest, most_scores))
        self._quantities.forget()
        self._unsupported = None
        try:
            value = program.compiled.eval(data={"managedCluster": view})
            kind = value.type()
            result = value.value() if kind in (cel.Type.BOOL, cel.Type.ERROR) else None
        except (
            RuntimeError,
            TypeError,
            UnicodeError,
        ) as error:  # the evaluator failed, not the expression
            raise CelUnsupported(str(error)) from error
        if self._unsupported is not None:
            raise CelUnsupported(self._unsupported)
        if kind == cel.Type.BOOL:
            return bool(result)
        return str(result) if kind == cel.Type.ERROR else f"the result is not a bool but {kind.name()}"

    def _bound(self, function: Function) -> Any:  # noqa: ANN401 - the binding has no types
        """The function for the evaluator: abstract types become maps, and overloads that are then equal
        become one.
        """
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
        """CEL turns exceptions into error values, which `||` can swallow. So CelUnsupported is recorded
        separately.
        """

        def watched(*arguments: object) -> object:
            try:
                return call(*arguments)
            except CelUnsupported as error:
                self._unsupported = str(error)
                raise

        return watched


def _kind(written: str) -> str:
    """A type as the evaluator distinguishes it: abstract values and dyn receivers are maps."""
    if "." in written or written == "dyn":
        return "map"
    return written.partition("(")[0]


def _returned_type(overload: Overload) -> Any:  # noqa: ANN401 - the binding has no types
    """Lists lose their element type in the evaluator, so the return type of their functions is dyn."""
    if overload.returns == "dyn" or overload.parameters[0].startswith("list("):
        return cel.Type.DYN
    return _running_type(_kind(overload.returns))


def _running_type(kind: str) -> Any:  # noqa: ANN401 - the binding has no types
    return getattr(cel.Type, kind.upper())
