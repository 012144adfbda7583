"""Checks whether two applications manage the same objects on a cluster."""

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.repository.load import FieldPath, value_at
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.generated_applications import Generated, generated
from gitops_dsf.resolve.rules.registry import rule

_SPEC: Final[FieldPath] = ("spec", "template", "spec")


@rule(needs=("FleetRepository", "ManagedCluster", "ManagedClusterSet"))
def applications_bring_different_objects(context: Context) -> Iterator[Diagnostic]:
    """Two Applications with one source in one namespace of a cluster manage the same objects.

    Each undoes what the other does, and when one moves away, the objects of the other one are
    deleted.
    """
    by_content: dict[str, list[Generated]] = defaultdict(list)
    # Sets are sorted by name: in the order of their files, a renamed file would change which set is
    # reported.
    for applications in sorted(generated(context), key=_name):
        namespace = value_at(applications.owner.document.data, _namespace_path(applications))
        sources = _sources(applications)
        if not namespace or not sources:
            continue
        content = json.dumps([namespace, sources], sort_keys=True, default=str)
        # One finding is enough: many sets with one source would have a finding for each pair.
        for other in by_content[content]:
            if shared := applications.clusters & other.clusters:
                yield codes.SAME_OBJECTS.at(
                    applications.owner.at(*_namespace_path(applications)),
                    f"{applications.owner.name} and {other.owner.name} ({other.position}) deploy"
                    f" the same source into the namespace {namespace}: on one cluster, such as"
                    f" {min(shared)}, they manage the same objects, and each undoes what the other"
                    " does",
                    "give each a namespace of its own, or clusters that they do not share",
                )
                break
        by_content[content].append(applications)


def _name(applications: Generated) -> tuple[str, str]:
    return applications.owner.name, applications.owner.document.kind


def _is_scored(applications: Generated) -> bool:
    return applications.owner.document.kind == "ScoredApplication"


def _namespace_path(applications: Generated) -> FieldPath:
    if _is_scored(applications):
        return ("spec", "application", "destinationNamespace")
    return (*_SPEC, "destination", "namespace")


def _sources(applications: Generated) -> list[object]:
    """The sources as they are written."""
    data = applications.owner.document.data
    spec: FieldPath = ("spec", "application") if _is_scored(applications) else _SPEC
    source = value_at(data, (*spec, "source"))
    sources = value_at(data, (*spec, "sources"))
    return [*([source] if source else []), *(sources if isinstance(sources, list) else [])]
