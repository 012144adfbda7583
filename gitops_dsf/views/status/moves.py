"""Applications: the clusters of the decision, the clusters of Argo CD's Applications, and what a
make-before-break move waits for.
"""

from collections.abc import Iterable, Iterator, Mapping

from gitops_dsf.hub.applications import Application
from gitops_dsf.hub.applicationsets import ApplicationSet
from gitops_dsf.hub.decisions import decided
from gitops_dsf.views.status.inputs import Inputs, Part
from gitops_dsf.views.status.model import ApplicationView, Copy, Standing


def application_views(sets: Iterable[ApplicationSet], inputs: Inputs) -> tuple[ApplicationView, ...]:
    """Returns one view per ApplicationSet, in order of name."""
    clusters = decided(inputs.snapshot.decisions)
    there: dict[tuple[str, str], list[Application]] = {}
    for item in inputs.applications:
        there.setdefault((item.namespace, item.application), []).append(item)
    known = inputs.knows(Part.DECISIONS, Part.APPLICATIONS)
    return tuple(
        _view(item, clusters, there, known=known) for item in sorted(sets, key=lambda item: item.name)
    )


def _view(
    item: ApplicationSet,
    clusters: Mapping[tuple[str, str], frozenset[str]],
    there: Mapping[tuple[str, str], list[Application]],
    *,
    known: bool,
) -> ApplicationView:
    expected = frozenset[str]().union(
        *(clusters.get((item.namespace, placement), ()) for placement in item.placements)
    )
    copies = tuple(_copies(expected, there.get((item.namespace, item.name), []))) if known else ()
    settled = all(copy.standing is Standing.RUNNING for copy in copies) and not item.error
    return ApplicationView(
        name=item.name,
        strategy=item.strategy or "",
        placements=tuple(sorted(item.placements)),
        settled=settled if known else None,
        message=item.error or None,
        copies=copies,
    )


def _copies(expected: frozenset[str], there: Iterable[Application]) -> Iterator[Copy]:
    found = {item.cluster: item for item in there}
    for cluster in sorted(expected | found.keys()):
        item = found.get(cluster)
        if item is None:
            yield Copy(cluster, Standing.PENDING, None, None, None)
        else:
            standing = _standing(item, decided=cluster in expected)
            yield Copy(cluster, standing, item.name or None, item.health or None, item.sync or None)


def _standing(item: Application, *, decided: bool) -> Standing:
    if item.deleting:
        return Standing.LEAVING
    if not decided:
        return Standing.WAITING
    return Standing.RUNNING if item.health == "Healthy" else Standing.STARTING
