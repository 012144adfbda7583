"""The state of scoring on a hub, or the requested part. `hubreader` reads it, and `show` prints it.

Pure. Not guaranteed: that every part is known. Parts that could not be read are in `inputs.unread`,
and values that depend on them are None or left out.
"""

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from dsf_wire.constants import GENERATOR_MANAGER, MANAGED_BY_LABEL
from gitops_dsf.errors import UsageError
from gitops_dsf.hub.application_sets import ApplicationSet
from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.placements import ranked_by, resources_read
from gitops_dsf.hub.scorers import DynamicScorer, ScoreKey
from gitops_dsf.hub.times import timestamp
from gitops_dsf.hub.unread import Unread
from gitops_dsf.views.status.applications import ApplicationView, application_views
from gitops_dsf.views.status.clusters import ClusterView, cluster_views
from gitops_dsf.views.status.external_scores import external_scores
from gitops_dsf.views.status.inputs import HubPart, StatusInputs
from gitops_dsf.views.status.placements import PlacementView, placement_views, state_of
from gitops_dsf.views.status.queue import QueueView, hub_queue
from gitops_dsf.views.status.refuges import FailoverView, failover_views
from gitops_dsf.views.status.scores import ScorerStatus, ScorerView, scorer_status, scorer_views
from gitops_dsf.views.status.verification import verified_by


@dataclass(frozen=True, kw_only=True)
class Overview:
    """The content of `status`, as values."""

    inputs: StatusInputs
    clusters: tuple[ClusterView, ...]
    scorers: tuple[ScorerView, ...]
    placements: tuple[PlacementView, ...]
    eligible: Mapping[str, tuple[str, ...]]
    """The clusters that pass the filters of each of these Placements, if they are known."""
    applications: tuple[ApplicationView, ...]
    queue: QueueView | None
    refuges: tuple[FailoverView, ...]

    @cached_property
    def external_scores(self) -> Mapping[ScoreKey, tuple[str, ...]]:
        """The scores of other add-ons that rank these Placements, with those that each ranks."""
        viewed_keys = {view.placement for view in self.placements}
        viewed: list[Placement] = []
        for placement in self.inputs.placements:
            if placement.key in viewed_keys:
                viewed.append(placement)
        return external_scores(viewed, self.inputs.scorers)


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


@dataclass(frozen=True, kw_only=True)
class Filter:
    """The requested part; None means everything."""

    scorer: str | None = None
    """Name of a DynamicScorer, or its score name."""
    placement: str | None = None
    """namespace/name, or the name alone if it is unique."""
    cluster: str | None = None


@dataclass(frozen=True, kw_only=True)
class _FilteredObjects:
    """The scorers and Placements that a filter leaves."""

    scorers: Sequence[DynamicScorer]
    placements: Sequence[Placement]
    candidates: Sequence[Placement]
    """The Placements among which a name was looked up, for suggestions."""


def build(inputs: StatusInputs, only: Filter | None = None) -> Overview:
    """Builds the view. Raises UsageError for an unknown object of a kind that could be read."""
    requested = only or Filter()
    chosen = _chosen(inputs.scorers, inputs.placements, requested)
    _check_names(inputs, requested, chosen)
    keys: set[str] | None = None
    if requested.scorer is not None or requested.placement is not None:
        keys = {placement.key for placement in chosen.placements}
    sets: list[ApplicationSet] = []
    for application_set in inputs.application_sets:
        # Sets that people wrote by hand follow no strategy of ours, so nothing is expected of them.
        if application_set.rendered and (keys is None or keys & _placement_keys(application_set)):
            sets.append(application_set)
    applications = application_views(sets, inputs)
    if requested.cluster is not None:
        applications = tuple(view for view in applications if view.is_on(requested.cluster))
    placements: list[PlacementView] = []
    eligible: dict[str, tuple[str, ...]] = {}
    state = state_of(chosen.placements, inputs)
    for view, clusters in placement_views(
        chosen.placements, inputs, state, cluster=requested.cluster
    ):
        placements.append(view)
        eligible[view.placement] = clusters
    return Overview(
        inputs=inputs,
        clusters=tuple(cluster_views(inputs, cluster=requested.cluster)),
        scorers=scorer_views(chosen.scorers, inputs, cluster=requested.cluster),
        placements=tuple(placements),
        eligible=eligible,
        applications=applications,
        queue=hub_queue(inputs, placements=keys, cluster=requested.cluster),
        refuges=tuple(failover_views(inputs, placements=keys, cluster=requested.cluster)),
    )


def document(view: Overview) -> StatusOutput:
    """The view as JSON output."""
    inputs = view.inputs
    snapshot = inputs.snapshot
    return StatusOutput(
        hub=StatusHub(
            origin=snapshot.origin,
            now=timestamp(inputs.now),
            clusters=len(snapshot.clusters),
            scores=snapshot.score_count,
            unread=tuple(map(_unread_part, inputs.holes)),
        ),
        clusters=view.clusters,
        scorers=tuple(map(_encoded, view.scorers)),
        placements=view.placements,
        applications=view.applications,
        queue=view.queue or UNSET,
        refuges=view.refuges or UNSET,
    )


