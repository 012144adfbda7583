"""Objects that would be one object on the hub, although each is defined once in the repository."""

from collections.abc import Iterator

from gitops_dsf import codes
from gitops_dsf.diagnostics import Diagnostic, Position
from gitops_dsf.resolve.context import Context


def rendered_objects_differ(context: Context) -> Iterator[Diagnostic]:
    """An application renders a Placement and an ApplicationSet of its name; a document that is carried as it
    is must not be one of them.
    """
    home = context.argocd_namespace
    taken: dict[tuple[str, str, str], Position] = {
        (kind, home, item.name): item.position
        for item in context.declared.applications
        for kind in ("ApplicationSet", "Placement")
    }
    carried = (*context.declared.placements, *context.declared.application_sets)
    for item in sorted(carried, key=lambda found: found.position):
        kind = item.document.kind
        namespace = item.document.data["metadata"].get("namespace") or home
        key = (kind, namespace, item.name)
        first = taken.setdefault(key, item.position)
        if first != item.position:
            message = f"{kind} {item.name} in {namespace} comes from {first} already"
            yield codes.DUPLICATE_OBJECT.at(item.position, message, "rename one of them, or remove it")
