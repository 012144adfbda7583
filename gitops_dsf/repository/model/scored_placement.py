"""ScoredPlacement, a kind of apps/: a decision by scores for any consumer."""

from typing import Annotated, Literal

from pydantic import Field

from gitops_dsf.repository.model.base import PRODUCT_API, Authored, DnsLabel, Metadata
from gitops_dsf.repository.model.ranking import Ranking, SharedPlacementRules


class MultiKueue(Authored):
    """The MultiKueueConfig whose clusters the reconciler keeps in the order of the scores."""

    # AdmissionChecks refuse names with dots, and longer ones (Kueue 0.19.2).
    config: DnsLabel
    """Name of the MultiKueueConfig. The reconciler creates it, and nobody else may write it. An
    AdmissionCheck with controllerName kueue.x-k8s.io/multikueue names it.
    """
    reorder_seconds: Annotated[int, Field(ge=5, le=3600)] = 60
    """Seconds between two changes of the order. Clusters that join are appended at once."""


class ScoredPlacementSpec(Ranking):
    """Which clusters are chosen by score."""

    placement: SharedPlacementRules = SharedPlacementRules()
    """Which clusters may be chosen, how many, and in which groups."""
    multi_kueue: MultiKueue | None = None
    """Orders the clusters of a MultiKueueConfig by the scores, the best one first. Kueue offers
    jobs to them in this order.
    """


class ScoredPlacement(Authored):
    """A Placement by scores in any namespace.

    It is for ScoredApplications that share it, and for other consumers of decisions.
    """

    api_version: Literal["gitops-dsf.io/v1alpha1"] = PRODUCT_API
    kind: Literal["ScoredPlacement"] = "ScoredPlacement"
    metadata: Metadata
    spec: ScoredPlacementSpec
