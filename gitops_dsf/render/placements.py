"""Placements and ManagedClusterSetBindings: where an application may run, and how its clusters are ranked."""

from gitops_dsf.render.objects import Object, Wave, metadata
from gitops_dsf.repository.model.application import DecisionGroups, Toleration
from gitops_dsf.repository.model.base import LabelSelector
from gitops_dsf.resolve.types import ResolvedApplication, ResolvedScore


def binding(cluster_set: str, *, namespace: str) -> Object:
    """Allows Placements of a namespace to choose from a set. OCM's webhook requires both names
    to be equal.
    """
    return {
        "apiVersion": "cluster.open-cluster-management.io/v1beta2",
        "kind": "ManagedClusterSetBinding",
        "metadata": metadata(name=cluster_set, namespace=namespace, wave=Wave.BINDINGS),
        "spec": {"clusterSet": cluster_set},
    }


def placement(app: ResolvedApplication, *, namespace: str) -> Object:
    """Uses mode Exact. Additive would add Balance and Steady, which are not in the source."""
    rules = app.declared.spec.placement
    spec: Object = {}
    if rules.number_of_clusters is not None:
        spec["numberOfClusters"] = rules.number_of_clusters
    spec["clusterSets"] = sorted(rules.cluster_sets)
    predicate = _predicate(app)
    if predicate:
        spec["predicates"] = [{"requiredClusterSelector": predicate}]
    spec["prioritizerPolicy"] = {"mode": "Exact", "configurations": _configurations(app)}
    spec["tolerations"] = [_toleration(item) for item in rules.tolerations]
    spec["decisionStrategy"] = {"groupStrategy": _groups(rules.decision_groups or DecisionGroups())}
    meta = app.declared.metadata
    return {
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "Placement",
        "metadata": metadata(
            name=app.name,
            namespace=namespace,
            wave=Wave.DECISIONS,
            labels=meta.labels,
            annotations=meta.annotations,
        ),
        "spec": spec,
    }


def _configurations(app: ResolvedApplication) -> list[Object]:
    terms: list[Object] = [
        {
            "scoreCoordinate": {
                "type": "AddOn",
                "addOn": {"resourceName": score.resource_name, "scoreName": score.dimension},
            },
            "weight": score.weight * app.score_factor,
        }
        for score in app.scores
    ]
    if app.steady_weight:
        terms.append(
            {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}, "weight": app.steady_weight}
        )
    return terms


def _predicate(app: ResolvedApplication) -> Object:
    predicate: Object = {}
    selector = app.declared.spec.placement.cluster_selector
    if selector is not None:
        predicate["labelSelector"] = _selector(selector)
    if app.declared.spec.on_missing_score == "Exclude":
        predicate["celSelector"] = {"celExpressions": [_has_score(score) for score in app.scores]}
    return predicate


def _has_score(score: ResolvedScore) -> str:
    resource, dimension = _cel_string(score.resource_name), _cel_string(score.dimension)
    return f"managedCluster.scores({resource}).exists(score, score.name == {dimension})"


def _cel_string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def _selector(selector: LabelSelector) -> Object:
    result: Object = {}
    if selector.match_labels:
        result["matchLabels"] = dict(sorted(selector.match_labels.items()))
    if selector.match_expressions:
        result["matchExpressions"] = [
            {
                "key": term.key,
                "operator": term.operator,
                **({"values": list(term.values)} if term.values else {}),
            }
            for term in selector.match_expressions
        ]
    return result


def _toleration(item: Toleration) -> Object:
    return {key: value for key, value in item.model_dump(mode="json").items() if value is not None}


def _groups(groups: DecisionGroups) -> Object:
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
