"""Clusters in no set, which no application can choose."""

import pytest

from tests.support.repositories import (
    BASE,
    app,
    findings_of,
    placement,
)

CLUSTER = BASE["clusters/c.yaml"]
SET_LABEL = "cluster.open-cluster-management.io/clusterset"


def in_set(name: str, label: str | None) -> str:
    labels = "{env: prod}" if label is None else f"{{env: prod, {SET_LABEL}: {label}}}"
    return CLUSTER.replace("prod-1", name).replace("{env: prod}", labels)


EDGE = (
    "apiVersion: cluster.open-cluster-management.io/v1beta2\nkind: ManagedClusterSet\n"
    "metadata: {name: edge}\n"
    f"---\n{in_set('edge-1', 'edge')}"
)


class TestClustersInNoSet:
    @pytest.mark.parametrize(
        ("label", "sets", "counts"),
        [
            (None, "[edge]", 1),
            ('""', "[edge]", 1),
            ("edge", "[edge]", 0),
            (None, "[edge, default]", 0),
            (None, "[global]", 0),
            # In a set of its own on purpose.
            ("north", "[edge]", 0),
        ],
    )
    def test_a_cluster_that_no_application_can_choose(
        self, label: str | None, sets: str, counts: int
    ) -> None:
        north = EDGE.split("---", maxsplit=1)[0].replace("name: edge", "name: north")
        clusters = f"{EDGE}---\n{north}---\n{in_set('prod-9', label)}"
        apps = app("{numberOfClusters: 1}", f"{{numberOfClusters: 1, clusterSets: {sets}}}")
        found = findings_of("DSF212", clusters=clusters, apps=apps)
        assert [str(item.severity) for item in found] == ["notice"] * counts
        for item in found:
            assert item.message.startswith("prod-9 is in no ManagedClusterSet but OCM's default")

    def test_without_applications_nothing_chooses(self) -> None:
        assert findings_of("DSF212", clusters=f"{EDGE}---\n{in_set('prod-9', None)}") == []

    def test_several_are_told_once(self) -> None:
        clusters = f"{EDGE}---\n{in_set('prod-8', None)}---\n{in_set('prod-9', None)}"
        apps = app("{numberOfClusters: 1}", "{numberOfClusters: 1, clusterSets: [edge]}")
        [found] = findings_of("DSF212", clusters=clusters, apps=apps)
        assert found.message.startswith(
            "prod-8 and 1 more are in no ManagedClusterSet but OCM's default"
        )

    def test_an_empty_label_is_that_of_the_default_set(self) -> None:
        """OCM's webhook writes `default` over it (managedcluster_mutating.go)."""
        apps = app("{numberOfClusters: 1}", "{numberOfClusters: 1, clusterSets: [default]}")
        assert findings_of("DSF310", clusters=in_set("prod-9", '""'), apps=apps) == []

    def test_a_copied_placement_without_sets_may_choose_all(self) -> None:
        """OCM takes every set that is bound in its namespace."""
        own = app("{numberOfClusters: 1}", "{numberOfClusters: 1, clusterSets: [edge]}")
        apps = f"{own}---\n{placement('{}')}"
        assert (
            findings_of("DSF212", clusters=f"{EDGE}---\n{in_set('prod-9', None)}", apps=apps) == []
        )
