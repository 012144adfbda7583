"""The registry of kinds that a fleet repository may hold."""

from gitops_dsf.repository.model.application import ScoredApplication
from gitops_dsf.repository.model.base import DSF_API, PRODUCT_API, Authored
from gitops_dsf.repository.model.cluster import ManagedCluster, ManagedClusterSet
from gitops_dsf.repository.model.delivery import RawApplicationSet, RawPlacement
from gitops_dsf.repository.model.lock import ScorerLock
from gitops_dsf.repository.model.maintenance import Maintenance
from gitops_dsf.repository.model.metric_source import MetricSource
from gitops_dsf.repository.model.ranking import ScoredPlacement
from gitops_dsf.repository.model.repository import FleetRepository
from gitops_dsf.repository.model.score_test import ScoreTest
from gitops_dsf.repository.model.scorer import DynamicScorer
from gitops_dsf.repository.model.scoring_config import DynamicScoringConfig

KINDS: dict[tuple[str, str], type[Authored]] = {
    ("argoproj.io/v1alpha1", "ApplicationSet"): RawApplicationSet,
    ("cluster.open-cluster-management.io/v1", "ManagedCluster"): ManagedCluster,
    ("cluster.open-cluster-management.io/v1beta1", "Placement"): RawPlacement,
    ("cluster.open-cluster-management.io/v1beta2", "ManagedClusterSet"): ManagedClusterSet,
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
