"""Type-checks CEL expressions and evaluates them for the clusters of a hub, as OCM's placement controller
does.

OCM loads (sdk-go/pkg/cel/common/values.go): optional types, ext.Strings and the Kubernetes libraries Lists,
Regex, URLs, Quantity, IP, CIDR, Format and Semver, beside its own scores() and parseJSON().
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_optional, ext_strings

from gitops_dsf.diagnostics import Mistake
from gitops_dsf.hub.objects import ManagedCluster
from gitops_dsf.hub.scores import Scores
from gitops_dsf.simulator.cel import limits, lists, quantities, texts
from gitops_dsf.simulator.cel.cluster_view import View, cluster_view
from gitops_dsf.simulator.cel.function import (
    CelUnsupported,
    Function,
    Opaque,
    Overload,
    Unsupported,
    method,
    type_of,
)
from gitops_dsf.simulator.cel.lists import score_functions
from gitops_dsf.simulator.cel.quantities import QuantityFunctions

_FIND = re.compile(r"\.\s*find(?:All)?\s*\(\s*(" + limits.STRING.pattern + r")\s*[,)]", re.DOTALL)
_PLACE = re.compile(r"^ERROR: <input>:(\d+):(\d+): (.*)$", re.MULTILINE)


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
            detail = (
                str(error).removeprefix("INVALID_ARGUMENT: ").removesuffix(" [INVALID_ARGUMENT]")
            )
            raise CelSyntaxError(
                f"compilation failed: {detail}", _mistakes(expression, detail)
            ) from error
        except TypeError as error:  # not valid Unicode
            raise CelUnsupported("an expression that is no text") from error
        self._check_patterns(expression)
        return Checked(serialized=compiled.serialize(), yields=str(compiled.return_type().name()))

    def _check_patterns(self, expression: str) -> None:
        for found in _FIND.finditer(expression):
            problem = texts.regex_error(
                str(self._environment.compile(found.group(1)).eval().value())
            )
            if problem:
                raise CelSyntaxError(
                    f"instantiation failed: {problem}", (Mistake(problem, offset=found.start(1)),)
                )


def library(scores: Scores, quantities: QuantityFunctions) -> tuple[Function, ...]:
    """Every function that OCM offers, over the scores of a hub."""
    return (
        *score_functions(scores),
        *quantities.functions(),
        *_comparisons(),
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
        offset = (
            starts[int(line) - 1] + int(column) - 1 if int(line) <= len(starts) else len(expression)
        )
        found.append(Mistake(reason, offset=min(offset, len(expression))))
    return tuple(found) or (Mistake(detail.partition("\n")[0], offset=None),)


def _declared(function: Function) -> Any:  # noqa: ANN401 - the binding has no types
    return cel.FunctionDecl(
        function.name,
        [
            cel.Overload(
                overload.identifier,
                return_type=_type(overload.returns),
                parameters=[_type(parameter) for parameter in overload.parameters],
                is_member=overload.member,
            )
            for overload in function.overloads
        ],
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


Answer = bool | str | Unsupported
"""True; False; a text: why the expression failed on the cluster, which drops it; or unknown."""


class CelPredicates:
    """Caches answers, which depend only on a cluster and its scores, for all Placements. Not thread-safe."""

    def __init__(self, *, clusters: Sequence[ManagedCluster], scores: Scores) -> None:
        self._clusters = clusters
        self._scores = scores
        self._quantities = QuantityFunctions()
        self._unsupported: str | None = None
        functions = library(scores, self._quantities)
        self._checker = Checker(functions)
        self._running = new_environment([self._bound(function) for function in functions])
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

    def _evaluate(self, program: Any, expression: str, cluster: int) -> bool | str:  # noqa: ANN401 - the binding has no types
        """True, False, or why it fails on this cluster. Raises CelUnsupported if only OCM can say."""
        view, most_scores = self._seen(cluster)
        names, depth = limits.names_in(expression), limits.nesting(expression)
        limits.refuse_cluster(names, view)
        if "replace" in names:
            limits.refuse_growth(expression, longest_text=limits.longest_text(view))
        if depth:
            largest = limits.largest_collection(view, texts=limits.makes_lists(names))
            limits.refuse_cost(expression, depth, max(largest, most_scores))
        self._quantities.forget()
        self._unsupported = None
        try:
            value = program.eval(data={"managedCluster": view})
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
        return (
            str(result) if kind == cel.Type.ERROR else f"the result is not a bool but {kind.name()}"
        )

    def _view(self, cluster: int) -> tuple[View, int]:
        """A cluster as CEL sees it, and the number of items in its largest AddOnPlacementScore."""
        name = self._clusters[cluster].metadata.name
        sizes = (len(table[name].names) for table in self._scores.values() if name in table)
        return cluster_view(self._clusters[cluster]), max(sizes, default=0)

    def _compiled(self, expression: str) -> Any:  # noqa: ANN401 - the binding has no types
        """A program, or why there is none."""
        try:
            return self._running.deserialize(self._checker.check(expression).serialized)
        except CelSyntaxError as error:
            return str(error)
        except CelUnsupported as error:
            return Unsupported(expression, str(error))

    def _bound(self, function: Function) -> Any:  # noqa: ANN401 - the binding has no types
        """For the evaluator: abstract types become maps, and overloads that are then equal become one."""
        merged: dict[tuple[str, ...], Overload] = {}
        for overload in function.overloads:
            merged.setdefault(
                tuple(_kind(parameter) for parameter in overload.parameters), overload
            )
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
        """CEL turns exceptions into values, which `||` can swallow, so CelUnsupported is recorded."""

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