def _unread_part(part: Unread) -> UnreadPart:
    return UnreadPart(part.what, str(part.why), str(part))


def resources_shown(
    scorers: Sequence[DynamicScorer], placements: Sequence[Placement], only: Filter
) -> frozenset[str] | None:
    """Names of the AddOnPlacementScores that a view uses; None means any."""
    chosen = _chosen(scorers, placements, only)
    resources = _resources(chosen.scorers)
    for placement in chosen.placements:
        read = resources_read(placement)
        # An expression computes the name, so every score of the hub may be the one.
        if read is None:
            return None
        resources |= read
        resources |= verified_by(placement)
    return resources


def _encoded(view: ScorerView) -> Any:  # noqa: ANN401 - a ScorerStatus that is JSON already
    """A scorer as JSON. It can have thousands of scores, so they never exist all at once."""
    return msgspec.Raw(msgspec.json.encode(scorer_status(view)))


def _check_names(inputs: StatusInputs, requested: Filter, chosen: _FilteredObjects) -> None:
    """Raises UsageError for a name that the hub does not have.

    A kind that could not be read may have it, so then nothing is refused.
    """
    if requested.cluster is not None and inputs.knows(HubPart.CLUSTERS):
        _check("cluster", requested.cluster, inputs.snapshot.clusters)
    name = requested.scorer
    if name is not None and inputs.knows(HubPart.SCORERS) and not _named(inputs.scorers, name):
        _check("DynamicScorer", name, map(attrgetter("name"), inputs.scorers))
    name = requested.placement
    if name is not None and inputs.knows(HubPart.PLACEMENTS) and not chosen.placements:
        _check("Placement", name, map(attrgetter("key"), chosen.candidates))


def _check(kind: str, name: str, known: Iterable[str]) -> None:
    # With a misspelt name the view would be empty, and look like a hub without problems.
    names = sorted(set(known))
    if name in names:
        return
    # A hub can have thousands of names; ten show at least what names look like there.
    close = difflib.get_close_matches(name, names, n=3) or names[:10]
    if not close:
        raise UsageError(f"the hub has no {kind} {name}")
    raise UsageError(f"the hub has no {kind} {name}; there is {', '.join(close)}")


def _chosen(
    scorers: Sequence[DynamicScorer], placements: Sequence[Placement], requested: Filter
) -> _FilteredObjects:
    chosen_scorers = list(scorers)
    chosen_placements = _relevant(placements, scorers)
    if requested.scorer is not None:
        chosen_scorers = _named(scorers, requested.scorer)
        resources = _resources(chosen_scorers)
        chosen_placements = list(_asking(resources, chosen_placements))
    candidates: Sequence[Placement] = chosen_placements
    if requested.placement is not None:
        # A Placement that is named is shown, also if it is not ours and ranks by no score of ours.
        if not requested.scorer:
            candidates = placements
        chosen_placements = list(_called(requested.placement, candidates))
        resources = frozenset[str]().union(*map(_asks, chosen_placements))
        chosen_scorers = [scorer for scorer in chosen_scorers if scorer.resource in resources]
    return _FilteredObjects(
        scorers=chosen_scorers, placements=chosen_placements, candidates=candidates
    )


def _relevant(placements: Iterable[Placement], scorers: Iterable[DynamicScorer]) -> list[Placement]:
    """Rendered Placements, and others that ask for one of our scores, in order of name."""
    resources = _resources(scorers)
    relevant: list[Placement] = []
    for placement in sorted(placements, key=lambda placement: placement.key):
        is_rendered = placement.metadata.label(MANAGED_BY_LABEL) == GENERATOR_MANAGER
        if is_rendered or _asks(placement) & resources:
            relevant.append(placement)
    return relevant


def _resources(scorers: Iterable[DynamicScorer]) -> frozenset[str]:
    """The names of the AddOnPlacementScores that these scorers publish."""
    return frozenset(scorer.resource for scorer in scorers)


def _asks(placement: Placement) -> frozenset[str]:
    """The names of the AddOnPlacementScores that rank its clusters, or verify its moves."""
    ranking = frozenset(score.resource for score in ranked_by(placement))
    return ranking | verified_by(placement)


def _asking(resources: Collection[str], placements: Iterable[Placement]) -> Iterator[Placement]:
    """The Placements that rank or are verified by one of these AddOnPlacementScores."""
    for placement in placements:
        if not _asks(placement).isdisjoint(resources):
            yield placement


def _called(name: str, placements: Iterable[Placement]) -> Iterator[Placement]:
    """The Placements with this name; without a namespace there may be several."""
    for placement in placements:
        if name in (placement.key, placement.metadata.name):
            yield placement


def _named(scorers: Iterable[DynamicScorer], name: str) -> list[DynamicScorer]:
    return [scorer for scorer in scorers if name in (scorer.name, scorer.score_name)]


def _placement_keys(application_set: ApplicationSet) -> set[str]:
    """The Placements that an ApplicationSet follows, by namespace/name.

    Argo CD looks decisions up in its own namespace alone, which is that of the ApplicationSet
    (docs/contributing/behaviour.md#one-namespace).
    """
    return {f"{application_set.namespace}/{name}" for name in application_set.placements}
