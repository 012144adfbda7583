"""ApplicationSets that follow the decisions of a Placement."""

from typing import Any

from gitops_dsf.hub.names import STRATEGY_ANNOTATION, TIMEOUT_ANNOTATION
from gitops_dsf.render.objects import Object, Wave, filled, metadata
from gitops_dsf.repository.model.application import ApplicationSource, ScoredApplication
from gitops_dsf.repository.model.delivery import DUCK_TYPE_CONFIGMAP

_AUTOMATED: dict[str, Any] = {
    "automated": {"prune": True, "selfHeal": True},
    "syncOptions": ["CreateNamespace=true"],
}
_PULLED = {
    "apps.open-cluster-management.io/ocm-managed-cluster": "{{.name}}",
    "argocd.argoproj.io/skip-reconcile": "true",
}
"""OCM delivers the Application to the cluster's own Argo CD
(docs/contributing/behaviour.md#pull-integration).
"""


def application_set(app: ScoredApplication, *, namespace: str) -> Object:
    """The ApplicationSet of an application."""
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
