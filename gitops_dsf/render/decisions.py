"""What Argo CD needs to read OCM's decisions: the duck-type ConfigMap of the clusterDecisionResource
generator, and the permission to list them.

They are rendered next to the ApplicationSets, in an earlier wave. An ApplicationSet without the ConfigMap
fails, and Argo CD retries only after 3 minutes (docs/contributing/argocd-behaviour.md#generator-errors).
"""

from collections.abc import Iterator, Sequence

from gitops_dsf.render.objects import Object, Wave, metadata
from gitops_dsf.repository.model.delivery import DUCK_TYPE_CONFIGMAP
from gitops_dsf.repository.model.repository import DECISION_READERS

DECISION_READER = "gitops-dsf-placement-decision-reader"


def decision_readers(namespace: str, accounts: Sequence[str] = DECISION_READERS) -> Iterator[Object]:
    """The objects that allow accounts to list PlacementDecisions, also the Argo CD server for previews
    (docs/contributing/argocd-behaviour.md#rights-to-list-decisions).
    """
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(name=DUCK_TYPE_CONFIGMAP, namespace=namespace, wave=Wave.FOUNDATIONS),
        "data": {
            "apiVersion": "cluster.open-cluster-management.io/v1beta1",
            "kind": "placementdecisions",
            "statusListKey": "decisions",
            # Without it, the generator yields nothing and no error, and every Application is deleted.
            "matchKey": "clusterName",
        },
    }
    yield {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": metadata(name=DECISION_READER, namespace=namespace, wave=Wave.FOUNDATIONS),
        "rules": [
            {
                "apiGroups": ["cluster.open-cluster-management.io"],
                "resources": ["placementdecisions"],
                "verbs": ["list"],
            }
        ],
    }
    yield {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": metadata(name=DECISION_READER, namespace=namespace, wave=Wave.FOUNDATIONS),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": DECISION_READER},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace} for name in accounts],
    }
