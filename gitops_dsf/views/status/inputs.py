"""Inputs of `status`: the objects of a hub, and the parts that could not be read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from gitops_dsf.hub.application_sets import ApplicationSet
from gitops_dsf.hub.applications import ArgoApplication
from gitops_dsf.hub.delivery import OUR_CRDS
from gitops_dsf.hub.moves.waiting import WaitingCopy
from gitops_dsf.hub.multikueue import MultiKueueConfig
from gitops_dsf.hub.names import HUB_NAMESPACE
from gitops_dsf.hub.objects import ManagedClusterAddOn, Placement
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.snapshots.snapshot import Snapshot
from gitops_dsf.hub.targets import Mask
from gitops_dsf.hub.unread import Unread
from gitops_dsf.pacing.stored import StoredMoves


class HubPart(StrEnum):
    """A part of a hub that is read; each can be missing."""

    CLUSTERS = "clusters"
    SETS = "sets"
    BINDINGS = "bindings"
    SCORERS = "scorers"
    SCORER_LIST = "scorerList"
    SCORER_STATUS = "scorerStatus"
    SCORES = "scores"
    ADDONS = "addons"
    MASKS = "masks"
    PLACEMENTS = "placements"
    DECISIONS = "decisions"
    APPLICATION_SETS = "applicationSets"
    APPLICATIONS = "applications"
    MOVES = "moves"
    MULTIKUEUE_CONFIGS = "multiKueueConfigs"


@dataclass(frozen=True, kw_only=True)
class StatusInputs:
    """The objects of a hub at one moment. What could not be read is empty, and in `unread`."""

    snapshot: Snapshot
    now: datetime
    """The time of the hub's clock, because OCM compares validUntil with it."""
    hub_namespace: str = HUB_NAMESPACE
    """The namespace of the reconciler and the scorers."""
    scorers: tuple[DynamicScorer, ...] = ()
    """The scorers of the rendered list; the DynamicScorers of the hub if the list was not read."""
    unlisted_scorers: tuple[str, ...] = ()
    """DynamicScorers of the hub that are not in the list."""
    crds: str = OUR_CRDS
    """The value of delivery.crds of the rendered fleet."""
    mode: str | None = None
    """The value of delivery.mode of the rendered fleet; None if no list was read."""
    placements: tuple[Placement, ...] = ()
    application_sets: tuple[ApplicationSet, ...] = ()
    applications: tuple[ArgoApplication, ...] = ()
    """Applications with the label gitops-dsf.io/application, and those of adopted ApplicationSets.
    """
    addons: Mapping[str, ManagedClusterAddOn] = field(default_factory=dict)
    """The agent's ManagedClusterAddOns by cluster."""
    masks: tuple[Mask, ...] = ()
    moves: StoredMoves | None = None
    """Paced moves; None while the hub has no paced Placement, or no move began."""
    waits: tuple[WaitingCopy, ...] = ()
    """The reasons why old copies are still there, as the reconciler reports them."""
    multi_kueue_configs: tuple[MultiKueueConfig, ...] = ()
    """All of the hub, if a Placement orders one."""
    foreign: tuple[tuple[str, str], ...] = ()
    """(cluster, name) of AddOnPlacementScores with a scorer's name that our agent did not write."""
    contested: tuple[tuple[str, str, str], ...] = ()
    """(cluster, name, field manager) of scores of our agents that another program also writes."""
    unowned: tuple[tuple[str, str], ...] = ()
    """(cluster, name) of AddOnPlacementScores that our agent wrote and no scorer owns."""
    unread: Mapping[HubPart, Unread] = field(default_factory=dict)

    def knows(self, *parts: HubPart) -> bool:
        """Whether all of these parts could be read."""
        return not self.unread.keys() & set(parts)

    @property
    def holes(self) -> tuple[Unread, ...]:
        """The parts that could not be read, in order."""
        # Reads have an order of their own, which must not show in what people read.
        return tuple(self.unread[part] for part in HubPart if part in self.unread)
