"""The hub as it would be: rendered Placements and bindings, inventory clusters and sets, and what a snapshot knows.

Who wins where two know something: the repository says which Placements and bindings there are; a hub says which labels, taints,
claims and resources a cluster has, field by field, because that is what OCM reads. Clusters that only one side knows count too.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from gitops_dsf.hub.names import CLUSTER_SET_LABEL
from gitops_dsf.repository.model.cluster import BUILT_IN_SETS, ManagedCluster, ManagedClusterSet
from gitops_dsf.simulator import HubState, SimulatorInputError, with_defaults
from gitops_dsf.snapshot.asobjects import binding_object, decision_object, score_objects
from gitops_dsf.snapshot.values import Decision, Facts, PublishedScore, Snapshot
from gitops_dsf.views.preview.errors import PreviewError
from gitops_dsf.views.preview.fleet import Fleet, Object

Scores = Mapping[str, Mapping[str, PublishedScore]]
"""By AddOnPlacementScore name, then by cluster."""


def hub_state(fleet: Fleet, snapshot: Snapshot | None, *, scores: Scores | None = None, decisions: Iterable[Decision] = ()) -> HubState:
    """What OCM would see after Argo CD applied the repository. Scores, if given, replace the snapshot's. Raises PreviewError."""
    found = (snapshot.scores if snapshot else {}) if scores is None else scores
    documents = [
        *placements(fleet, has_scores=snapshot is not None),
        *_bindings(fleet, snapshot),
        *_clusters(fleet, snapshot),
        *_sets(fleet, snapshot),
        *score_objects(found),
        *(decision_object(item) for item in decisions),
    ]
    try:
        return HubState.build(documents)
    except SimulatorInputError as error:
        msg = f"no hub could hold this: {error}"
        raise PreviewError(msg) from error


def with_decisions(state: HubState, decisions: Iterable[Decision]) -> HubState:
    """The same hub with other PlacementDecisions."""
    return replace(state, decisions=HubState.build([decision_object(item) for item in decisions]).decisions)


def placements(fleet: Fleet, *, has_scores: bool) -> Iterable[Object]:
    """Placements as an API server would store them; without scores, no predicate may ask for them."""
    found = list(fleet.placements.values())
    return with_defaults(found if has_scores else [_without_score_predicates(item) for item in found])


def asks_for_scores(placement: Object) -> bool:
    """Whether a predicate reads scores (onMissingScore: Exclude, or CEL by hand)."""
    return any(".scores(" in text for text in _expressions(placement))


def _expressions(placement: Object) -> Iterator[str]:
    for predicate in placement["spec"].get("predicates") or ():
        selector = (predicate.get("requiredClusterSelector") or {}).get("celSelector") or {}
        yield from selector.get("celExpressions") or ()


def _without_score_predicates(placement: Object) -> Object:
    if not asks_for_scores(placement):
        return placement
    predicates = []
    for predicate in placement["spec"]["predicates"]:
        selector = dict(predicate.get("requiredClusterSelector") or {})
        cel = selector.get("celSelector") or {}
        selector["celSelector"] = {"celExpressions": [text for text in cel.get("celExpressions") or () if ".scores(" not in text]}
        predicates.append({**predicate, "requiredClusterSelector": selector})
    return {**placement, "spec": {**placement["spec"], "predicates": predicates}}


def _bindings(fleet: Fleet, snapshot: Snapshot | None) -> Iterator[Object]:
    yield from fleet.bindings
    rendered = {(item["metadata"]["namespace"], item["metadata"]["name"]) for item in fleet.bindings}
    for namespace, name in snapshot.bindings if snapshot else ():
        if (namespace, name) not in rendered:
            yield binding_object(namespace, name)


def _clusters(fleet: Fleet, snapshot: Snapshot | None) -> Iterator[Object]:
    known = snapshot.clusters if snapshot else {}
    for item in fleet.resolved.clusters:
        yield _cluster(item, known.get(item.metadata.name))
    for name in sorted(set(known) - fleet.cluster_names):
        yield _with_set({"kind": "ManagedCluster", **known[name]})


def _cluster(item: ManagedCluster, facts: Facts | None) -> Object:
    metadata: dict[str, Any] = {"name": item.metadata.name, "labels": dict(item.metadata.labels)}
    status: dict[str, Any] = {
        "clusterClaims": [{"name": claim.name, "value": claim.value} for claim in item.status.cluster_claims],
        "allocatable": item.status.allocatable,
        "capacity": item.status.capacity,
    }
    spec: dict[str, Any] = {"hubAcceptsClient": item.spec.hub_accepts_client, "taints": item.spec.taints}
    if facts is not None:
        metadata |= facts.get("metadata") or {}
        spec |= facts.get("spec") or {}
        status |= facts.get("status") or {}
    return _with_set({"kind": "ManagedCluster", "metadata": metadata, "spec": spec, "status": status})


def _with_set(cluster: dict[str, Any]) -> Object:
    """OCM's registration webhook labels clusters without a set as members of `default`."""
    metadata = cluster["metadata"]
    return {**cluster, "metadata": {**metadata, "labels": {CLUSTER_SET_LABEL: "default", **(metadata.get("labels") or {})}}}


def _sets(fleet: Fleet, snapshot: Snapshot | None) -> Iterator[Object]:
    """The hub's word about a set wins; then the inventory's; OCM creates `default` and `global` itself."""
    known = snapshot.sets if snapshot else {}
    yield from known.values()
    declared = {item.metadata.name: item for item in fleet.resolved.cluster_sets}
    for name, item in declared.items():
        if name not in known:
            yield _set(item)
    for name in BUILT_IN_SETS:
        if name not in known and name not in declared:
            selector = {"selectorType": "LabelSelector", "labelSelector": {}} if name == "global" else {}
            yield {"kind": "ManagedClusterSet", "metadata": {"name": name}, "spec": {"clusterSelector": selector}}


def _set(item: ManagedClusterSet) -> Object:
    return {
        "kind": "ManagedClusterSet",
        "metadata": {"name": item.metadata.name},
        "spec": {"clusterSelector": item.spec.cluster_selector.model_dump(mode="json", exclude_none=True)},
    }
