"""The ApplicationSet of a ScoredApplication: one Application for each cluster of its decision.

It has `goTemplate: true`, so names of clusters and texts that people write about a source are Go
templates.
"""

from collections.abc import Sequence
from typing import Final

from gitops_dsf.argocd import fields
from gitops_dsf.argocd.writeback import written_back
from gitops_dsf.hub.names import (
    APPLICATION_LABEL,
    BOARD_ANNOTATION,
    IN_CLUSTER,
    PULL_ANNOTATION,
    PULL_LABEL,
    SKIP_RECONCILE_ANNOTATION,
    STRATEGY_ANNOTATION,
    TIMEOUT_ANNOTATION,
)
from gitops_dsf.render.objects import Object, Wave, filled, metadata
from gitops_dsf.repository.model.scored_application import (
    ApplicationSetOptions,
    ApplicationSource,
    ScoredApplication,
)
from gitops_dsf.resolve.template_parameters import ClusterParameters

_CLUSTER_NAME: Final = "{{.name}}"

_AUTOMATED: Final = {
    "automated": {"prune": True, "selfHeal": True},
    "syncOptions": ["CreateNamespace=true"],
}
"""The syncPolicy of an application that writes none."""

PULLED: Final = {
    PULL_ANNOTATION: _CLUSTER_NAME,
    SKIP_RECONCILE_ANNOTATION: "true",
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
        placement=app.follows,
        refresh_seconds=moves.refresh_seconds,
        application_name=application.template.name or f"{app.metadata.name}-{_CLUSTER_NAME}",
        finalizers=application.template.finalizers or None,
        project=application.project,
        destination_namespace=application.destination_namespace,
        sync_policy=sync_policy,
        ignore_differences=application.ignore_differences or None,
        info=application.info or None,
        revision_history_limit=application.revision_history_limit,
        may_delete=may_delete,
        **_options(application.application_set),
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
    return {"source": None, "sources": list(map(_written, application.sources))}


def _options(options: ApplicationSetOptions) -> Object:
    """The options that people write about the ApplicationSet itself; None for absent ones."""
    return {
        "config_map": options.config_map_ref,
        "preserves": options.preserve_resources_on_deletion or None,
        "preserved_fields": options.preserved_fields,
        "ignored_fields": options.ignore_application_differences or None,
    }


def _destination(app: ScoredApplication, board: str) -> Object:
    """The destination of an Application, its link, and its marks for OCM's pull integration."""
    template = app.spec.application.template
    # Ours come last: the reconciler and OCM rely on them.
    labels = dict(template.labels)
    annotations = dict(template.annotations)
    server: str | None = None
    cluster: str | None = _CLUSTER_NAME
    if template.marks == "Rendered":
        labels[APPLICATION_LABEL] = app.metadata.name
    if app.spec.application.delivery == "Pull":
        # The Argo CD on the cluster applies it, so its destination is that cluster itself.
        server = IN_CLUSTER
        cluster = None
        labels[PULL_LABEL] = "true"
        annotations |= PULLED
    elif template.marks == "Rendered" and board:
        # Argo CD 3.6.1 shows annotations of this prefix as links beside the Application, with the
        # text before `|` as title (common/common.go). OCM copies annotations of pulled ones to
        # clusters, where the link is not needed.
        annotations[BOARD_ANNOTATION] = f"Fleet|{board}"
    if template.destination == "Server" and cluster is not None:
        server = "{{.server}}"
        cluster = None
    return {
        "server": server,
        "cluster": cluster,
        "labels": labels or None,
        "annotations": annotations or None,
    }


def _written(source: ApplicationSource) -> Object:
    return source.model_dump(mode="json", exclude_none=True)
