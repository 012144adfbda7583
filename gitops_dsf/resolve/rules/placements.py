"""Checks raw Placements: their fields by the CRD, what OCM would do with them by the simulator, and the traps
of the scheduler that neither reports (docs/decisions/scheduler.md#traps).

CEL expressions are checked as OCM's compiler does. The engine is the simulator's. It is imported when the
first expression is checked, because most repositories have none.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from dsf_wire.dimension import can_yield
from gitops_dsf.argocd import fields
from gitops_dsf.diagnostics import Diagnostic, Edit, Mistake, Position, codes
from gitops_dsf.hub.points import mean_weight, points_of, points_text
from gitops_dsf.repository.load import Document, Path, value_at
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.foreign import RawPlacement
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.rankings import how_zero_wins, resources_ranked_by, width
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.resolve.rules.selectors import invalid, misfits
from gitops_dsf.wording import did_you_mean, shortened

if TYPE_CHECKING:
    from gitops_dsf.simulator import Verdict
    from gitops_dsf.simulator.cel.checker import Checker

UNREAD: Final[Mapping[str, str]] = {
    "scoreRateLimit": (
        "remove it; what holds moves back is a weight of the built-in Steady, or a larger publish.deadband of"
        " the scorer"
    ),
    "sortBy": "remove it; clusters are ranked by prioritizerPolicy alone",
    "spreadPolicy": "remove it; write one Placement for each topology to spread over",
}
"""Fields of `spec` that the API server accepts and OCM's controllers never read, and what to write instead.
The CRD of the pinned OCM has the last one, the CRD of OCM's main branch all three.
tests/hub/test_unread_fields.py searches the source of the pinned OCM.
"""
_POLICY: Final[Path] = ("spec", "prioritizerPolicy")
_GROUPS: Final[Path] = ("spec", "decisionStrategy", "groupStrategy")


@rule()
def placements_work(context: Context) -> Iterator[Diagnostic]:
    """Each raw Placement must have the fields of the CRD, and OCM must be able to schedule it."""
    schema = fields.placement_spec()
    known = {**{name: {} for name in UNREAD}, **schema["properties"]}
    for item in context.declared.placements:
        found = list(misfits(item.document, {**schema, "properties": known}, "spec"))
        yield from found
        yield from _unread(item)
        if all(one.code == codes.UNKNOWN_FIELD.id for one in found):
            yield from _selectors(item.document)
            yield from _refused(item)
            yield from _implicit(item.document)
            yield from _rankings(item.document)
            yield from _steady_for_ever(context, item)


@rule(needs=("DynamicScorer",))
def placements_rank_by_known_scores(context: Context) -> Iterator[Diagnostic]:
    """A score that no cluster publishes counts as 0 everywhere."""
    if context.scorers.keys() != context.complete.keys():
        return  # an incomplete scorer has its own finding, and may be the one that is meant
    scorers = {scorer.resource_name: scorer for scorer in context.complete.values()}
    for item in context.declared.placements:
        for place, resource in resources_ranked_by(item.document):
            score = value_at(item.document.data, (*place[:-1], "scoreName"))
            weight = value_at(item.document.data, (*place[:-3], "weight"))
            scorer = scorers.get(resource)
            if not isinstance(score, str):
                continue
            if scorer is None:
                yield _unpublished(item.at(*place), resource, did_you_mean(resource, scorers))
                continue
            template = scorer.dimension_format
            if not can_yield(template, score, score_name=scorer.score_name):
                message = f"{scorer.name} names its items {template}, which never gives {score}"
                position = item.at(*place[:-1], "scoreName")
                yield codes.DIMENSION.at(
                    position, message, "name an item that the scorer publishes"
                )
            weight = weight if isinstance(weight, int) else 1
            if message := how_zero_wins(scorer, weight):
                swap = "swap outputMin and outputMax of the scorer's scoreRange, and write a positive weight"
                hint = "give the scorer a scoreRange" if weight > 0 else swap
                yield codes.MISSING_BEATS_REAL.at(item.at(*place), message, hint)


def _unpublished(position: Position, resource: str, close: str) -> Diagnostic:
    message = f"no scorer here publishes {resource or 'an empty name'}"
    if close:
        return codes.UNKNOWN_SCORER.at(
            position, f"{message}: every cluster would count as 0", close
        )
    message = f"{message}; if no other add-on does, every cluster counts as 0"
    return codes.FOREIGN_SCORE.at(
        position, message, "make sure that an add-on of the fleet publishes it"
    )


def _unread(item: Item[RawPlacement]) -> Iterator[Diagnostic]:
    for field, hint in UNREAD.items():
        if item.value.spec.get(field) is not None:
            message = f"{field} has no effect: no controller of OCM reads it"
            yield codes.UNREAD_FIELD.at(item.document.key_at(("spec", field)), message, hint)


def _refused(item: Item[RawPlacement]) -> Iterator[Diagnostic]:
    """What OCM refuses, or panics at. Asked about a fleet of one cluster, which the Placement may choose."""
    verdict = _verdict(item.value.spec)
    status, document = verdict.status, item.document
    number: Path = ("spec", "numberOfClusters")
    if verdict.panic is not None or (not status.failed and not verdict.chosen):
        effect = "0 selects nothing and evicts everything"
        if verdict.panic is not None:
            panics = "OCM's placement controller panics whenever it looks at this Placement"
            effect = f"at {value_at(document.data, number)} {panics}, whose old decision stays"
        yield codes.CLUSTER_COUNT.at(
            document.at(number), effect, "write 1 or more, or leave it out for all"
        )
    elif status.failed:
        code, place = codes.DECISION_GROUPS, _GROUPS
        if verdict.ranking is None:
            code, place = codes.PRIORITIZER, _POLICY
        if status.plugin == "TaintToleration":
            code, place = codes.TOLERATION, ("spec", "tolerations")
        message = f"OCM refuses the Placement, and evicts everything: {status.message}"
        yield code.at(document.key_at(place), message)


def _verdict(spec: Mapping[str, Any]) -> "Verdict":
    from gitops_dsf.simulator import simulate, with_defaults  # noqa: PLC0415 - few repositories have Placements

    left = {
        name: value
        for name, value in spec.items()
        if name not in {"clusterSets", "predicates", *UNREAD}
    }
    group = "cluster.open-cluster-management.io"
    everything = {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}}
    metadata = {"name": "global", "namespace": "n"}
    objects = [
        {"kind": "ManagedCluster", "apiVersion": f"{group}/v1", "metadata": {"name": "c"}},
        {"kind": "ManagedClusterSet", "metadata": {"name": "global"}, "spec": everything},
        {
            "kind": "ManagedClusterSetBinding",
            "metadata": metadata,
            "spec": {"clusterSet": "global"},
        },
        {"kind": "Placement", "metadata": {"name": "p", "namespace": "n"}, "spec": left},
    ]
    return simulate(with_defaults(objects), "n/p", "2026-01-01T00:00:00Z")


def _selectors(document: Document) -> Iterator[Diagnostic]:
    """Selectors of labels and claims, and expressions."""
    groups = document.items(*_GROUPS, "decisionGroups")
    for place in (
        *((*place, "requiredClusterSelector") for place in document.items("spec", "predicates")),
        *((*place, "groupClusterSelector") for place in groups),
    ):
        for name in ("labelSelector", "claimSelector"):
            where = (*place, name)
            yield from invalid(document, where, value_at(document.data, where))
        for where in document.items(*place, "celSelector", "celExpressions"):
            text = value_at(document.data, where)
            if isinstance(text, str):
                yield from _expression(document, where, text)


def _expression(document: Document, place: Path, text: str) -> Iterator[Diagnostic]:
    """Whether the expression compiles and yields a bool. What it selects is left to the simulator."""
    if not text.strip():
        message = "an empty CEL expression: OCM refuses the Placement, and evicts everything"
        yield codes.CEL_SYNTAX.at(document.at(place), message, "remove the item")
        return
    mistakes = cel_mistakes(text)
    for mistake in mistakes:
        known = mistake.offset is not None
        position = document.inside(place, mistake.offset or 0) if known else document.at(place)
        yield codes.CEL_SYNTAX.at(position, mistake.message, mistake.hint)
    if mistakes:
        return
    if ".scores(" in text:
        message = "OCM looks at scores in CEL at most every 10 minutes"
        message = f"{message}, and does not see that a score has expired"
        hint = "rank by the score with a prioritizer, and use CEL only for its existence"
        yield codes.CEL_PREDICATE.at(document.at(place), message, hint)


def _implicit(document: Document) -> Iterator[Diagnostic]:
    """Defaults of the API server that decide what ranks the clusters."""
    configurations = list(document.items(*_POLICY, "configurations"))
    defaults: list[tuple[Path, str, str | int]] = [
        (_POLICY, "mode", "Additive"),
        *((place, "weight", 1) for place in configurations),
        *(((*place, "scoreCoordinate"), "type", "BuiltIn") for place in configurations),
    ]
    for place, field, default in defaults:
        value = value_at(document.data, place)
        if isinstance(value, dict) and value and value.get(field) is None:
            message = f"{field} is left to the API server, which takes {default}"
            edits = (Edit((*place, field), value=default),)
            hint = f"write {field}: {default}"
            yield codes.IMPLICIT_DEFAULT.at(document.key_at(place), message, hint, edits=edits)


def _rankings(document: Document) -> Iterator[Diagnostic]:
    """What ranks the clusters twice, and whether anything holds moves back."""
    policy = value_at(document.data, _POLICY) or {}
    steady, scored = policy.get("mode") != "Exact", False
    seen: set[tuple[str, ...]] = set()
    for place in document.items(*_POLICY, "configurations"):
        weight = value_at(document.data, (*place, "weight"))
        coordinate = value_at(document.data, (*place, "scoreCoordinate"))
        add_on = coordinate.get("addOn") or {}
        key: tuple[str, ...]
        if coordinate.get("type") == "AddOn":
            key = ("AddOn", str(add_on.get("resourceName")), str(add_on.get("scoreName")))
            effect = "the weights add up"
        else:
            key, effect = ("BuiltIn", str(coordinate.get("builtIn"))), "the last one wins"
        scored = scored or (key[0] == "AddOn" and weight != 0)
        if key == ("BuiltIn", "Steady"):
            steady = weight is None or weight > 0
        if key in seen:
            position = document.key_at((*place, "scoreCoordinate"))
            message = f"{'/'.join(key[1:])} is listed twice; {effect}"
            yield codes.DUPLICATE_COORDINATE.at(position, message, "keep one entry")
        seen.add(key)
    if scored and not steady:
        position = document.key_at((*_POLICY, "configurations"))
        message = "without Steady a workload moves as soon as another cluster is one point better"
        yield codes.NO_STEADY.at(
            position, message, "add the BuiltIn prioritizer Steady with a weight"
        )


def _steady_for_ever(context: Context, item: Item[RawPlacement]) -> Iterator[Diagnostic]:
    """A weight of Steady that everything else together cannot overcome.

    A score that no scorer here publishes, and every built-in prioritizer, can differ by 200 points.
    """
    if item.value.spec.get("numberOfClusters") is None:
        return
    widths = {scorer.resource_name: width(scorer) for scorer in context.scorers.values()}
    steady, lead = 0, 0
    prioritizers = _verdict(item.value.spec).prioritizers
    weight = mean_weight(prioritizers)
    for result in prioritizers:
        if result.prioritizer.built_in == "Steady":
            steady = 100 * result.weight
        else:
            lead += abs(result.weight) * widths.get(result.prioritizer.resource, 200)
    if steady > lead > 0:
        position = item.document.key_at(_POLICY)
        bonus, differ = points_text(points_of(steady, weight)), points_text(points_of(lead, weight))
        message = (
            f"Steady gives {bonus} points to the clusters that are chosen, and all other prioritizers"
            f" together can differ by {differ}: the decision never changes by scores"
        )
        hint = "lower the weight of Steady, or raise the weights of the scores"
        yield codes.UNREACHABLE_STICKINESS.at(position, message, hint)


@lru_cache(maxsize=4096)
def cel_mistakes(expression: str) -> tuple[Mistake, ...]:
    """The mistakes of one expression; none if the engine cannot judge it. Never raises."""
    from gitops_dsf.simulator.cel.checker import CelSyntaxError  # noqa: PLC0415
    from gitops_dsf.simulator.cel.function import CelUnsupported  # noqa: PLC0415

    try:
        checked = _checker().check(expression)
    except CelUnsupported:
        return ()
    except CelSyntaxError as error:
        syntax = [item for item in error.mistakes if item.message.startswith("Syntax error")]
        return tuple(
            Mistake(_refused_cel(each.message), offset=each.offset)
            for each in syntax[:1] or error.mistakes
        )
    kind = checked.yields.partition("<")[0]
    if kind in {"BOOL", "DYN"}:
        return ()
    name = kind.rpartition(".")[2].removesuffix("_type").lower()
    effect = "OCM drops every cluster without reporting it"
    message = f"CEL: the expression yields {name}, not true or false: {effect}"
    compare = "compare it with something, such as ... == ..."
    return (Mistake(message, "end it with .orValue(false)" if name == "optional" else compare),)


@lru_cache(maxsize=1)
def _checker() -> "Checker":
    from gitops_dsf.simulator.cel.checker import Checker  # noqa: PLC0415

    return Checker()


def _refused_cel(reason: str) -> str:
    words = (
        reason.removeprefix("Syntax error: ")
        .partition(" expecting ")[0]
        .partition(" (in container")[0]
    )
    return f"CEL: {shortened(words)}: OCM refuses the Placement, and evicts everything"
