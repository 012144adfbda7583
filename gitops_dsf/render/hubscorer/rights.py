"""What the hub scorer may do: read and write AddOnPlacementScores in the namespaces of the fleet's clusters,
and read the suspended scorers and the Secrets and CAs that its scorers name. Nothing else.
"""

from collections.abc import Iterator

from dsf_wire.constants import SUSPENDED_CONFIGMAP
from gitops_dsf.plan.types import Configuration
from gitops_dsf.render.agent import HUB_ROLE, RBAC_GROUP
from gitops_dsf.render.hubscorer.names import NAME
from gitops_dsf.render.objects import Object, Wave, metadata
from gitops_dsf.repository.model.repository import FleetRepository


def hub_rights(repository: FleetRepository, configuration: Configuration) -> Iterator[Object]:
    """Its rights in the hub namespace: to read single objects by name."""
    namespace = repository.spec.hub_namespace
    named = [("configmaps", (SUSPENDED_CONFIGMAP, *configuration.config_maps))]
    if configuration.secrets:
        named.append(("secrets", configuration.secrets))
    yield {
        "apiVersion": f"{RBAC_GROUP}/v1",
        "kind": "Role",
        "metadata": metadata(name=NAME, namespace=namespace, wave=Wave.ADDON),
        "rules": [
            {"apiGroups": [""], "resources": [resource], "resourceNames": list(names), "verbs": ["get"]}
            for resource, names in named
        ],
    }
    yield {
        "apiVersion": f"{RBAC_GROUP}/v1",
        "kind": "RoleBinding",
        "metadata": metadata(name=NAME, namespace=namespace, wave=Wave.ADDON),
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": "Role", "name": NAME},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": namespace}],
    }


def cluster_rights(cluster: str, repository: FleetRepository) -> Object:
    """Its rights in the namespace of one cluster: those of an agent. Every cluster of the fleet has them,
    because the hub scorer deletes the score of a cluster that no scorer selects any more.
    """
    namespace = repository.spec.hub_namespace
    return {
        "apiVersion": f"{RBAC_GROUP}/v1",
        "kind": "RoleBinding",
        "metadata": metadata(name=NAME, namespace=cluster),
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": HUB_ROLE},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": namespace}],
    }
