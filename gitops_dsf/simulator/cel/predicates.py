"""Evaluates CEL expressions of predicates for every cluster of a hub, and caches the answers."""

from __future__ import annotations

from collections.abc import Sequence

from gitops_dsf.hub.objects import ManagedCluster
from gitops_dsf.hub.scores import Scores
from gitops_dsf.simulator.cel.checker import CelSyntaxError
from gitops_dsf.simulator.cel.cluster_view import View, cluster_view
from gitops_dsf.simulator.cel.environment import Environment, Program
from gitops_dsf.simulator.cel.function import CelUnsupported, Unsupported

Answer = bool | str | Unsupported
"""True; False; a text: why the expression failed on the cluster, which drops it; or unknown."""


class CelPredicates:
    """Caches answers. An expression depends only on a cluster and its scores, so an answer is valid for every
    Placement.
    """

    def __init__(self, *, clusters: Sequence[ManagedCluster], scores: Scores) -> None:
        self._clusters = clusters
        self._environment = Environment(scores)
        self._scores = scores
        self._views: dict[int, tuple[View, int]] = {}
        self._programs: dict[str, Program | CelSyntaxError | Unsupported] = {}
        self._answers: dict[str, dict[int, Answer]] = {}

    def check(self, expression: str) -> str | Unsupported | None:
        """None if the expression compiles, else the compiler's message."""
        program = self._program(expression)
        if isinstance(program, CelSyntaxError):
            return str(program)
        return program if isinstance(program, Unsupported) else None

    def answer(self, expression: str, cluster: int) -> Answer:
        """Evaluates an expression, which must compile, for a cluster."""
        answers = self._answers.setdefault(expression, {})
        found = answers.get(cluster)
        if found is None:
            found = answers[cluster] = self._evaluate(expression, cluster)
        return found

    def _evaluate(self, expression: str, cluster: int) -> Answer:
        program = self._program(expression)
        if isinstance(program, Unsupported):
            return program
        if isinstance(program, CelSyntaxError):
            return str(program)
        view, most_scores = self._seen(cluster)
        try:
            return self._environment.evaluate(program, view, most_scores=most_scores)
        except CelUnsupported as error:
            return Unsupported(expression, str(error), self._clusters[cluster].metadata.name)

    def _seen(self, cluster: int) -> tuple[View, int]:
        """A cluster as CEL sees it, and the number of items in its largest AddOnPlacementScore."""
        found = self._views.get(cluster)
        if found is None:
            view = cluster_view(self._clusters[cluster])
            name = self._clusters[cluster].metadata.name
            sizes = (len(table[name].names) for table in self._scores.values() if name in table)
            found = self._views[cluster] = (view, max(sizes, default=0))
        return found

    def _program(self, expression: str) -> Program | CelSyntaxError | Unsupported:
        found = self._programs.get(expression)
        if found is None:
            try:
                found = self._environment.compile(expression)
            except CelSyntaxError as error:
                found = error
            except CelUnsupported as error:
                found = Unsupported(expression, str(error))
            self._programs[expression] = found
        return found
