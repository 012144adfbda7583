"""rendered/platform: what is there once per hub."""

from collections.abc import Iterator

from gitops_dsf.plan.types import Plan
from gitops_dsf.render import agent
from gitops_dsf.render.objects import Object, Wave, metadata
from gitops_dsf.render.scorers import scorer, scoring_config
from gitops_dsf.schema import crds

DUCK_TYPE_CONFIGMAP = "gitops-dsf-placement-decisions"
DECISION_READER = "gitops-dsf-placement-decision-reader"
DECISION_READERS = ("argocd-applicationset-controller", "argocd-server")
KEEP = "Prune=false,Delete=false"


def platform(plan: Plan) -> Iterator[Object]:
    """CRDs, hub namespace, rights, add-on definition, duck-type ConfigMap and the DynamicScorers."""
    spec = plan.repository.spec
    ours = spec.delivery.mode == "ManifestWork"
    if ours:
        for crd in crds():
            meta = crd["metadata"]
            yield {**crd, "metadata": metadata(name=meta["name"], wave=Wave.CRDS, sync_options=KEEP)}
    yield {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": metadata(name=spec.hub_namespace, wave=Wave.FOUNDATIONS, sync_options=KEEP),
    }
    yield from _decision_readers(spec.argocd.namespace)
    if ours:
        yield from agent.hub_rights(plan.repository)
        yield from agent.addon(plan.repository)
    for item in plan.scorers:
        yield scorer(item, plan.repository)
    if not ours and plan.scoring_config is not None:
        yield scoring_config(plan.scoring_config, plan.repository)


def _decision_readers(namespace: str) -> Iterator[Object]:
    """How the clusterDecisionResource generator reads PlacementDecisions, and the right to do so.

    The ApplicationSet controller lists them; the Argo CD server does for previews (argocd.md section 1, RBAC).
    """
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(name=DUCK_TYPE_CONFIGMAP, namespace=namespace, wave=Wave.FOUNDATIONS),
        "data": {
            "apiVersion": "cluster.open-cluster-management.io/v1beta1",
            "kind": "placementdecisions",
            "statusListKey": "decisions",
            # Without it the generator yields nothing and no error, and every Application is deleted.
            "matchKey": "clusterName",
        },
    }
    yield {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": metadata(name=DECISION_READER, namespace=namespace, wave=Wave.FOUNDATIONS),
        "rules": [{"apiGroups": ["cluster.open-cluster-management.io"], "resources": ["placementdecisions"], "verbs": ["list"]}],
    }
    yield {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": metadata(name=DECISION_READER, namespace=namespace, wave=Wave.FOUNDATIONS),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": DECISION_READER},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace} for name in DECISION_READERS],
    }
