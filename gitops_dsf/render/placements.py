"""Placements and ManagedClusterSetBindings: the eligible clusters, and their ranking."""

import msgspec

from gitops_dsf.hub.multikueue import MULTIKUEUE_ANNOTATION
from gitops_dsf.hub.pace import HOLD_WEIGHT, MOVES_SCORE, PACE_ANNOTATION
from gitops_dsf.render.objects import Object, Wave, metadata
from gitops_dsf.repository.model.base import LabelSelector, Requirement
from gitops_dsf.repository.model.ranking import (
    DecisionGroup,
    DecisionGroups,
    PlacementRules,
    SharedPlacementRules,
)
from gitops_dsf.resolve.ranked_scores import ResolvedScore
from gitops_dsf.resolve.rankings import ResolvedPlacement


def binding(cluster_set: str, *, namespace: str, wave: Wave) -> Object:
    """Lets Placements of a namespace choose from a set.

    OCM's webhook requires both names to be equal.
    """
    return {
        "apiVersion": "cluster.open-cluster-management.io/v1beta2",
        "kind": "ManagedClusterSetBinding",
        "metadata": metadata(name=cluster_set, namespace=namespace, wave=wave),
        "spec": {"clusterSet": cluster_set},
    }


def placement(resolved: ResolvedPlacement) -> Object:
    """The Placement of an application or of a ScoredPlacement."""
    rules = resolved.ranking.placement
    spec: Object = {}
    if rules.number_of_clusters is not None:
        spec["numberOfClusters"] = rules.number_of_clusters
    spec["clusterSets"] = sorted(rules.cluster_sets)
    predicate = _predicate(resolved)
    if predicate:
        spec["predicates"] = [{"requiredClusterSelector": predicate}]
    # Additive would add Balance and Steady, which are not in the source.
    spec["prioritizerPolicy"] = {"mode": "Exact", "configurations": _configurations(resolved)}
    spec["tolerations"] = [
        toleration.model_dump(mode="json", exclude_none=True) for toleration in rules.tolerations
    ]
    spec["decisionStrategy"] = {"groupStrategy": _groups(rules)}
    written = resolved.declared.value.metadata
    annotations = dict(written.annotations)
    # The ranking that people wrote for a paced Placement: the reconciler and previews read it.
    if resolved.paced is not None:
        annotations[PACE_ANNOTATION] = msgspec.json.encode(resolved.paced).decode()
    if resolved.multi_kueue is not None:
        annotations[MULTIKUEUE_ANNOTATION] = msgspec.json.encode(resolved.multi_kueue).decode()
    return {
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "Placement",
        "metadata": metadata(
            name=resolved.name,
            namespace=resolved.namespace,
            wave=Wave.DECISIONS,
            labels=written.labels,
            annotations=annotations,
        ),
        "spec": spec,
    }


def _configurations(resolved: ResolvedPlacement) -> list[Object]:
    """The prioritizers, with the weights that OCM adds up."""
    weights = resolved.hold_weights
    if not weights:
        factor = resolved.weights.factor
        weights = tuple(score.weight * factor for score in resolved.scores)
    configurations: list[Object] = []
    for score, weight in zip(resolved.scores, weights, strict=True):
        if score.built_in is None:
            configurations.append(_by_score(score.resource_name, score.dimension, weight))
        else:
            configurations.append(_built_in(score.built_in, weight))
    steady = resolved.weights.steady
    if resolved.paced is not None:
        # A paced Placement is held by Steady whatever the scores say, and moved by an item that the
        # reconciler writes (docs/decisions/paced-moves.md).
        moves = _by_score(MOVES_SCORE, f"{resolved.namespace}/{resolved.name}", HOLD_WEIGHT)
        configurations.append(moves)
        steady = HOLD_WEIGHT
    # OCM does not run a prioritizer of weight 0, so it is not rendered.
    if steady:
        configurations.append(_built_in("Steady", steady))
    return configurations


def _by_score(resource: str, dimension: str, weight: int) -> Object:
    coordinate = {"type": "AddOn", "addOn": {"resourceName": resource, "scoreName": dimension}}
    return {"scoreCoordinate": coordinate, "weight": weight}


def _built_in(name: str, weight: int) -> Object:
    return {"scoreCoordinate": {"type": "BuiltIn", "builtIn": name}, "weight": weight}


def _predicate(resolved: ResolvedPlacement) -> Object:
    predicate: Object = {}
    selector = resolved.ranking.placement.cluster_selector
    if selector is not None:
        predicate["labelSelector"] = _selector(selector)
    if resolved.ranking.on_missing_score == "Exclude":
        # OCM's own prioritizers read no score that could be missing.
        scores = [score for score in resolved.scores if score.built_in is None]
        if scores:
            predicate["celSelector"] = {"celExpressions": list(map(_has_score, scores))}
    return predicate


def _has_score(score: ResolvedScore) -> str:
    # JSON texts are CEL texts.
    resource = msgspec.json.encode(score.resource_name).decode()
    dimension = msgspec.json.encode(score.dimension).decode()
    return f"managedCluster.scores({resource}).exists(score, score.name == {dimension})"


def _selector(selector: LabelSelector) -> Object:
    rendered: Object = {}
    if selector.match_labels:
        rendered["matchLabels"] = dict(sorted(selector.match_labels.items()))
    if selector.match_expressions:
        rendered["matchExpressions"] = list(map(_expression, selector.match_expressions))
    return rendered


def _expression(term: Requirement) -> Object:
    # Exists and DoesNotExist have no values.
    return {key: value for key, value in term.model_dump().items() if value}


def _groups(rules: PlacementRules) -> Object:
    """The groups of a decision.

    An application has OCM's default, one group of all clusters.
    """
    groups = DecisionGroups()
    if isinstance(rules, SharedPlacementRules) and rules.decision_groups is not None:
        groups = rules.decision_groups
    rendered: Object = {}
    if groups.groups:
        rendered["decisionGroups"] = list(map(_group, groups.groups))
    rendered["clustersPerDecisionGroup"] = groups.clusters_per_decision_group
    return rendered


def _group(group: DecisionGroup) -> Object:
    return {
        "groupName": group.group_name,
        "groupClusterSelector": {"labelSelector": _selector(group.cluster_selector)},
    }
