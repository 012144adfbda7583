"""Checks where Applications go: their AppProject, and whether two of them bring the same objects."""

from collections.abc import Iterator
from typing import Final

from dsf_wire.constants import AGENT_NAMESPACE
from gitops_dsf.diagnostics import Diagnostic, Severity, codes
from gitops_dsf.hub.glob import matches
from gitops_dsf.repository.load import Path, value_at
from gitops_dsf.repository.model.application import Application, ScoredApplication
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.delivery import RawApplicationSet
from gitops_dsf.repository.model.suggestion import did_you_mean
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.candidates import eligible

DEFAULT_PROJECT = "default"
"""The AppProject that Argo CD creates itself."""


def projects_take_applications(context: Context) -> Iterator[Diagnostic]:
    """The AppProjects that are rendered allow only the rendered tree. Others must exist on the hub."""
    repository = context.declared.repository
    if repository is None:
        return
    ours = repository.value.spec.argocd.project
    seen: set[str] = set()
    for item in context.declared.applications:
        name = item.value.spec.application.project
        if name == DEFAULT_PROJECT or name in seen:
            continue
        seen.add(name)
        position = item.at("spec", "application", "project")
        if name in {ours, f"{ours}-works"}:
            message = (
                f"the AppProject {name} is for the rendered tree: Argo CD refuses other Applications in it"
            )
            hint = "leave project out, or name an AppProject of your own"
            yield codes.PROJECT.at(position, message, hint, severity=Severity.ERROR)
        else:
            message = f"the AppProject {name} is not rendered here: it must exist on the hub"
            yield codes.PROJECT.at(position, message, did_you_mean(name, [DEFAULT_PROJECT]))


def destinations_are_no_namespaces_of_the_platform(context: Context) -> Iterator[Diagnostic]:
    """Who may write there controls the cluster, what Argo CD applies, or the tokens of the agent. The hub can
    be a cluster of the fleet, too.
    """
    repository = context.declared.repository
    owners = {context.argocd_namespace: "Argo CD", AGENT_NAMESPACE: "the agent"}
    if repository is not None:
        owners[repository.value.spec.hub_namespace] = "the reconciler and Open Cluster Management"
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


def applications_bring_different_objects(context: Context) -> Iterator[Diagnostic]:
    """Two Applications with the same source in the same namespace of a cluster manage the same objects, and
    each undoes what the other does.
    """
    seen: dict[object, list[Item[ScoredApplication]]] = {}
    for item in context.declared.applications:
        ranking = context.ranking_of(item)
        if ranking is None:
            continue
        others = seen.setdefault(_content(item.value.spec.application), [])
        clusters = eligible(context, ranking)
        for other in others:
            rival = context.ranking_of(other)
            shared = clusters & eligible(context, rival) if rival is not None else frozenset[str]()
            if shared:
                namespace = item.value.spec.application.destination_namespace
                message = (
                    f"{item.name} and {other.name} deploy the same source into the namespace {namespace}: on"
                    f" one cluster, such as {min(shared)}, they would manage the same objects"
                )
                yield codes.SAME_DESTINATION.at(
                    item.at("spec", "application", "destinationNamespace"),
                    message,
                    "give each a namespace of its own, or clusters of its own",
                )
                break
        others.append(item)


def _content(application: Application) -> object:
    """What decides which objects an Application manages."""
    sources = [source.model_dump_json() for _, source in application.placed_sources]
    return (application.destination_namespace, *sources)
