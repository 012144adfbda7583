"""The state of scoring on a hub, or the requested part.

Pure: `hubreader` reads it, and `cli` shows it.
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from dsf_wire.constants import GENERATOR_MANAGER, MANAGED_BY_LABEL
from gitops_dsf.errors import UsageError
from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.placements import ranked_by, resources_read
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.times import timestamp
from gitops_dsf.views.status.clusters import ClusterView, cluster_views
from gitops_dsf.views.status.inputs import HubPart, StatusInputs
from gitops_dsf.views.status.placements import (
    ApplicationView,
    PlacementView,
    application_views,
    placement_views,
    state_of,
)
from gitops_dsf.views.status.queue import FailoverView, QueueView, failover_views, queue_view
from gitops_dsf.views.status.scores import ScorerStatus, ScorerView, scorer_status, scorer_views


@dataclass(frozen=True, kw_only=True)
class Overview:
    inputs: StatusInputs
    clusters: tuple[ClusterView, ...]
    scorers: tuple[ScorerView, ...]
    placements: tuple[PlacementView, ...]
    eligible: Mapping[str, tuple[str, ...]]
    """The clusters that pass the filters of each of these Placements, if they are known."""
    applications: tuple[ApplicationView, ...]
    queue: QueueView | None
    refuges: tuple[FailoverView, ...]


class UnreadPart(Struct):
    what: str
    why: str
    message: str


class StatusHub(Struct):
    origin: str
    now: str
    clusters: int
    scores: int
    unread: tuple[UnreadPart, ...]


class StatusOutput(Struct):
    """The output of `status`."""

    hub: StatusHub
    clusters: tuple[ClusterView, ...]
    scorers: tuple[ScorerStatus, ...]
    placements: tuple[PlacementView, ...]
    applications: tuple[ApplicationView, ...]
    queue: QueueView | UnsetType = UNSET
    refuges: tuple[FailoverView, ...] | UnsetType = UNSET


def document(view: Overview) -> StatusOutput:
    inputs, snapshot = view.inputs, view.inputs.snapshot
    unread = tuple(UnreadPart(item.what, str(item.why), str(item)) for item in inputs.holes)
    return StatusOutput(
        hub=StatusHub(
            snapshot.origin,
            timestamp(inputs.now),
            len(snapshot.clusters),
            snapshot.score_count,
            unread,
        ),
        clusters=view.clusters,
        scorers=tuple(map(_encoded, view.scorers)),
        placements=view.placements,
        applications=view.applications,
        queue=view.queue or UNSET,
        refuges=view.refuges or UNSET,
    )


def _encoded(view: ScorerView) -> Any:  # noqa: ANN401 - a ScorerStatus that is JSON already
    """A scorer can have thousands of scores, so it is encoded at once."""
    return msgspec.Raw(msgspec.json.encode(scorer_status(view)))


@dataclass(frozen=True, kw_only=True)
class Filter:
    """What to show; None means everything."""

    scorer: str | None = None
    """Name of a DynamicScorer, or its score name."""
    placement: str | None = None
    """namespace/name, or the name alone if it is unique."""
    cluster: str | None = None


def build(inputs: StatusInputs, only: Filter | None = None) -> Overview:
    """Builds the view. Raises UsageError for an unknown object of a kind that could be read."""
    asked = only or Filter()
    if asked.cluster is not None and inputs.knows(HubPart.CLUSTERS):
        _check("cluster", asked.cluster, inputs.snapshot.clusters)
    if asked.scorer is not None:
        scorers = _scorer(inputs.scorers, asked.scorer)
        if not scorers and inputs.knows(HubPart.SCORERS):
            _check("DynamicScorer", asked.scorer, {item.name for item in inputs.scorers})
    chosen = _chosen(inputs.scorers, inputs.placements, asked)
    if asked.placement is not None and not chosen.placements and inputs.knows(HubPart.PLACEMENTS):
        _check("Placement", asked.placement, {item.key for item in chosen.among})
    sets = [item for item in inputs.application_sets if item.rendered]
    keys = None
    if asked.scorer is not None or asked.placement is not None:
        keys = {item.key for item in chosen.placements}
        sets = [
            item for item in sets if keys & {f"{item.namespace}/{name}" for name in item.placements}
        ]
    applications = tuple(
        view
        for view in application_views(sets, inputs)
        if asked.cluster is None or any(copy.cluster == asked.cluster for copy in view.copies)
    )
    state = state_of(chosen.placements, inputs)
    views = list(placement_views(chosen.placements, inputs, state, cluster=asked.cluster))
    return Overview(
        inputs=inputs,
        clusters=tuple(cluster_views(inputs, cluster=asked.cluster)),
        scorers=scorer_views(chosen.scorers, inputs, cluster=asked.cluster),
        placements=tuple(view for view, _ in views),
        eligible={view.placement: clusters for view, clusters in views},
        applications=applications,
        queue=queue_view(inputs.moves, placements=keys, cluster=asked.cluster),
        refuges=tuple(failover_views(inputs, placements=keys, cluster=asked.cluster)),
    )


def resources_shown(
    scorers: Sequence[DynamicScorer], placements: Sequence[Placement], only: Filter
) -> frozenset[str] | None:
    """Names of the AddOnPlacementScores that a view uses; None means any."""
    chosen = _chosen(scorers, placements, only)
    found = {item.resource for item in chosen.scorers}
    for item in chosen.placements:
        read = resources_read(item)
        if read is None:
            return None
        found |= read
    return frozenset(found)


@dataclass(frozen=True, kw_only=True)
class _Chosen:
    scorers: Sequence[DynamicScorer]
    placements: Sequence[Placement]
    among: Sequence[Placement]


def _chosen(
    scorers: Sequence[DynamicScorer], placements: Sequence[Placement], asked: Filter
) -> _Chosen:
    found, shown = list(scorers), _shown(placements, scorers)
    if asked.scorer is not None:
        found = _scorer(scorers, asked.scorer)
        resources = {item.resource for item in found}
        shown = [item for item in shown if resources & _ranks_by(item)]
    among: Sequence[Placement] = shown
    if asked.placement is not None:
        among = shown if asked.scorer else placements
        shown = [item for item in among if asked.placement in {item.key, item.metadata.name}]
        ranked = frozenset[str]().union(*map(_ranks_by, shown))
        found = [item for item in found if item.resource in ranked]
    return _Chosen(scorers=found, placements=shown, among=among)


def _shown(placements: Iterable[Placement], scorers: Iterable[DynamicScorer]) -> list[Placement]:
    """Rendered Placements, and hand-written ones that rank by one of our scores, in order of name."""
    resources = {item.resource for item in scorers}
    return [
        item
        for item in sorted(placements, key=lambda item: item.key)
        if item.metadata.label(MANAGED_BY_LABEL) == GENERATOR_MANAGER or _ranks_by(item) & resources
    ]


def _ranks_by(item: Placement) -> frozenset[str]:
    return frozenset(each.resource for each in ranked_by(item))


def _scorer(scorers: Iterable[DynamicScorer], name: str) -> list[DynamicScorer]:
    return [item for item in scorers if name in {item.name, item.score_name}]


def _check(kind: str, name: str, known: Iterable[str]) -> None:
    names = sorted(known)
    if name in names:
        return
    close = difflib.get_close_matches(name, names, n=3) or names[:10]
    hint = f"; there is {', '.join(close)}" if close else ""
    raise UsageError(f"the hub has no {kind} {name}{hint}")
