"""rendered/delivery: access to decisions, bindings, Placements and ApplicationSets."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gitops_dsf.argocd import fields
from gitops_dsf.argocd.writeback import written_back
from gitops_dsf.hub.names import STRATEGY_ANNOTATION, SYNC_WAVE, TIMEOUT_ANNOTATION
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.render.objects import Object, Wave, filled, metadata
from gitops_dsf.render.placements import binding, placement
from gitops_dsf.render.reconciler import decision_rights
from gitops_dsf.repository.model.apps import ApplicationSource, ScoredApplication
from gitops_dsf.repository.model.foreign import DUCK_TYPE_CONFIGMAP
from gitops_dsf.repository.model.repository import DECISION_READERS
from gitops_dsf.resolve.template_parameters import ClusterParameters


def delivery(fleet: CheckedFleet) -> Iterator[Object]:
    """A Placement and its ApplicationSet are in one wave.

    A later ApplicationSet would only miss its first poll.

    Everything in another namespace than Argo CD's is in the last wave. Such a namespace belongs to
    somebody else and may be missing, and a wave that fails holds back the waves after it.
    """
    namespace = fleet.repository.spec.argocd.namespace
    yield from decision_readers(namespace, fleet.repository.spec.argocd.decision_readers)
    if fleet.repository.spec.delivers_works and fleet.repository.spec.reconciler.enabled:
        for name in fleet.placement_namespaces:
            yield from decision_rights(fleet.repository, namespace=name)
    for home, cluster_set in _bindings(fleet):
        wave = Wave.BINDINGS if home == namespace else Wave.DECISIONS
        yield binding(cluster_set, namespace=home, wave=wave)
    for each in fleet.placements:
        yield placement(each)
    for app in fleet.applications:
        parameters = fleet.cluster_parameters.get(app.metadata.name, ())
        yield application_set(app, namespace=namespace, clusters=parameters)
    for document in fleet.carried:
        yield _carried(document, home=namespace)


def decision_readers(namespace: str, accounts: Sequence[str] = DECISION_READERS) -> list[Object]:
    """What Argo CD needs to read OCM's decisions.

    That is the duck-type ConfigMap of the clusterDecisionResource generator, and the permission to
    list them.

    That is the duck-type ConfigMap of the clusterDecisionResource generator, and the permission to
    list them.

    They are in an earlier wave than the ApplicationSets. One without the ConfigMap fails, and Argo
    CD retries only after 3 minutes (docs/contributing/behaviour.md#generator-errors).
    """
    readers = [
        {"kind": "ServiceAccount", "name": name, "namespace": namespace} for name in accounts
    ]
    return filled("decisions.yaml", name=DUCK_TYPE_CONFIGMAP, namespace=namespace, readers=readers)


def _bindings(fleet: CheckedFleet) -> list[tuple[str, str]]:
    """Namespaces, and the sets that their Placements choose from.

    Those that people bind themselves are left out.

    Those that people bind themselves are left out.

    Of raw Placements only those in Argo CD's namespace count. In other namespaces, bindings belong
    to others.
    """
    found = {
        (placement.namespace, name)
        for placement in fleet.placements
        if placement.ranking.bindings == "Rendered"
        for name in placement.ranking.placement.cluster_sets
    }
    home = fleet.repository.spec.argocd.namespace
    for document in fleet.carried:
        if document["kind"] == "Placement" and document["metadata"]["namespace"] == home:
            found.update((home, name) for name in document.get("spec", {}).get("clusterSets") or ())
    by_hand = {
        (document["metadata"]["namespace"], document["metadata"]["name"])
        for document in fleet.carried
        if document["kind"] == "ManagedClusterSetBinding"
    }
    return sorted(found - by_hand)


def _carried(document: Mapping[str, Any], *, home: str) -> Object:
    """A copied document with our sync wave, unless it names its own."""
    meta = document["metadata"]
    binds_home = document["kind"] == "ManagedClusterSetBinding" and meta["namespace"] == home
    wave = Wave.BINDINGS if binds_home else Wave.DECISIONS
    annotations = dict(meta.get("annotations") or {})
    annotations.setdefault(SYNC_WAVE, str(int(wave)))
    head = {name: document[name] for name in ("apiVersion", "kind")}
    carried = {**head, **document, "metadata": {**meta, "annotations": annotations}}
    if document["kind"] == "ApplicationSet":
        carried["spec"] = written_back(fields.application_set_spec(), document["spec"])
    return carried


_AUTOMATED: dict[str, Any] = {
    "automated": {"prune": True, "selfHeal": True},
    "syncOptions": ["CreateNamespace=true"],
}
_PULLED = {
    "apps.open-cluster-management.io/ocm-managed-cluster": "{{.name}}",
    "argocd.argoproj.io/skip-reconcile": "true",
}
"""OCM delivers to the cluster's Argo CD (docs/contributing/behaviour.md#pull-integration)."""


def application_set(
    app: ScoredApplication, *, namespace: str, clusters: Sequence[ClusterParameters] = ()
) -> Object:
    """The ApplicationSet of an application.

    `clusters` are what its templates read of labels and claims.
    """
    moves, application, meta = app.spec.moves, app.spec.application, app.metadata
    pulls = application.delivery == "Pull"
    source = application.source
    policy = application.sync_policy
    [found] = filled(
        "application-set.yaml",
        name=meta.name,
        duck_type=DUCK_TYPE_CONFIGMAP,
        placement=app.follows,
        refresh_seconds=moves.refresh_seconds,
        pulled="true" if pulls else None,
        pull_annotations=_PULLED if pulls else None,
        project=application.project,
        source=None if source is None else _written(source),
        sources=[_written(item) for item in application.sources] if source is None else None,
        server="https://kubernetes.default.svc" if pulls else None,
        cluster=None if pulls else "{{.name}}",
        destination_namespace=application.destination_namespace,
        sync_policy=_AUTOMATED if policy is None else policy,
        may_delete="sync" if moves.strategy == "Replace" else "create-update",
    )
    if clusters:
        # A merge adds to the clusters of the decision, and neither adds nor drops one.
        described = {"list": {"elements": list(clusters)}}
        merge = {"mergeKeys": ["name"], "generators": [*found["spec"]["generators"], described]}
        found["spec"]["generators"] = [{"merge": merge}]
    found["spec"] = written_back(fields.application_set_spec(), found["spec"])
    found["metadata"] = metadata(
        name=meta.name,
        namespace=namespace,
        wave=Wave.DECISIONS,
        labels=meta.labels,
        annotations={
            **meta.annotations,
            STRATEGY_ANNOTATION: moves.strategy,
            TIMEOUT_ANNOTATION: str(moves.timeout_seconds),
        },
    )
    return found


def _written(source: ApplicationSource) -> Object:
    return source.model_dump(mode="json", exclude_none=True)
