"""TODO."""

from collections.abc import Set as AbstractSet
from dataclasses import replace

from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.pipeline import check_declared
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.repository.model.declared import Declared, Item
from gitops_dsf.repository.model.foreign import ClusterMetadata, ManagedCluster
from gitops_dsf.repository.model.repository import FleetRepository
from gitops_dsf.repository.model.score_test import GivenCluster, ScoreTest
from gitops_dsf.repository.model.scoring_config import DynamicScoringConfig

Judged = tuple[CheckedFleet | None, tuple[Diagnostic, ...]]
"""A repository and all findings. None if one is an error."""


def fleet_of(test: Item[ScoreTest], declared: Declared, *, own: Judged) -> Judged:
    """The repository with the clusters of a test. `own` is the result for tests that give none."""
    if test.value.spec.given.clusters is None:
        return own
    checked = check_declared(with_clusters(declared, test))
    return checked.fleet, checked.diagnostics


def with_clusters(declared: Declared, test: Item[ScoreTest]) -> Declared:
    """The repository with the clusters of a test, and without other tests, which may name others."""
    known = {item.name: item for item in declared.clusters}
    clusters = {
        given.name: _cluster(test, index, given, known.get(given.name))
        for index, given in enumerate(test.value.spec.given.clusters or ())
    }
    return replace(
        declared,
        repository=None if declared.repository is None else _lenient(declared.repository),
        clusters=tuple(clusters[name] for name in sorted(clusters)),
        score_tests=(test,),
        scoring_configs=tuple(
            _without(item, gone=known.keys() - clusters.keys()) for item in declared.scoring_configs
        ),
    )


def _lenient(item: Item[FleetRepository]) -> Item[FleetRepository]:
    spec = item.value.spec.model_copy(update={"allow_unmatched_selectors": True})
    return Item(item.value.model_copy(update={"spec": spec}), item.document)


def _without(
    item: Item[DynamicScoringConfig], *, gone: AbstractSet[str]
) -> Item[DynamicScoringConfig]:
    """The configuration without masks for clusters that the test leaves out, which are no mistakes."""
    spec = item.value.spec
    kept = spec.model_copy(
        update={"masks": [each for each in spec.masks if each.cluster_name not in gone]}
    )
    return Item(item.value.model_copy(update={"spec": kept}), item.document)


def _cluster(
    test: Item[ScoreTest], index: int, given: GivenCluster, known: Item[ManagedCluster] | None
) -> Item[ManagedCluster]:
    if known is not None and given.labels is None and given.claims is None and given.taints is None:
        return known
    unknown = ManagedCluster(
        api_version="cluster.open-cluster-management.io/v1",
        kind="ManagedCluster",
        metadata=ClusterMetadata(name=given.name),
    )
    written = unknown if known is None else known.value
    data = written.model_dump(mode="json", by_alias=True)
    if given.labels is not None:
        data["metadata"]["labels"] = given.labels
    if given.taints is not None:
        data["spec"]["taints"] = [each.model_dump() for each in given.taints]
    if given.claims is not None:
        claims = [{"name": name, "value": value} for name, value in given.claims.items()]
        data["status"]["clusterClaims"] = claims
    document = test.document.part(("spec", "given", "clusters", index), data=data)
    return Item(ManagedCluster.model_validate(data), document)
