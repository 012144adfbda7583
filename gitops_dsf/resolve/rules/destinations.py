"""Checks where Applications go: their AppProject, and whether two of them bring the same objects."""

from collections.abc import Iterator
from typing import Final

from dsf_wire.constants import AGENT_NAMESPACE
from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.hub.glob import matches
from gitops_dsf.repository.load import Path, value_at
from gitops_dsf.repository.model.application import ScoredApplication
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.delivery import RawApplicationSet
from gitops_dsf.resolve.context import Context


def destinations_are_no_namespaces_of_the_platform(context: Context) -> Iterator[Diagnostic]:
    """Who may write there controls the cluster, what Argo CD applies, or the tokens of the agent. The hub can
    be a cluster of the fleet, too.
    """
    owners = {
        context.argocd_namespace: "Argo CD",
        AGENT_NAMESPACE: "the agent",
        context.settings.hub_namespace: "the reconciler and Open Cluster Management",
    }
    places: list[tuple[Item[ScoredApplication] | Item[RawApplicationSet], Path]] = [
        *((item, ("spec", "application", "destinationNamespace")) for item in context.declared.applications),
        *((item, _OF_A_TEMPLATE) for item in context.declared.application_sets),
    ]
    for item, path in places:
        name = value_at(item.document.data, path)
        if not isinstance(name, str):
            continue
        owner = owners.get(name) or next((who for glob, who in _PLATFORM.items() if matches(name, glob)), "")
        if owner:
            message = f"{item.name} is deployed into {name}, the namespace of {owner}"
            hint = "write a namespace of the application's own"
            yield codes.PLATFORM_DESTINATION.at(item.at(*path), message, hint)


_OF_A_TEMPLATE: Final[Path] = ("spec", "template", "spec", "destination", "namespace")
_PLATFORM: Final = {"kube-*": "Kubernetes", "open-cluster-management*": "Open Cluster Management"}
