"""The kinds that a fleet repository may hold, and its well-formed objects with their documents."""

from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from gitops_dsf.diagnostics import Diagnostic, Position
from gitops_dsf.repository.load import Document, FieldPath
from gitops_dsf.repository.model.base import DSF_API, PRODUCT_API, Authored
from gitops_dsf.repository.model.foreign import (
    ManagedCluster,
    ManagedClusterSet,
    RawApplicationSet,
    RawBinding,
    RawPlacement,
)
from gitops_dsf.repository.model.lock import ScorerLock
from gitops_dsf.repository.model.maintenance import Maintenance
from gitops_dsf.repository.model.metric_source import MetricSource
from gitops_dsf.repository.model.repository import FleetRepository
from gitops_dsf.repository.model.score_test import ScoreTest
from gitops_dsf.repository.model.scored_application import ScoredApplication
from gitops_dsf.repository.model.scored_placement import ScoredPlacement
from gitops_dsf.repository.model.scorer import DynamicScorer
from gitops_dsf.repository.model.scoring_config import DynamicScoringConfig

KINDS: dict[tuple[str, str], type[Authored]] = {
    ("argoproj.io/v1alpha1", "ApplicationSet"): RawApplicationSet,
    ("cluster.open-cluster-management.io/v1", "ManagedCluster"): ManagedCluster,
    ("cluster.open-cluster-management.io/v1beta1", "Placement"): RawPlacement,
    ("cluster.open-cluster-management.io/v1beta2", "ManagedClusterSet"): ManagedClusterSet,
    ("cluster.open-cluster-management.io/v1beta2", "ManagedClusterSetBinding"): RawBinding,
    (DSF_API, "DynamicScorer"): DynamicScorer,
    (DSF_API, "DynamicScoringConfig"): DynamicScoringConfig,
    (PRODUCT_API, "FleetRepository"): FleetRepository,
    (PRODUCT_API, "Maintenance"): Maintenance,
    (PRODUCT_API, "MetricSource"): MetricSource,
    (PRODUCT_API, "ScoreTest"): ScoreTest,
    (PRODUCT_API, "ScoredApplication"): ScoredApplication,
    (PRODUCT_API, "ScoredPlacement"): ScoredPlacement,
    (PRODUCT_API, "ScorerLock"): ScorerLock,
}
"""The model of each kind, by apiVersion and kind."""

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, eq=False, slots=True)
class Item(Generic[T_co]):
    """A well-formed object and its document."""

    value: T_co
    document: Document

    @property
    def name(self) -> str:
        return self.document.name

    @property
    def position(self) -> Position:
        return self.document.position

    def at(self, *path: str | int) -> Position:
        """The position of the value at a path, or of the nearest parent if it is absent."""
        return self.document.at(path)

    def inside(self, path: FieldPath, offset: int) -> Position:
        return self.document.inside(path, offset)


RankingItem: TypeAlias = Item[ScoredApplication] | Item[ScoredPlacement]
"""An object that has a ranking."""
CarriedItem: TypeAlias = Item[RawPlacement] | Item[RawBinding] | Item[RawApplicationSet]
"""An object that is copied into the output."""


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Declared:
    """Well-formed objects by kind, sorted by name.

    Of several with one identity the first is kept.
    """

    repository: Item[FleetRepository] | None
    scorers: tuple[Item[DynamicScorer], ...]
    metric_sources: tuple[Item[MetricSource], ...]
    scoring_configs: tuple[Item[DynamicScoringConfig], ...]
    clusters: tuple[Item[ManagedCluster], ...]
    cluster_sets: tuple[Item[ManagedClusterSet], ...]
    locks: tuple[Item[ScorerLock], ...]
    applications: tuple[Item[ScoredApplication], ...]
    scored_placements: tuple[Item[ScoredPlacement], ...]
    placements: tuple[Item[RawPlacement], ...]
    bindings: tuple[Item[RawBinding], ...]
    application_sets: tuple[Item[RawApplicationSet], ...]
    score_tests: tuple[Item[ScoreTest], ...]
    maintenance: tuple[Item[Maintenance], ...]
    foreign: tuple[Document, ...]
    """Documents of kinds that are not read. Nothing is rendered for them."""
    left_out: frozenset[tuple[str, str]]
    """Kind and name of written objects that could not be read; an empty name stands for any."""
    broken: tuple[Document, ...]
    """The documents of objects that were left out."""
    diagnostics: tuple[Diagnostic, ...]
    """All findings so far, including those of loading."""

    def may_exist(self, kind: str, name: str) -> bool:
        """Whether an object that could not be read may have this name."""
        return not self.left_out.isdisjoint({(kind, name), (kind, "")})

    @property
    def rankings(self) -> tuple[RankingItem, ...]:
        """Every object that renders a Placement by scores.

        A ScoredApplication with a ref is none, because it uses the decision of another object.
        """
        applications: list[RankingItem] = []
        for application in self.applications:
            if application.value.spec.placement.ref is None:
                applications.append(application)
        return (*applications, *self.scored_placements)

    @property
    def carried(self) -> tuple[CarriedItem, ...]:
        """Every object that is copied into the output."""
        return (*self.placements, *self.bindings, *self.application_sets)
