"""Applications: where their decision wants them, and where Argo CD has them. Shows what a make-before-break move waits for."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gitops_dsf.hub.names import APPLICATION_LABEL, PLACEMENT_LABEL, STRATEGY_ANNOTATION
from gitops_dsf.views.status.inputs import Inputs, Object, Part
from gitops_dsf.views.status.model import ApplicationView, Copy, Standing

PULLED = "apps.open-cluster-management.io/ocm-managed-cluster"
"""Annotation that names the cluster where the destination does not (docs/contributing/argocd-behaviour.md#pull-integration)."""


def is_ours(application_set: Object) -> bool:
    """Whether an ApplicationSet was rendered: hand-written ones do not say how they move."""
    return STRATEGY_ANNOTATION in (application_set["metadata"].get("annotations") or {})


def application_views(sets: Iterable[Object], inputs: Inputs) -> tuple[ApplicationView, ...]:
    """One view for each ApplicationSet, by name."""
    decided: dict[tuple[str, str], set[str]] = {}
    for page in inputs.snapshot.decisions:
        decided.setdefault((page.namespace, page.placement), set()).update(page.clusters)
    there: dict[tuple[str, str], list[Object]] = {}
    for item in inputs.applications:
        metadata = item["metadata"]
        there.setdefault((metadata["namespace"], (metadata.get("labels") or {}).get(APPLICATION_LABEL, "")), []).append(item)
    ordered = sorted(sets, key=lambda item: str(item["metadata"]["name"]))
    known = inputs.knows(Part.DECISIONS, Part.APPLICATIONS)
    return tuple(_view(item, decided, there, known=known) for item in ordered)


def _view(
    item: Object, decided: Mapping[tuple[str, str], set[str]], there: Mapping[tuple[str, str], list[Object]], *, known: bool
) -> ApplicationView:
    metadata = item["metadata"]
    namespace, name = str(metadata["namespace"]), str(metadata["name"])
    placements = tuple(sorted(set(followed((item.get("spec") or {}).get("generators")))))
    wanted = frozenset[str]().union(*(decided.get((namespace, placement), set()) for placement in placements))
    copies = tuple(_copies(wanted, there.get((namespace, name), []))) if known else ()
    return ApplicationView(
        name=name,
        strategy=(metadata.get("annotations") or {}).get(STRATEGY_ANNOTATION, ""),
        placements=placements,
        known=known,
        copies=copies,
        message=error_of(item),
    )


def followed(generators: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON
    """Names of the Placements that clusterDecisionResource generators follow, nested ones too."""
    if isinstance(generators, list):
        for item in generators:
            yield from followed(item)
    elif isinstance(generators, Mapping):
        for key, value in generators.items():
            if key == "clusterDecisionResource" and isinstance(value, Mapping):
                labels = (value.get("labelSelector") or {}).get("matchLabels") or {}
                if labels.get(PLACEMENT_LABEL):
                    yield str(labels[PLACEMENT_LABEL])
            else:
                yield from followed(value)


def error_of(application_set: Object) -> str:
    """Message of the condition ErrorOccurred while it is True (docs/contributing/argocd-behaviour.md#generator-errors)."""
    for condition in (application_set.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "ErrorOccurred" and condition.get("status") == "True":
            return str(condition.get("message") or condition.get("reason") or "an error")
    return ""


def cluster_of(application: Object) -> str:
    """The cluster that an Application is meant for."""
    annotations = application["metadata"].get("annotations") or {}
    destination = (application.get("spec") or {}).get("destination") or {}
    return str(annotations.get(PULLED) or destination.get("name") or destination.get("server") or "")


def _copies(wanted: frozenset[str], there: Iterable[Object]) -> Iterator[Copy]:
    found = {cluster_of(item): item for item in there}
    for cluster in sorted(wanted | found.keys()):
        item = found.get(cluster)
        if item is None:
            yield Copy(cluster=cluster, standing=Standing.PENDING, application="", health="", sync="")
            continue
        status = item.get("status") or {}
        health = str((status.get("health") or {}).get("status") or "")
        sync = str((status.get("sync") or {}).get("status") or "")
        standing = _standing(item, decided=cluster in wanted, health=health)
        yield Copy(cluster=cluster, standing=standing, application=str(item["metadata"]["name"]), health=health, sync=sync)


def _standing(item: Object, *, decided: bool, health: str) -> Standing:
    if item["metadata"].get("deletionTimestamp"):
        return Standing.LEAVING
    if not decided:
        return Standing.WAITING
    return Standing.RUNNING if health == "Healthy" else Standing.STARTING
