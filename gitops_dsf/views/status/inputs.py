"""What a view of a hub is made of: its objects at one moment, and which of them could not be read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from gitops_dsf.hub.addons import ManagedClusterAddOn
from gitops_dsf.hub.applications import Application
from gitops_dsf.hub.applicationsets import ApplicationSet
from gitops_dsf.hub.masks import Mask
from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.snapshot import Snapshot
from gitops_dsf.hub.unread import Unread


class Part(StrEnum):
    """What is read of a hub; each may be missing by itself."""

    CLUSTERS = "clusters"
    SETS = "sets"
    BINDINGS = "bindings"
    SCORERS = "scorers"
    SCORES = "scores"
    ADDONS = "addons"
    MASKS = "masks"
    SUSPENDED = "suspended"
    PLACEMENTS = "placements"
    DECISIONS = "decisions"
    APPLICATION_SETS = "applicationSets"
    APPLICATIONS = "applications"


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """A hub at one moment."""

    snapshot: Snapshot
    """Clusters, sets, bindings, scores and decisions."""
    now: datetime
    """The hub's clock: OCM compares validUntil with it."""
    scorers: tuple[DynamicScorer, ...] = ()
    placements: tuple[Placement, ...] = ()
    application_sets: tuple[ApplicationSet, ...] = ()
    applications: tuple[Application, ...] = ()
    """Those with the label gitops-dsf.io/application."""
    addons: Mapping[str, ManagedClusterAddOn] = field(default_factory=dict)
    """Our ManagedClusterAddOns by cluster."""
    masks: tuple[Mask, ...] = ()
    suspended: frozenset[str] = frozenset()
    """Score names that the reconciler suspended."""
    foreign: tuple[tuple[str, str], ...] = ()
    """(cluster, name) of AddOnPlacementScores that carry a scorer's name and were not written by an agent of
    ours.
    """
    contested: tuple[tuple[str, str, str], ...] = ()
    """(cluster, name, field manager) of AddOnPlacementScores of our agents that another program writes, too.
    """
    unowned: tuple[tuple[str, str], ...] = ()
    """(cluster, name) of AddOnPlacementScores that an agent of ours wrote and no scorer stands for."""
    unread: Mapping[Part, Unread] = field(default_factory=dict)

    def knows(self, *parts: Part) -> bool:
        """Whether all of these were read."""
        return not self.unread.keys() & set(parts)
