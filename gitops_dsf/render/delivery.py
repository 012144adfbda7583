"""The files of rendered/delivery: access to decisions, bindings, Placements, ApplicationSets."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gitops_dsf.argocd import fields
from gitops_dsf.argocd.writeback import written_back
from gitops_dsf.forge.webpage import branch_page
from gitops_dsf.hub.names import BOARD_FILE, SYNC_WAVE
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.render.applicationsets import application_set
from gitops_dsf.render.objects import Object, Wave, filled
from gitops_dsf.render.placements import binding, placement
from gitops_dsf.render.reconciler_rights import decision_rights
from gitops_dsf.repository.model.foreign import DUCK_TYPE_CONFIGMAP
from gitops_dsf.repository.model.repository import DECISION_READERS, FleetRepositorySpec


def delivery(fleet: CheckedFleet) -> Iterator[Object]:
    """The objects of rendered/delivery.

    A Placement and its ApplicationSet are in one wave: a later ApplicationSet would only miss its
    first poll.
    """
    namespace = fleet.repository.spec.argocd.namespace
    yield from decision_readers(namespace, fleet.repository.spec.argocd.decision_readers)
    if fleet.repository.spec.reconciler.enabled:
        for name in fleet.placement_namespaces:
            orders_jobs = name in fleet.multi_kueue.namespaces
            yield from decision_rights(fleet.repository, namespace=name, orders_jobs=orders_jobs)
    for home, cluster_set in _bindings(fleet):
        # Everything in another namespace than Argo CD's is in the last wave. Such a namespace has
        # another owner and may be missing, and a wave that fails holds back the waves after it.
        wave = Wave.DECISIONS
        if home == namespace:
            wave = Wave.BINDINGS
        yield binding(cluster_set, namespace=home, wave=wave)
    for resolved in fleet.placements:
        yield placement(resolved)
    board = board_page(fleet.repository.spec)
    for app in fleet.applications:
        parameters = fleet.cluster_parameters.get(app.metadata.name, ())
        yield application_set(app, namespace=namespace, clusters=parameters, board=board)
    for document in fleet.carried:
        yield _carried(document, home=namespace)


def board_page(settings: FleetRepositorySpec) -> str:
    """The page of the fleet's board; empty without a state branch, and if no forge is known."""
    reconciler = settings.reconciler
    if not (reconciler.enabled and reconciler.state.enabled):
        return ""
    forge = reconciler.proposals.forge
    return branch_page(
        settings.git.url,
        kind=None if forge == "None" else forge,
        branch=reconciler.state.branch,
        path=BOARD_FILE,
    )


def decision_readers(namespace: str, accounts: Sequence[str] = DECISION_READERS) -> list[Object]:
    """The objects that Argo CD needs to read OCM's decisions.

    These are the duck-type ConfigMap of the clusterDecisionResource generator, and the permission
    to list them. They are in an earlier wave than the ApplicationSets: one without the ConfigMap
    fails, and Argo CD retries only after 3 minutes
    (docs/contributing/behaviour.md#generator-errors).
    """
    readers = [
        {"kind": "ServiceAccount", "name": name, "namespace": namespace} for name in accounts
    ]
    return filled("decisions.yaml", name=DUCK_TYPE_CONFIGMAP, namespace=namespace, readers=readers)


def _bindings(fleet: CheckedFleet) -> list[tuple[str, str]]:
    """Namespaces, and the sets that their Placements choose from.

    Those that people bind themselves are left out.
    """
    needed: set[tuple[str, str]] = set()
    for resolved in fleet.placements:
        if resolved.ranking.bindings == "Rendered":
            for cluster_set in resolved.ranking.placement.cluster_sets:
                needed.add((resolved.namespace, cluster_set))
    home = fleet.repository.spec.argocd.namespace
    by_hand: set[tuple[str, str]] = set()
    for document in fleet.carried:
        namespace = document["metadata"]["namespace"]
        # Only raw Placements in Argo CD's namespace count. In other namespaces, bindings have other
        # owners.
        if document["kind"] == "Placement" and namespace == home:
            for cluster_set in document.get("spec", {}).get("clusterSets") or ():
                needed.add((home, cluster_set))
        elif document["kind"] == "ManagedClusterSetBinding":
            by_hand.add((namespace, document["metadata"]["name"]))
    return sorted(needed - by_hand)


def _carried(document: Mapping[str, Any], *, home: str) -> Object:
    """A copied document with our sync wave, unless it names its own."""
    meta = document["metadata"]
    wave = Wave.DECISIONS
    if document["kind"] == "ManagedClusterSetBinding" and meta["namespace"] == home:
        wave = Wave.BINDINGS
    annotations = dict(meta.get("annotations") or {})
    annotations.setdefault(SYNC_WAVE, str(int(wave)))
    # apiVersion and kind come first, however the document is written.
    head = {name: document[name] for name in ("apiVersion", "kind")}
    carried = {**head, **document, "metadata": {**meta, "annotations": annotations}}
    if document["kind"] == "ApplicationSet":
        carried["spec"] = written_back(fields.application_set_spec(), document["spec"])
    return carried
