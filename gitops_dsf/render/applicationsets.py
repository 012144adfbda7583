"""ApplicationSets that follow the decisions of a Placement."""

from typing import Any

from gitops_dsf.hub.names import APPLICATION_LABEL, PLACEMENT_LABEL, STRATEGY_ANNOTATION, TIMEOUT_ANNOTATION
from gitops_dsf.render.objects import Object, Wave, metadata
from gitops_dsf.repository.model.application import Application, ApplicationSource
from gitops_dsf.repository.model.delivery import DUCK_TYPE_CONFIGMAP
from gitops_dsf.resolve.types import ResolvedApplication

_AUTOMATED: dict[str, Any] = {
    "automated": {"prune": True, "selfHeal": True},
    "syncOptions": ["CreateNamespace=true"],
}


def application_set(app: ResolvedApplication, *, namespace: str) -> Object:
    """Follows the decision by labelSelector. A decision can have several pages, and a generator by name would
    see only one.
    """
    spec = app.declared.spec
    moves = spec.moves
    meta = app.declared.metadata
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "ApplicationSet",
        "metadata": metadata(
            name=app.name,
            namespace=namespace,
            wave=Wave.DECISIONS,
            labels=meta.labels,
            annotations={
                **meta.annotations,
                STRATEGY_ANNOTATION: moves.strategy,
                TIMEOUT_ANNOTATION: str(moves.timeout_seconds),
            },
        ),
        "spec": {
            "goTemplate": True,
            "goTemplateOptions": ["missingkey=error"],
            "generators": [
                {
                    "clusterDecisionResource": {
                        "configMapRef": DUCK_TYPE_CONFIGMAP,
                        "labelSelector": {"matchLabels": {PLACEMENT_LABEL: app.placement}},
                        "requeueAfterSeconds": moves.refresh_seconds,
                    }
                }
            ],
            "template": _template(app),
            "syncPolicy": {
                # Only Replace may delete: with the other strategies, an empty decision must not delete an
                # application.
                "applicationsSync": "sync" if moves.strategy == "Replace" else "create-update",
                "preserveResourcesOnDeletion": False,
            },
        },
    }


def _template(app: ResolvedApplication) -> Object:
    application = app.declared.spec.application
    labels = {APPLICATION_LABEL: app.name}
    annotations: dict[str, str] = {}
    if application.delivery == "Pull":
        # OCM delivers the Application to the cluster's own Argo CD
        # (docs/contributing/argocd-behaviour.md#pull-integration).
        labels["apps.open-cluster-management.io/pull-to-ocm-managed-cluster"] = "true"
        annotations = {
            "apps.open-cluster-management.io/ocm-managed-cluster": "{{.name}}",
            "argocd.argoproj.io/skip-reconcile": "true",
        }
    meta: Object = {"name": f"{app.name}-{{{{.name}}}}", "labels": labels}
    if annotations:
        meta["annotations"] = annotations
    spec: Object = {"project": application.project}
    if application.source is not None:
        spec["source"] = _source(application.source)
    else:
        spec["sources"] = [_source(item) for item in application.sources]
    spec["destination"] = _destination(application)
    spec["syncPolicy"] = application.sync_policy if application.sync_policy is not None else _AUTOMATED
    return {"metadata": meta, "spec": spec}


def _destination(application: Application) -> Object:
    if application.delivery == "Pull":
        return {"server": "https://kubernetes.default.svc", "namespace": application.destination_namespace}
    return {"name": "{{.name}}", "namespace": application.destination_namespace}


def _source(source: ApplicationSource) -> Object:
    return {key: value for key, value in source.model_dump(mode="json").items() if value is not None}
