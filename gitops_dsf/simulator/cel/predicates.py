"""Evaluates CEL predicates for the clusters of a hub, as OCM's placement controller does.

An answer is True, False, the reason why an expression fails on a cluster, or Unsupported where
this evaluator (CEL in C++) may differ from OCM's (CEL in Go).
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from cel_expr_python import cel

from gitops_dsf.hub.objects import ManagedCluster
from gitops_dsf.hub.scores import Scores
from gitops_dsf.simulator.cel import limits
from gitops_dsf.simulator.cel.checker import CelSyntaxError, Checker, library, new_environment
from gitops_dsf.simulator.cel.cluster_view import View, cluster_view
from gitops_dsf.simulator.cel.function import (
    CelFunction,
    CelUnsupported,
    Overload,
    Unsupported,
)
from gitops_dsf.simulator.cel.quantities import QuantityFunctions

Answer = bool | str | Unsupported
"""True, False, why the expression fails on the cluster (OCM then drops it), or Unsupported."""


class CelPredicates:
    """Answers of expressions for clusters, cached for all Placements of a hub. Not thread-safe.

    An answer depends only on the cluster and its scores, so it holds for every Placement.
    """

    def __init__(self, *, clusters: Sequence[ManagedCluster], scores: Scores) -> None:
        self._clusters = clusters
        self._scores = scores
        self._quantities = QuantityFunctions()
        self._unsupported: str | None = None
        self._checker = Checker()
        functions = library(scores, self._quantities)
        self._running = new_environment(list(map(self._bound, functions)))
        self._seen = lru_cache(maxsize=None)(self._view)
        self._program = lru_cache(maxsize=None)(self._compiled)
        self.answer = lru_cache(maxsize=None)(self._answer)
        """Evaluates an expression, which must compile, for a cluster."""

    def check(self, expression: str) -> str | Unsupported | None:
        """None if the expression compiles, else the compiler's message."""
        program = self._program(expression)
        return program if isinstance(program, str | Unsupported) else None

    def _answer(self, expression: str, cluster: int) -> Answer:
        program = self._program(expression)
        if isinstance(program, str | Unsupported):
            return program
        try:
            return self._evaluate(program, expression, cluster)
        except CelUnsupported as error:
            return Unsupported(expression, str(error), self._clusters[cluster].metadata.name)

    def _evaluate(
        self,
        program: Any,  # noqa: ANN401 - the binding has no types
        expression: str,
        cluster: int,
    ) -> bool | str:
        """True, False, or why it fails on this cluster.

        Raises CelUnsupported if only OCM can say.
        """
        view, most_scores = self._seen(cluster)
        names = limits.names_in(expression)
        depth = limits.nesting(expression)
        limits.refuse_cluster(names, view)
        if "replace" in names:
            limits.refuse_growth(expression, longest_text=limits.longest_text(view))
        if depth:
            largest = limits.largest_collection(view, texts=limits.makes_lists(names))
            limits.refuse_cost(expression, depth, max(largest, most_scores))
        # The notes of the functions are about one evaluation.
        self._quantities.forget()
        self._unsupported = None
        try:
            value = program.eval(data={"managedCluster": view})
            kind = value.type()
            # Values of other types may have no form in Python.
            result = None
            if kind in (cel.Type.BOOL, cel.Type.ERROR):
                result = value.value()
        except (RuntimeError, TypeError, UnicodeError) as error:
            # The evaluator failed, not the expression, so nothing is known about OCM's answer.
            raise CelUnsupported(str(error)) from error
        if self._unsupported is not None:
            raise CelUnsupported(self._unsupported)
        if kind == cel.Type.BOOL:
            return bool(result)
        if kind == cel.Type.ERROR:
            return str(result)
        return f"the result is not a bool but {kind.name()}"

    def _view(self, cluster: int) -> tuple[View, int]:
        """A cluster as CEL sees it, and the number of items in its largest AddOnPlacementScore."""
        name = self._clusters[cluster].metadata.name
        most_scores = 0
        for by_cluster in self._scores.values():
            if name in by_cluster:
                most_scores = max(most_scores, len(by_cluster[name].names))
        return cluster_view(self._clusters[cluster]), most_scores

    def _compiled(self, expression: str) -> Any:  # noqa: ANN401 - the binding has no types
        """A program, or why there is none."""
        try:
            return self._running.deserialize(self._checker.check(expression).serialized)
        except CelSyntaxError as error:
            return str(error)
        except CelUnsupported as error:
            return Unsupported(expression, str(error))

    def _bound(self, function: CelFunction) -> Any:  # noqa: ANN401 - the binding has no types
        """A function for the evaluator.

        Abstract types become maps, and overloads that are then equal become one.
        """
        merged: dict[tuple[str, ...], Overload] = {}
        for overload in function.overloads:
            kinds = tuple(map(_kind, overload.parameters))
            merged.setdefault(kinds, overload)
        overloads = []
        for kinds, overload in merged.items():
            bound = cel.Overload(
                overload.identifier,
                return_type=_returned_type(overload),
                parameters=[_running_type(kind) for kind in kinds],
                is_member=overload.member,
                impl=self._watched(function.call),
            )
            overloads.append(bound)
        return cel.FunctionDecl(function.name, overloads)

    def _watched(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Records CelUnsupported.

        CEL turns exceptions into values, and `||` can hide them.
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
    """The return type in the evaluator.

    Lists lose their element type there, so functions of lists return dyn.
    """
    if overload.returns == "dyn" or overload.parameters[0].startswith("list("):
        return cel.Type.DYN
    return _running_type(_kind(overload.returns))


def _running_type(kind: str) -> Any:  # noqa: ANN401 - the binding has no types
    return getattr(cel.Type, kind.upper())
