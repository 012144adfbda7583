"""ScoredPlacement: a decision by scores, for any consumer."""

from typing import Literal

from gitops_dsf.repository.model.base import PRODUCT_API, Authored, Metadata
from gitops_dsf.repository.model.ranking import Ranking


class ScoredPlacementSpec(Ranking):
    """Which clusters are chosen by score."""

    bindings: Literal["Rendered", "Existing"] = "Rendered"
    """Rendered: a ManagedClusterSetBinding for each cluster set is rendered into the namespace. Existing: the
    namespace has them, and somebody else owns them.
    """


class ScoredPlacement(Authored):
    """A Placement by scores in any namespace, for ScoredApplications that share it and for other consumers of
    decisions.
    """

    api_version: Literal["gitops-dsf.io/v1alpha1"] = PRODUCT_API
    kind: Literal["ScoredPlacement"] = "ScoredPlacement"
    metadata: Metadata
    spec: ScoredPlacementSpec
