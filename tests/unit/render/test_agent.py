"""The add-on of the agent: its templates, and which cluster gets which."""

from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.support import fleets
from tests.support.rendering import objects, rendered, scorer

ADDON = "gitops-dsf-agent"
OPERATED = {"clusterSelector": {"matchLabels": {"operator": "yes"}}}


def labelled(root: Path, **agent: Any) -> dict[str, dict[str, Any]]:
    """The rendered objects of two clusters, of which c1 has the label operator=yes."""
    more = fleets.cluster("c1", operator="yes")
    return objects(rendered(root, scorer("cpu"), more, clusters=1, agent=agent))


def templates(found: dict[str, dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The manifests of each AddOnTemplate, by its path."""
    return {
        path: item["spec"]["agentSpec"]["workload"]["manifests"]
        for path, item in found.items()
        if item["kind"] == "AddOnTemplate"
    }


def configs(found: dict[str, dict[str, Any]]) -> dict[str, list[dict[str, str]] | None]:
    """What the ManagedClusterAddOn of each cluster refers to."""
    return {
        item["metadata"]["namespace"]: item["spec"].get("configs")
        for item in found.values()
        if item["kind"] == "ManagedClusterAddOn"
    }


def test_a_template_that_no_cluster_uses_is_not_rendered(tmp_path: Path) -> None:
    selector = {"clusterSelector": {"matchLabels": {"operator": "no"}}}
    assert len(templates(labelled(tmp_path, serviceMonitor=selector))) == 1


class TestRollout:
    NEXT = "registry.example.com/agent:2"
    ENTRY: ClassVar = {"clusterSelector": {"matchLabels": {"operator": "yes"}}, "image": NEXT}

    def pods(self, found: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """The agent's pod in each template."""
        return {
            path.rpartition("/")[2]: item["spec"]["template"]["spec"]
            for path, manifests in templates(found).items()
            for item in manifests
            if item["kind"] == "Deployment"
        }

    def images(self, found: dict[str, dict[str, Any]]) -> dict[str, str]:
        return {name: pod["containers"][0]["image"] for name, pod in self.pods(found).items()}

    def test_the_image_of_all_others_makes_no_difference(self, tmp_path: Path) -> None:
        """When a rollout is over, its image is that of all clusters, and the entry can go later."""
        found = labelled(tmp_path, image=self.NEXT, rollout=[self.ENTRY])
        assert set(configs(found).values()) == {None}
        assert len(self.images(found)) == 1

    def test_each_field_comes_from_the_first_entry_that_has_it(self, tmp_path: Path) -> None:
        """A new image is tried on clusters whose nodes are special, and they stay special."""
        everywhere: dict[str, Any] = {"clusterSelector": {}}
        arm = {"kubernetes.io/arch": "arm64"}
        found = labelled(
            tmp_path,
            resources={"requests": {"cpu": "30m"}, "limits": {"memory": "1Gi"}},
            rollout=[
                self.ENTRY,
                {
                    **everywhere,
                    "image": "registry.example.com/agent:3",
                    "nodeSelector": arm,
                    "tolerations": [{"operator": "Exists"}],
                    "resources": {"requests": {"cpu": "10m"}},
                },
                {**everywhere, "nodeSelector": {}, "imagePullSecrets": ["mirror"]},
            ],
        )
        names = {cluster: each[0]["name"] for cluster, each in configs(found).items() if each}
        assert names == {"c1": f"{ADDON}-rollout-1-2-3", "c0": f"{ADDON}-rollout-2-3"}
        pods = self.pods(found)
        special, other = (pods[f"addontemplate.{names[cluster]}.yaml"] for cluster in ("c1", "c0"))
        assert special["containers"][0]["image"] == self.NEXT
        assert other["containers"][0]["image"] == "registry.example.com/agent:3"
        for pod in (special, other):
            assert pod["nodeSelector"] == arm
            assert pod["tolerations"] == [{"operator": "Exists"}]
            assert pod["imagePullSecrets"] == [{"name": "mirror"}]
            assert pod["containers"][0]["resources"] == {
                "requests": {"cpu": "10m"},
                "limits": {"memory": "1Gi"},
            }

    def test_an_entry_may_bring_back_what_holds_elsewhere(self, tmp_path: Path) -> None:
        """The first entry counts, also where it says what the agents of most clusters do."""
        agent = {"image": "registry.example.com/agent:1"}
        back = {"clusterSelector": OPERATED["clusterSelector"], **agent}
        others = {"clusterSelector": {}, "image": self.NEXT, "nodeSelector": {}}
        found = labelled(tmp_path, **agent, rollout=[back, others])
        assert self.images(found) == {
            f"addontemplate.{ADDON}.yaml": "registry.example.com/agent:1",
            f"addontemplate.{ADDON}-rollout-1-2.yaml": "registry.example.com/agent:1",
            f"addontemplate.{ADDON}-rollout-2.yaml": self.NEXT,
        }


class TestPullSecrets:
    OCM = "open-cluster-management-image-pull-credentials"

    def namespaces(self, found: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
        """The agent's namespace in the add-on and in the works."""
        works = [
            item["spec"]["workload"] for item in found.values() if item["kind"] == "ManifestWork"
        ]
        manifests = [*templates(found).values(), *(work["manifests"] for work in works)]
        return [
            item["metadata"]
            for listed in manifests
            for item in listed
            if item["kind"] == "Namespace"
        ]

    @pytest.mark.parametrize(("names", "copied"), [([OCM], True), (["agents"], False)])
    def test_ocm_copies_its_own_only_where_it_is_named(
        self, tmp_path: Path, names: list[str], copied: bool
    ) -> None:
        found = objects(rendered(tmp_path, scorer("cpu"), agent={"imagePullSecrets": names}))
        label = {"addon.open-cluster-management.io/namespace": "true"}
        assert any(item.get("labels") == label for item in self.namespaces(found)) is copied
