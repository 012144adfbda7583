"""Checks raw Placements: their fields, what OCM would do with them, and the traps of the scheduler.

The CRD gives the fields, and the simulator says what OCM would do. Neither reports the traps
(docs/decisions/scheduler.md#traps).

Not guaranteed: that a Placement without findings decides for a cluster on the hub. Clusters, taints
and scores there are unknown here.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from dsf_wire.dimension import can_yield, placeholders
from gitops_dsf.argocd import fields
from gitops_dsf.diagnostics import Diagnostic, Edit, codes
from gitops_dsf.hub.points import mean_weight, points_of, points_text
from gitops_dsf.hub.scorers import ScoreKey
from gitops_dsf.repository.load import Document, FieldPath, value_at
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.foreign import RawPlacement
from gitops_dsf.resolve.cel import cel_mistakes
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.label_selectors import invalid
from gitops_dsf.resolve.object_shapes import misfits
from gitops_dsf.resolve.ranked_scores import how_zero_wins
from gitops_dsf.resolve.raw_placements import (
    UNREAD,
    WRITTEN_BY_THE_CRD,
    expressions,
    reads_score,
    resources_ranked_by,
    verdict_on_any_cluster,
)
from gitops_dsf.resolve.rules.external_scores import undeclared_hint
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.wording import did_you_mean

_POLICY: Final[FieldPath] = ("spec", "prioritizerPolicy")
_GROUPS: Final[FieldPath] = ("spec", "decisionStrategy", "groupStrategy")
_COUNT: Final[FieldPath] = ("spec", "numberOfClusters")
_WIDEST: Final = 200
"""The points by which built-in prioritizers, and scores that are not declared here, can differ."""


@rule()
def placements_work(context: Context) -> Iterator[Diagnostic]:
    """Each raw Placement must have the fields of the CRD, and OCM must be able to schedule it."""
    schema = fields.placement_spec()
    # A field that OCM accepts and ignores has a finding of its own.
    properties = {**{name: {} for name in UNREAD}, **schema["properties"]}
    for placement in context.declared.placements:
        shape = list(misfits(placement.document, {**schema, "properties": properties}, "spec"))
        yield from shape
        yield from _unread(placement)
        if all(finding.code == codes.UNKNOWN_FIELD.id for finding in shape):
            yield from _selectors(placement.document)
            yield from _refused(placement)
            yield from _implicit(placement.document)
            yield from _prioritizers(placement.document)
            yield from _steady_for_ever(context, placement)


@rule(needs=("DynamicScorer",))
def placements_rank_by_known_scores(context: Context) -> Iterator[Diagnostic]:
    """A score that no cluster publishes counts as 0 everywhere."""
    if context.scorers.keys() != context.complete.keys():
        return  # an incomplete scorer has its own finding, and may be the one that is meant
    scorers = {scorer.resource_name: scorer for scorer in context.complete.values()}
    for placement in context.declared.placements:
        for path, resource in resources_ranked_by(placement.document):
            item_path = (*path[:-1], "scoreName")
            name = value_at(placement.document.data, item_path)
            if not isinstance(name, str):
                continue
            # A score that is never published ranks by the names of clusters, and no condition
            # reports it.
            scorer = scorers.get(resource)
            if scorer is None:
                yield from _of_add_on(context, placement, path, (resource, name), scorers)
                continue
            template = scorer.dimension_format
            if not can_yield(template, name, score_name=scorer.score_name):
                yield codes.DIMENSION.at(
                    placement.at(*item_path),
                    f"{scorer.name} names its items {template}, which never gives '{name}'",
                    "name an item that the scorer publishes",
                )
            elif placeholders(name):
                yield codes.DIMENSION.at(
                    placement.at(*item_path),
                    f"scoreName is the name of one item, and in '{name}' nothing is filled in: only"
                    " a scoreDimensionFormat has placeholders",
                    "name an item that the scorer publishes",
                )
            yield from _missing_wins(placement, path, scorer, mapped=not context.is_upstream)


def _of_add_on(
    context: Context,
    placement: Item[RawPlacement],
    path: FieldPath,
    score: ScoreKey,
    scorers: Mapping[str, EffectiveScorer],
) -> Iterator[Diagnostic]:
    """Findings about a score at `path` that no scorer here publishes."""
    resource, name = score
    external = context.external_scores
    declared = external.of(resource, name)
    if declared is not None:
        if _is_required(placement.document, resource):
            return
        weight = _weight_at(placement, path)
        if message := how_zero_wins(f"{resource}/{name}", declared.published, weight):
            yield codes.MISSING_BEATS_REAL.at(
                placement.at(*path),
                message,
                "require the score in a CEL predicate; or write the range in spec.externalScores,"
                " if the add-on publishes no such values",
            )
        return
    if resource in external.names_by_resource:
        yield codes.UNDECLARED_SCORE.at(
            placement.at(*path[:-1], "scoreName"),
            f"spec.externalScores of gitops-dsf.yaml has no {resource}/{name}",
            undeclared_hint(context, resource, name),
        )
        return
    resource_name = resource or "an empty name"
    if similar := did_you_mean(resource, {*scorers, *external.names_by_resource}):
        yield codes.UNKNOWN_SCORER.at(
            placement.at(*path),
            f"no scorer here publishes {resource_name}: every cluster would count as 0",
            similar,
        )
        return
    yield codes.FOREIGN_SCORE.at(
        placement.at(*path),
        f"no scorer here publishes {resource_name}; if no other add-on does, every cluster counts"
        " as 0",
        "declare it under spec.externalScores of gitops-dsf.yaml, if an add-on of the fleet"
        " publishes it",
    )


def _is_required(document: Document, resource: str) -> bool:
    """Whether a CEL predicate asks for this score, so that a cluster without it is not eligible."""
    return any(reads_score(expression, {resource}) for _, expression in expressions(document))


def _weight_at(placement: Item[RawPlacement], path: FieldPath) -> int:
    """The weight of the prioritizer whose score is at `path`."""
    own_weight = value_at(placement.document.data, (*path[:-3], "weight"))
    # OCM's CRD has the default 1 for a weight that is left out.
    return own_weight if isinstance(own_weight, int) else 1


def _missing_wins(
    placement: Item[RawPlacement], path: FieldPath, scorer: EffectiveScorer, *, mapped: bool
) -> Iterator[Diagnostic]:
    """Whether a cluster without the score at `path` beats clusters that have it.

    `mapped`: whether a scoreRange has an effect. Upstream's agent maps no scores.
    """
    if _is_required(placement.document, scorer.resource_name):
        return
    weight = _weight_at(placement, path)
    if message := how_zero_wins(scorer.name, scorer.published, weight):
        hint = "give the scorer a scoreRange"
        if not mapped:
            hint = f"choose by a CEL predicate only clusters that have {scorer.resource_name}"
        elif weight <= 0:
            hint = (
                "swap outputMin and outputMax of the scorer's scoreRange, and write a positive"
                " weight"
            )
        yield codes.MISSING_BEATS_REAL.at(placement.at(*path), message, hint)


def _unread(placement: Item[RawPlacement]) -> Iterator[Diagnostic]:
    for field, hint in UNREAD.items():
        value = placement.value.spec.get(field)
        if value not in (None, WRITTEN_BY_THE_CRD.get(field)):
            yield codes.UNREAD_FIELD.at(
                placement.document.key_at(("spec", field)),
                f"{field} has no effect: no controller of OCM reads it",
                hint,
            )


def _refused(placement: Item[RawPlacement]) -> Iterator[Diagnostic]:
    """The fields that OCM refuses, or panics at."""
    verdict = verdict_on_any_cluster(placement.value.spec)
    status = verdict.status
    document = placement.document
    # With OPENSHIFT_ON_PANIC=crash the process ends, and OCM 1.2.1 schedules no Placement of the
    # hub.
    if verdict.panic is not None:
        yield codes.CLUSTER_COUNT.at(
            document.at(_COUNT),
            f"at {value_at(document.data, _COUNT)} OCM's placement controller panics whenever it"
            " reconciles this Placement, and the old decision stays",
            "write 1 or more, or leave it out for all",
        )
    # numberOfClusters 0 is valid for OCM 1.2.1: it empties the decision.
    elif not status.failed and not verdict.chosen:
        yield codes.CLUSTER_COUNT.at(
            document.at(_COUNT),
            "0 selects nothing and evicts everything",
            "write 1 or more, or leave it out for all",
        )
    # After any such error OCM 1.2.1 empties or deletes the decision, on every cluster.
    elif status.failed:
        message = f"OCM refuses the Placement, and evicts everything: {status.message}"
        if status.plugin == "TaintToleration":
            yield codes.TOLERATION.at(document.key_at(("spec", "tolerations")), message)
        elif verdict.ranking is None:
            yield codes.PRIORITIZER.at(document.key_at(_POLICY), message)
        else:
            yield codes.DECISION_GROUPS.at(document.key_at(_GROUPS), message)


def _selectors(document: Document) -> Iterator[Diagnostic]:
    """Selectors of labels and claims, and expressions."""
    selectors: list[FieldPath] = []
    for predicate in document.items("spec", "predicates"):
        selectors.append((*predicate, "requiredClusterSelector"))
    for group in document.items(*_GROUPS, "decisionGroups"):
        selectors.append((*group, "groupClusterSelector"))
    for selector in selectors:
        for name in ("labelSelector", "claimSelector"):
            path = (*selector, name)
            yield from invalid(document, path, value_at(document.data, path))
        for path in document.items(*selector, "celSelector", "celExpressions"):
            expression = value_at(document.data, path)
            if isinstance(expression, str):
                yield from _expression(document, path, expression)


def _expression(document: Document, path: FieldPath, text: str) -> Iterator[Diagnostic]:
    """Checks whether the expression compiles and yields a bool.

    The clusters that it selects are left to the simulator.
    """
    if not text.strip():
        yield codes.CEL_SYNTAX.at(
            document.at(path),
            "an empty CEL expression: OCM refuses the Placement, and evicts everything",
            "remove the item",
        )
        return
    mistakes = cel_mistakes(text)
    for mistake in mistakes:
        is_placed = mistake.offset is not None
        position = document.inside(path, mistake.offset or 0) if is_placed else document.at(path)
        yield codes.CEL_SYNTAX.at(position, mistake.message, mistake.hint)
    # OCM 1.2.1 schedules for a changed score only if a prioritizer reads it. What only CEL reads
    # waits for the resync every ten minutes, and CEL does not look at validUntil.
    if not mistakes and ".scores(" in text:
        yield codes.CEL_PREDICATE.at(
            document.at(path),
            "OCM looks at scores in CEL at most every 10 minutes, and does not see that a score has"
            " expired",
            "rank by the score with a prioritizer, and use CEL only for its existence",
        )


def _implicit(document: Document) -> Iterator[Diagnostic]:
    """Defaults of the API server that decide what ranks the clusters."""
    # With Additive, OCM adds Balance and Steady at weight 1, so that a Placement hardly ever moves.
    defaults: list[tuple[FieldPath, str, str | int]] = [(_POLICY, "mode", "Additive")]
    for holder in document.items(*_POLICY, "configurations"):
        defaults.append((holder, "weight", 1))
        defaults.append(((*holder, "scoreCoordinate"), "type", "BuiltIn"))
    for holder, field, default in defaults:
        value = value_at(document.data, holder)
        if isinstance(value, dict) and value and value.get(field) is None:
            yield codes.IMPLICIT_DEFAULT.at(
                document.key_at(holder),
                f"{field} is not set, so the API server sets {default}",
                f"write {field}: {default}",
                edits=(Edit((*holder, field), value=default),),
            )


def _prioritizers(document: Document) -> Iterator[Diagnostic]:
    """Prioritizers that rank the clusters twice, and the lack of one that holds moves back."""
    policy = value_at(document.data, _POLICY) or {}
    # With mode Additive, OCM adds Steady itself.
    has_steady = policy.get("mode") != "Exact"
    has_score = False
    seen: set[tuple[str, ...]] = set()
    for configuration in document.items(*_POLICY, "configurations"):
        weight = value_at(document.data, (*configuration, "weight"))
        coordinate = value_at(document.data, (*configuration, "scoreCoordinate"))
        key = _prioritizer(coordinate)
        is_score = key[0] == "AddOn"
        if is_score and weight != 0:
            has_score = True
        if key == ("BuiltIn", "Steady"):
            has_steady = weight is None or weight > 0
        # OCM 1.2.1 keys weights by ScoreCoordinate, which holds a pointer for add-on scores: two
        # equal ones are two entries. A built-in one has no pointer, so the last weight wins.
        if key in seen:
            name = "/".join(key[1:])
            yield codes.DUPLICATE_COORDINATE.at(
                document.key_at((*configuration, "scoreCoordinate")),
                f"{name} is listed twice; the weights add up"
                if is_score
                else f"{name} is listed twice; the last one wins",
                "keep one entry",
            )
        seen.add(key)
    if has_score and not has_steady:
        yield codes.NO_STEADY.at(
            document.key_at((*_POLICY, "configurations")),
            "without Steady a workload moves as soon as another cluster is one point better",
            "add the BuiltIn prioritizer Steady with a weight",
        )


def _prioritizer(coordinate: dict[str, object]) -> tuple[str, ...]:
    """The identity of a prioritizer: its type and names."""
    if coordinate.get("type") != "AddOn":
        return ("BuiltIn", str(coordinate.get("builtIn")))
    add_on = coordinate.get("addOn")
    names = add_on if isinstance(add_on, dict) else {}
    return ("AddOn", str(names.get("resourceName")), str(names.get("scoreName")))


def _steady_for_ever(context: Context, placement: Item[RawPlacement]) -> Iterator[Diagnostic]:
    """A weight of Steady that everything else together cannot overcome."""
    if placement.value.spec.get("numberOfClusters") is None:
        return
    widths = {scorer.resource_name: scorer.width for scorer in context.scorers.values()}
    for resource, span in context.external_scores.spans().items():
        widths.setdefault(resource, span.width)
    prioritizers = verdict_on_any_cluster(placement.value.spec).prioritizers
    steady = 0
    lead = 0
    for result in prioritizers:
        # Steady scores 100 for a cluster in the decision, and 0 for any other.
        if result.prioritizer.built_in == "Steady":
            steady = 100 * result.weight
        else:
            lead += abs(result.weight) * widths.get(result.prioritizer.resource, _WIDEST)
    if steady > lead > 0:
        weight = mean_weight(prioritizers)
        bonus = points_text(points_of(steady, weight))
        difference = points_text(points_of(lead, weight))
        yield codes.UNREACHABLE_STICKINESS.at(
            placement.document.key_at(_POLICY),
            f"Steady gives {bonus} points to the clusters that are chosen, and all other"
            " prioritizers"
            f" together can differ by {difference}: the decision never changes by scores",
            "lower the weight of Steady, or raise the weights of the scores",
        )
