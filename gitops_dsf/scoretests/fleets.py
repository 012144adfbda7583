"""The repository of a test: this one, with the clusters that the test gives."""

from collections.abc import Collection
from dataclasses import replace
from typing import Final, NamedTuple

from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.pipeline import check_declared
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.repository.model.declared import Declared, Item
from gitops_dsf.repository.model.foreign import ClusterMetadata, ManagedCluster
from gitops_dsf.repository.model.repository import FleetRepository
from gitops_dsf.repository.model.score_test import GivenCluster, ScoreTest
from gitops_dsf.repository.model.scoring_config import DynamicScoringConfig

_CLUSTER_API: Final = "cluster.open-cluster-management.io/v1"


class FleetOfTest(NamedTuple):
    """The repository of a test, checked."""

    fleet: CheckedFleet | None
    """None if a finding is an error."""
    findings: tuple[Diagnostic, ...]


def fleet_of(test: Item[ScoreTest], declared: Declared, *, own: FleetOfTest) -> FleetOfTest:
    """The repository with the clusters of a test. `own` is that of tests that give none."""
    if test.value.spec.given.clusters is None:
        return own
    checked = check_declared(with_clusters(declared, test))
    return FleetOfTest(checked.fleet, checked.diagnostics)


def with_clusters(declared: Declared, test: Item[ScoreTest]) -> Declared:
    """The repository with the clusters of a test as its inventory.

    Other tests are left out, because they may name other clusters. Selectors need no cluster, and
    masks may be for clusters that the test leaves out.
    """
    in_repository = {cluster.name: cluster for cluster in declared.clusters}
    clusters: dict[str, Item[ManagedCluster]] = {}
    for index, cluster in enumerate(test.value.spec.given.clusters or ()):
        clusters[cluster.name] = _cluster(test, index, cluster, in_repository.get(cluster.name))
    # A mask that names such a cluster would be a finding about a cluster that does not exist.
    left_out = in_repository.keys() - clusters.keys()
    scoring_configs: list[Item[DynamicScoringConfig]] = []
    for config in declared.scoring_configs:
        scoring_configs.append(_without_masks(config, left_out=left_out))
    repository = declared.repository
    return replace(
        declared,
        repository=None if repository is None else _allowing_unmatched_selectors(repository),
        clusters=tuple(clusters[name] for name in sorted(clusters)),
        score_tests=(test,),
        scoring_configs=tuple(scoring_configs),
    )


def _allowing_unmatched_selectors(repository: Item[FleetRepository]) -> Item[FleetRepository]:
    # A test has the few clusters that its case needs, so most selectors of the repository match
    # none of them. In the repository itself that is a finding: usually a label is misspelt.
    spec = repository.value.spec.model_copy(update={"allow_unmatched_selectors": True})
    return Item(repository.value.model_copy(update={"spec": spec}), repository.document)


def _without_masks(
    config: Item[DynamicScoringConfig], *, left_out: Collection[str]
) -> Item[DynamicScoringConfig]:
    masks = [mask for mask in config.value.spec.masks if mask.cluster_name not in left_out]
    spec = config.value.spec.model_copy(update={"masks": masks})
    return Item(config.value.model_copy(update={"spec": spec}), config.document)


def _cluster(
    test: Item[ScoreTest],
    index: int,
    given: GivenCluster,
    in_repository: Item[ManagedCluster] | None,
) -> Item[ManagedCluster]:
    """A cluster of a test. What the test does not write is as in the repository."""
    if in_repository is None:
        cluster = ManagedCluster(
            api_version=_CLUSTER_API,
            kind="ManagedCluster",
            metadata=ClusterMetadata(name=given.name),
        )
    elif given.labels is None and given.claims is None and given.taints is None:
        return in_repository
    else:
        cluster = in_repository.value
    data = cluster.model_dump(mode="json", by_alias=True)
    if given.labels is not None:
        data["metadata"]["labels"] = given.labels
    if given.taints is not None:
        data["spec"]["taints"] = [taint.model_dump() for taint in given.taints]
    if given.claims is not None:
        claims: list[dict[str, str]] = []
        for name, value in given.claims.items():
            claims.append({"name": name, "value": value})
        data["status"]["clusterClaims"] = claims
    # Findings about the cluster must point to the test, which is where people wrote it.
    document = test.document.part(("spec", "given", "clusters", index), data=data)
    return Item(ManagedCluster.model_validate(data), document)
