"""The ApplicationSet of a ScoredApplication: one Application for each cluster of its decision.

It has `goTemplate: true`, so names of clusters and what people write about a source are Go
templates.
"""

from collections.abc import Sequence
from typing import Final

from gitops_dsf.argocd import fields
from gitops_dsf.argocd.writeback import written_back
from gitops_dsf.hub.names import BOARD_ANNOTATION, STRATEGY_ANNOTATION, TIMEOUT_ANNOTATION
from gitops_dsf.render.objects import Object, Wave, filled, metadata
from gitops_dsf.repository.model.apps import ApplicationSource, ScoredApplication
from gitops_dsf.repository.model.foreign import DUCK_TYPE_CONFIGMAP
from gitops_dsf.resolve.template_parameters import ClusterParameters

_CLUSTER_NAME: Final = "{{.name}}"

_AUTOMATED: Final = {
    "automated": {"prune": True, "selfHeal": True},
    "syncOptions": ["CreateNamespace=true"],
}
"""The syncPolicy of an application that writes none."""

_PULLED: Final = {
    "apps.open-cluster-management.io/ocm-managed-cluster": _CLUSTER_NAME,
    "argocd.argoproj.io/skip-reconcile": "true",
}
"""OCM delivers to the cluster's Argo CD (docs/contributing/behaviour.md#pull-integration)."""


def application_set(
    app: ScoredApplication,
    *,
    namespace: str,
    clusters: Sequence[ClusterParameters] = (),
    board: str = "",
) -> Object:
    """The ApplicationSet of an application.

    `clusters` are what its templates read of labels and claims. `board` is the page of the fleet's
    board, to which Applications link; empty if there is none.
    """
    moves = app.spec.moves
    application = app.spec.application
    # Only Replace may delete: with the other strategies, an empty decision must not delete an
    # application. The reconciler deletes the copy that is left behind.
    may_delete = "create-update"
    if moves.strategy == "Replace":
        may_delete = "sync"
    sync_policy = application.sync_policy
    if sync_policy is None:
        sync_policy = _AUTOMATED
    [rendered] = filled(
        "application-set.yaml",
        name=app.metadata.name,
        duck_type=DUCK_TYPE_CONFIGMAP,
        placement=app.follows,
        refresh_seconds=moves.refresh_seconds,
        project=application.project,
        destination_namespace=application.destination_namespace,
        sync_policy=sync_policy,
        may_delete=may_delete,
        **_sources(app),
        **_destination(app, board),
    )
    if clusters:
        # A merge adds to the clusters of the decision, and neither adds nor drops one.
        described = {"list": {"elements": list(clusters)}}
        merge = {"mergeKeys": ["name"], "generators": [*rendered["spec"]["generators"], described]}
        rendered["spec"]["generators"] = [{"merge": merge}]
    rendered["spec"] = written_back(fields.application_set_spec(), rendered["spec"])
    rendered["metadata"] = metadata(
        name=app.metadata.name,
        namespace=namespace,
        wave=Wave.DECISIONS,
        labels=app.metadata.labels,
        annotations={
            **app.metadata.annotations,
            STRATEGY_ANNOTATION: moves.strategy,
            TIMEOUT_ANNOTATION: str(moves.timeout_seconds),
        },
    )
    return rendered


def _sources(app: ScoredApplication) -> Object:
    """Argo CD reads `source` only if there is no `sources`, so one of them is None."""
    application = app.spec.application
    if application.source is not None:
        return {"source": _written(application.source), "sources": None}
    return {"source": None, "sources": [_written(source) for source in application.sources]}


def _destination(app: ScoredApplication, board: str) -> Object:
    """Where an Application goes, its link, and what marks it for OCM's pull integration."""
    if app.spec.application.delivery == "Pull":
        # The Argo CD on the cluster applies it, so its destination is that cluster itself.
        return {
            "server": "https://kubernetes.default.svc",
            "cluster": None,
            "pulled": "true",
            "annotations": _PULLED,
        }
    # Argo CD 3.6.1 shows annotations of this prefix as links beside the Application, with the text
    # before `|` as title (common/common.go). OCM copies annotations of pulled ones to clusters, on
    # which nobody looks for the fleet.
    link = {BOARD_ANNOTATION: f"Fleet|{board}"} if board else None
    return {"server": None, "cluster": _CLUSTER_NAME, "pulled": None, "annotations": link}


def _written(source: ApplicationSource) -> Object:
    return source.model_dump(mode="json", exclude_none=True)
