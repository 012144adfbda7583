"""What Argo CD needs to read OCM's decisions: the duck-type ConfigMap of the clusterDecisionResource
generator, and the permission to list them.

They are rendered next to the ApplicationSets, in an earlier wave. An ApplicationSet without the ConfigMap
fails, and Argo CD retries only after 3 minutes (docs/contributing/behaviour.md#generator-errors).
"""

from collections.abc import Iterator, Sequence

from gitops_dsf.render.objects import Object, Wave, filled
from gitops_dsf.render.rbac import account_subject, role, role_binding, rule
from gitops_dsf.repository.model.delivery import DUCK_TYPE_CONFIGMAP
from gitops_dsf.repository.model.repository import DECISION_READERS

DECISION_READER = "gitops-dsf-placement-decision-reader"


def decision_readers(namespace: str, accounts: Sequence[str] = DECISION_READERS) -> Iterator[Object]:
    """The objects that allow accounts to list PlacementDecisions, also the Argo CD server for previews
    (docs/contributing/behaviour.md#rights-to-list-decisions).
    """
    yield from filled("decisions.yaml", name=DUCK_TYPE_CONFIGMAP, namespace=namespace)
    readers = [account_subject(name, namespace=namespace) for name in accounts]
    listing = rule("cluster.open-cluster-management.io", "placementdecisions", verbs=("list",))
    yield role(DECISION_READER, [listing], namespace=namespace, wave=Wave.FOUNDATIONS)
    yield role_binding(DECISION_READER, *readers, namespace=namespace, wave=Wave.FOUNDATIONS)
