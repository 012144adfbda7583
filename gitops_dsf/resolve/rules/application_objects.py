"""Checks whether two applications manage the same objects on a cluster."""

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.repository.load import Path, value_at
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.application_names import Generated, generated
from gitops_dsf.resolve.rules.registry import rule

_SPEC: Final[Path] = ("spec", "template", "spec")


@rule(needs=("FleetRepository", "ManagedCluster", "ManagedClusterSet"))
def applications_bring_different_objects(context: Context) -> Iterator[Diagnostic]:
    """Two Applications with one source in one namespace of a cluster manage the same objects.

    Each undoes what the other does, and when one moves away, the objects of the other one are deleted.
    """
    alike: dict[str, list[Generated]] = defaultdict(list)
    for made in generated(context):
        namespace, sources = _content(made)
        if not namespace or not sources:
            continue
        others = alike[json.dumps([namespace, sources], sort_keys=True, default=str)]
        for other in others:
            if shared := made.clusters & other.clusters:
                message = (
                    f"{made.item.name} and {other.item.name} ({other.position}) deploy the same source into"
                    f" the namespace {namespace}: on one cluster, such as {min(shared)}, they manage the same"
                    " objects, and each undoes what the other does"
                )
                hint = "give each a namespace of its own, or clusters that they do not share"
                yield codes.SAME_OBJECTS.at(made.item.at(*_namespace(made)), message, hint)
                break
        others.append(made)


def _namespace(made: Generated) -> Path:
    if made.item.document.kind == "ScoredApplication":
        return ("spec", "application", "destinationNamespace")
    return (*_SPEC, "destination", "namespace")


def _content(made: Generated) -> tuple[object, list[object]]:
    """The namespace and the sources as they are written."""
    data = made.item.document.data
    place: Path = (
        ("spec", "application") if made.item.document.kind == "ScoredApplication" else _SPEC
    )
    one, several = value_at(data, (*place, "source")), value_at(data, (*place, "sources"))
    sources = [*([one] if one else []), *(several if isinstance(several, list) else [])]
    return value_at(data, _namespace(made)), sources
