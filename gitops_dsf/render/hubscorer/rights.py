"""What the hub scorer may do: read and write AddOnPlacementScores in the namespaces of the fleet's clusters,
and read the suspended scorers and the Secrets and CAs that its scorers name. Nothing else.
"""

from collections.abc import Iterator

from dsf_wire.constants import SUSPENDED_CONFIGMAP
from gitops_dsf.plan.types import Configuration
from gitops_dsf.render.agent import HUB_ROLE
from gitops_dsf.render.hubscorer.names import NAME
from gitops_dsf.render.objects import Object, Wave
from gitops_dsf.render.rbac import account_subject, role, role_binding, rule
from gitops_dsf.repository.model.repository import FleetRepository


def hub_rights(repository: FleetRepository, configuration: Configuration) -> Iterator[Object]:
    """Its rights in the hub namespace: to read single objects by name."""
    namespace = repository.spec.hub_namespace
    named = [("configmaps", (SUSPENDED_CONFIGMAP, *configuration.config_maps))]
    if configuration.secrets:
        named.append(("secrets", configuration.secrets))
    rules = [rule("", resource, verbs=("get",), names=names) for resource, names in named]
    yield role(NAME, rules, namespace=namespace, wave=Wave.ADDON)
    yield role_binding(NAME, account_subject(NAME, namespace=namespace), namespace=namespace, wave=Wave.ADDON)


def cluster_rights(cluster: str, repository: FleetRepository) -> Object:
    """Its rights in the namespace of one cluster: those of an agent. Every cluster of the fleet has them,
    because the hub scorer deletes the score of a cluster that no scorer selects any more.
    """
    subject = account_subject(NAME, namespace=repository.spec.hub_namespace)
    return role_binding(NAME, subject, namespace=cluster, cluster_role=HUB_ROLE)
