"""Placements and ManagedClusterSetBindings: which clusters are eligible, and their ranking."""

import msgspec

from gitops_dsf.hub.pace import HOLD_WEIGHT, MOVES_SCORE, PACE_ANNOTATION
from gitops_dsf.render.objects import Object, Wave, metadata
from gitops_dsf.repository.model.apps import DecisionGroups, PlacementRules, SharedPlacementRules
from gitops_dsf.repository.model.base import LabelSelector
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


def placement(item: ResolvedPlacement) -> Object:
    """Uses mode Exact. Additive would add Balance and Steady, which are not in the source."""
    rules = item.ranking.placement
    spec: Object = {}
    if rules.number_of_clusters is not None:
        spec["numberOfClusters"] = rules.number_of_clusters
    spec["clusterSets"] = sorted(rules.cluster_sets)
    predicate = _predicate(item)
    if predicate:
        spec["predicates"] = [{"requiredClusterSelector": predicate}]
    spec["prioritizerPolicy"] = {"mode": "Exact", "configurations": _configurations(item)}
    spec["tolerations"] = [
        each.model_dump(mode="json", exclude_none=True) for each in rules.tolerations
    ]
    spec["decisionStrategy"] = {"groupStrategy": _groups(rules)}
    # What people wrote about a paced Placement: the reconciler and previews read it.
    pace = {} if item.paced is None else {PACE_ANNOTATION: msgspec.json.encode(item.paced).decode()}
    return {
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "Placement",
        "metadata": metadata(
            name=item.name,
            namespace=item.namespace,
            wave=Wave.DECISIONS,
            labels=item.written.value.metadata.labels,
            annotations=item.written.value.metadata.annotations | pace,
        ),
        "spec": spec,
    }


def _configurations(item: ResolvedPlacement) -> list[Object]:
    weights = item.hold_weights or tuple(
        score.weight * item.weights.factor for score in item.scores
    )
    terms = [
        _by_score(score.resource_name, score.dimension, weight)
        for score, weight in zip(item.scores, weights, strict=True)
    ]
    steady = item.weights.steady
    if item.paced is not None:
        terms.append(_by_score(MOVES_SCORE, f"{item.namespace}/{item.name}", HOLD_WEIGHT))
        steady = HOLD_WEIGHT
    if steady:
        terms.append(
            {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}, "weight": steady}
        )
    return terms


def _by_score(resource: str, dimension: str, weight: int) -> Object:
    coordinate = {"type": "AddOn", "addOn": {"resourceName": resource, "scoreName": dimension}}
    return {"scoreCoordinate": coordinate, "weight": weight}


def _predicate(item: ResolvedPlacement) -> Object:
    predicate: Object = {}
    selector = item.ranking.placement.cluster_selector
    if selector is not None:
        predicate["labelSelector"] = _selector(selector)
    if item.ranking.on_missing_score == "Exclude":
        predicate["celSelector"] = {"celExpressions": [_has_score(score) for score in item.scores]}
    return predicate


def _has_score(score: ResolvedScore) -> str:
    resource, dimension = (
        msgspec.json.encode(name).decode() for name in (score.resource_name, score.dimension)
    )
    return f"managedCluster.scores({resource}).exists(score, score.name == {dimension})"


def _selector(selector: LabelSelector) -> Object:
    found: Object = {}
    if selector.match_labels:
        found["matchLabels"] = dict(sorted(selector.match_labels.items()))
    if selector.match_expressions:
        found["matchExpressions"] = [
            {key: value for key, value in term.model_dump().items() if value}
            for term in selector.match_expressions
        ]
    return found


def _groups(rules: PlacementRules) -> Object:
    """The groups of a decision.

    An application has OCM's default, one group of all clusters.
    """
    groups = DecisionGroups()
    if isinstance(rules, SharedPlacementRules) and rules.decision_groups is not None:
        groups = rules.decision_groups
    result: Object = {}
    if groups.groups:
        result["decisionGroups"] = [
            {
                "groupName": group.group_name,
                "groupClusterSelector": {"labelSelector": _selector(group.cluster_selector)},
            }
            for group in groups.groups
        ]
    result["clustersPerDecisionGroup"] = groups.clusters_per_decision_group
    return result
