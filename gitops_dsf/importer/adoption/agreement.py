"""Compares the rendered objects of a repository with the live ones.

Raises NotExpressible where they differ. Both are read by the same functions, so that a field
without a place in our kinds shows as a difference.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gitops_dsf.importer.adoption.forms import LiveObject
from gitops_dsf.importer.adoption.liveset import NotExpressible, read_live_set
from gitops_dsf.importer.adoption.placement import ranking_of
from gitops_dsf.importer.manifest import ImportedObject
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.render.applicationsets import application_set
from gitops_dsf.render.delivery import board_page
from gitops_dsf.repository.load import value_at
from gitops_dsf.repository.model.scored_application import ScoredApplication


def check_set(live: LiveObject, application: ScoredApplication, fleet: CheckedFleet) -> None:
    """Raises NotExpressible if other Applications would be generated."""
    rendered = application_set(
        application,
        namespace=fleet.repository.spec.argocd.namespace,
        clusters=fleet.cluster_parameters.get(live.name, ()),
        board=board_page(fleet.repository.spec),
    )
    wanted = read_live_set(live.data)
    rendered_set = read_live_set(rendered)
    fields = sorted(differing(wanted.spec, rendered_set.spec))
    if fields:
        raise NotExpressible(f"spec.{fields[0]} has no place in a ScoredApplication")
    if (wanted.placement, wanted.config_map) != (rendered_set.placement, rendered_set.config_map):
        raise NotExpressible("its generator would read another decision")


def check_ranking(placement: LiveObject, spec: Mapping[str, Any], fleet: CheckedFleet) -> None:
    """Raises NotExpressible if the rendered Placement would decide otherwise."""
    live_spec = value_at(placement.data, ("spec",)) or {}
    wanted = ranking_of(live_spec, fleet.scorers)
    rendered = ranking_of(spec, fleet.scorers)
    fields = sorted(differing(_by_set(wanted), _by_set(rendered)))
    if fields:
        raise NotExpressible(f"the rendered Placement would differ in {fields[0]}")


def differing(wanted: Any, given: Any, path: str = "") -> Iterator[str]:  # noqa: ANN401
    """The paths at which two values differ."""
    if isinstance(wanted, Mapping) and isinstance(given, Mapping):
        for name in sorted({*wanted, *given}):
            below = f"{path}.{name}" if path else name
            if name not in wanted or name not in given:
                yield below
            else:
                yield from differing(wanted[name], given[name], below)
    elif wanted != given:
        yield path


def _by_set(ranking: ImportedObject) -> ImportedObject:
    """A ranking whose lists without an order are sorted, with every default."""
    placement = dict(ranking["placement"])
    placement["clusterSets"] = sorted(placement["clusterSets"])
    # OCM takes an empty operator of a toleration for Equal, and the renderer writes it out.
    tolerations = placement.get("tolerations", [])
    placement["tolerations"] = [{"operator": "Equal", **entry} for entry in tolerations]
    return {**ranking, "placement": placement, "scores": sorted(ranking["scores"], key=str)}
