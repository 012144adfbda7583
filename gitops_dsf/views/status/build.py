"""The whole view, and the part of it that somebody asked for."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from dsf_wire.constants import GENERATOR_MANAGER, MANAGED_BY_LABEL
from gitops_dsf.errors import UsageError
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.views.status.inputs import Inputs, Object, Part
from gitops_dsf.views.status.model import Overview, ScorerView
from gitops_dsf.views.status.moves import application_views, followed, is_ours
from gitops_dsf.views.status.placements import key_of, placement_views, ranked_by
from gitops_dsf.views.status.scores import scorer_views


class UnknownNameError(UsageError):
    """Something was asked for that the hub does not have."""


@dataclass(frozen=True, kw_only=True)
class Filter:
    """What to show; None is everything."""

    scorer: str | None = None
    """Name of a DynamicScorer, or its score name."""
    placement: str | None = None
    """namespace/name, or the name alone where it is unique."""
    cluster: str | None = None


def build(inputs: Inputs, wanted: Filter | None = None) -> Overview:
    """The view. Raises UnknownNameError when what is asked for is not there, though it could be read."""
    asked = wanted or Filter()
    scorers = list(inputs.scorers)
    placements = _shown(inputs.placements, scorers)
    sets = [item for item in inputs.application_sets if is_ours(item)]
    if asked.cluster is not None and inputs.knows(Part.CLUSTERS):
        _check("cluster", asked.cluster, inputs.snapshot.clusters)
    if asked.scorer is not None:
        scorers = _scorer(scorers, asked.scorer, inputs)
        placements = [item for item in placements if ranked_by(item) & {one.resource for one in scorers}]
    if asked.placement is not None:
        placements = _placement(placements if asked.scorer else inputs.placements, asked.placement, inputs)
        scorers = [one for one in scorers if any(one.resource in ranked_by(item) for item in placements)]
    if asked.scorer is not None or asked.placement is not None:
        keys = {key_of(item) for item in placements}
        sets = [item for item in sets if keys & _followed_keys(item)]
    views = scorer_views(scorers, inputs)
    applications = application_views(sets, inputs)
    if asked.cluster is not None:
        views = tuple(_only(view, asked.cluster) for view in views)
        applications = tuple(view for view in applications if any(copy.cluster == asked.cluster for copy in view.copies))
    return Overview(
        origin=inputs.snapshot.origin,
        now=inputs.now,
        clusters=tuple(sorted(inputs.snapshot.clusters)),
        score_count=inputs.snapshot.score_count,
        scorers=views,
        placements=placement_views(placements, inputs, cluster=asked.cluster),
        applications=applications,
        unread=tuple(inputs.unread[part] for part in Part if part in inputs.unread),
    )


def _shown(placements: Iterable[Object], scorers: Iterable[DynamicScorer]) -> list[Object]:
    """Rendered Placements, and those written by hand that rank by one of our scores; by name."""
    resources = {item.resource for item in scorers}
    found = [item for item in placements if _rendered(item) or ranked_by(item) & resources]
    return sorted(found, key=key_of)


def _rendered(item: Object) -> bool:
    return (item["metadata"].get("labels") or {}).get(MANAGED_BY_LABEL) == GENERATOR_MANAGER


def _followed_keys(item: Object) -> set[str]:
    namespace = item["metadata"]["namespace"]
    return {f"{namespace}/{name}" for name in followed((item.get("spec") or {}).get("generators"))}


def _scorer(scorers: Sequence[DynamicScorer], name: str, inputs: Inputs) -> list[DynamicScorer]:
    found = [item for item in scorers if name in {item.name, item.score_name}]
    if not found and inputs.knows(Part.SCORERS):
        _check("DynamicScorer", name, {item.name for item in scorers})
    return found


def _placement(placements: Iterable[Object], name: str, inputs: Inputs) -> list[Object]:
    keys = {key_of(item): item for item in placements}
    found = [item for key, item in keys.items() if name in {key, key.partition("/")[2]}]
    if not found and inputs.knows(Part.PLACEMENTS):
        _check("Placement", name, keys)
    return found


def _check(kind: str, name: str, known: Iterable[str]) -> None:
    names = sorted(known)
    if name in names:
        return
    close = difflib.get_close_matches(name, names, n=3) or names[:10]
    hint = f"; there is {', '.join(close)}" if close else ""
    msg = f"the hub has no {kind} {name}{hint}"
    raise UnknownNameError(msg)


def _only(view: ScorerView, cluster: str) -> ScorerView:
    return replace(view, cells=tuple(cell for cell in view.cells if cell.cluster == cluster))
