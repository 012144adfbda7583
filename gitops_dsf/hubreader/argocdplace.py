"""Finds the Argo CD of a hub: where the settings say, or where OpenShift GitOps has it."""

from collections.abc import Iterator
from typing import Final

from gitops_dsf.hub.argocdplace import (
    ACM_DUCK_TYPE,
    APPLICATIONSET_CONTROLLER,
    OPENSHIFT_GITOPS,
    ArgoCdPlace,
    argocd_of,
    importers_into,
)
from gitops_dsf.hub.resources import GITOPS_CLUSTERS, Resource
from gitops_dsf.hub.unread import Unread, Why
from gitops_dsf.hubreader.hub import HubClient, JsonObject, whole
from gitops_dsf.views.doctor.objects import name_of

# The names of three Deployments end so: argocd-server, argocd-repo-server and argocd-dex-server
# (Argo CD v3.6.1). OpenShift GitOps begins them with its own name.
_SERVER: Final = "-server"
_NOT_THE_SERVER: Final = ("repo-server", "dex-server")


def find_argocd(hub: HubClient, *, expected: str) -> ArgoCdPlace | Unread | None:
    """The Argo CD in the namespace `expected`, else one where GitOpsClusters or OpenShift have it.

    None if there is none; Unread if the hub does not let us look. Raises HubError when the hub does
    not answer.
    """
    importers = hub.read(GITOPS_CLUSTERS, whole)
    unread: list[Unread] = []
    if isinstance(importers, Unread):
        if importers.why is not Why.NOT_INSTALLED:
            unread.append(importers)
        importers = ()
    namespaces = dict.fromkeys((expected, *map(argocd_of, importers), OPENSHIFT_GITOPS))
    for namespace in namespaces:
        deployments = hub.read(
            Resource(group="apps", plural="deployments", namespace=namespace), whole
        )
        if isinstance(deployments, Unread):
            if deployments.why is Why.NOT_INSTALLED:
                return None
            return deployments
        controllers = [
            deployment
            for deployment in deployments
            if name_of(deployment).endswith(APPLICATIONSET_CONTROLLER)
        ]
        if controllers:
            configmaps = Resource(plural="configmaps", namespace=namespace)
            duck_type = hub.find(configmaps, ACM_DUCK_TYPE)
            if isinstance(duck_type, Unread):
                unread.append(duck_type)
            # Both list PlacementDecisions: the controller for the generator, and the server, which
            # makes previews of ApplicationSets (v3.6.1).
            accounts = (*map(_account, controllers), *map(_account, _servers(deployments)))
            return ArgoCdPlace(
                namespace=namespace,
                controller=name_of(controllers[0]),
                accounts=tuple(dict.fromkeys(filter(None, accounts))),
                importers=tuple(importers_into(importers, namespace)),
                has_acm_duck_type=isinstance(duck_type, dict),
                unread=tuple(unread),
            )
    return None


def _servers(deployments: tuple[JsonObject, ...]) -> Iterator[JsonObject]:
    for deployment in deployments:
        name = name_of(deployment)
        if name.endswith(_SERVER) and not name.endswith(_NOT_THE_SERVER):
            yield deployment


def _account(deployment: JsonObject) -> str:
    pod = ((deployment.get("spec") or {}).get("template") or {}).get("spec") or {}
    return str(pod.get("serviceAccountName") or "")
