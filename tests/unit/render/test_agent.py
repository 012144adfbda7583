"""The add-on of the agent: its templates, and which cluster gets which."""

from pathlib import Path
from typing import Any, ClassVar

import pytest

from gitops_dsf.pipeline import Rendered, produce
from gitops_dsf.render.tree import shared_objects
from tests.support import fleets
from tests.support.rendering import PRODUCT, objects, on_hub, produced, rendered, scorer

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


def monitors(manifests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [item for item in manifests if item["kind"] == "ServiceMonitor"]


def configs(found: dict[str, dict[str, Any]]) -> dict[str, list[dict[str, str]] | None]:
    """What the ManagedClusterAddOn of each cluster refers to."""
    return {
        item["metadata"]["namespace"]: item["spec"].get("configs")
        for item in found.values()
        if item["kind"] == "ManagedClusterAddOn"
    }


class TestServiceMonitor:
    def test_none_is_rendered_unasked(self, tmp_path: Path) -> None:
        (manifests,) = templates(labelled(tmp_path)).values()
        assert monitors(manifests) == []

    def test_it_selects_the_service_and_names_the_cluster(self, tmp_path: Path) -> None:
        found = labelled(tmp_path, serviceMonitor={"labels": {"release": "prom"}, "interval": "1m"})
        (manifests,) = templates(found).values()
        (monitor,) = monitors(manifests)
        (service,) = [item for item in manifests if item["kind"] == "Service"]
        assert monitor["metadata"]["labels"]["release"] == "prom"
        assert monitor["metadata"]["namespace"] == service["metadata"]["namespace"]
        assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
        (endpoint,) = monitor["spec"]["endpoints"]
        assert (endpoint["port"], endpoint["interval"]) == (service["spec"]["ports"][0]["name"], "1m")
        assert endpoint["relabelings"] == [{"targetLabel": "cluster", "replacement": "{{CLUSTER_NAME}}"}]
        assert configs(found) == {"c0": None, "c1": None}

    def test_a_selector_gives_it_to_some_clusters_by_a_template_of_their_own(self, tmp_path: Path) -> None:
        found = labelled(tmp_path, serviceMonitor=OPERATED)
        by_path = templates(found)
        own = f"platform/addontemplate.{ADDON}-servicemonitor.yaml"
        assert {path: len(monitors(items)) for path, items in by_path.items()} == {
            own: 1,
            f"platform/addontemplate.{ADDON}.yaml": 0,
        }
        assert configs(found) == {
            "c0": None,
            "c1": [
                {
                    "group": "addon.open-cluster-management.io",
                    "resource": "addontemplates",
                    "name": found[own]["metadata"]["name"],
                }
            ],
        }

    @pytest.mark.parametrize(
        ("labels", "code", "place"),
        [
            ({"operator": "no"}, "DSF203", (9, 7)),
            ({"operator": "no!"}, "DSF206", (11, 23)),
        ],
    )
    def test_a_selector_that_finds_nothing_is_a_finding(
        self, tmp_path: Path, labels: dict[str, str], code: str, place: tuple[int, int]
    ) -> None:
        settings = {
            "apiVersion": PRODUCT,
            "kind": "FleetRepository",
            "metadata": {"name": "fleet"},
            "spec": fleets.with_images(
                {
                    "agent": {"serviceMonitor": {"clusterSelector": {"matchLabels": labels}}},
                    "git": {"url": "https://git.example.com/fleet.git"},
                }
            ),
        }
        cluster = fleets.cluster("c0", operator="yes")
        result = produce(
            fleets.write(tmp_path, fleets.FleetSources(settings=settings, documents=(cluster, scorer("cpu"))))
        )
        found = {item.code: (item.position.line, item.position.column) for item in result.diagnostics}
        assert found == {code: place}

    def test_a_template_that_no_cluster_uses_is_not_rendered(self, tmp_path: Path) -> None:
        selector = {"clusterSelector": {"matchLabels": {"operator": "no"}}}
        assert len(templates(labelled(tmp_path, serviceMonitor=selector))) == 1


def test_the_shared_objects_hold_every_template(tmp_path: Path) -> None:
    """`diff` compares these, and no bytes."""
    result = rendered(tmp_path, scorer("cpu"), agent={"serviceMonitor": {}})
    assert result.plan is not None
    kinds = [item["kind"] for item in shared_objects(result.plan).values()]
    assert kinds.count("AddOnTemplate") == 1


class TestRollout:
    NEXT = "registry.example.com/agent:2"
    ENTRY: ClassVar = {"clusterSelector": {"matchLabels": {"operator": "yes"}}, "image": NEXT}

    def images(self, found: dict[str, dict[str, Any]]) -> dict[str, str]:
        """The agent's image in each template."""
        return {
            path.rpartition("/")[2]: item["spec"]["template"]["spec"]["containers"][0]["image"]
            for path, manifests in templates(found).items()
            for item in manifests
            if item["kind"] == "Deployment"
        }

    def test_some_clusters_run_another_image(self, tmp_path: Path) -> None:
        found = labelled(tmp_path, image="registry.example.com/agent:1", rollout=[self.ENTRY])
        assert self.images(found) == {
            f"addontemplate.{ADDON}.yaml": "registry.example.com/agent:1",
            f"addontemplate.{ADDON}-rollout-1.yaml": self.NEXT,
        }
        (config,) = configs(found)["c1"] or ()
        assert config["name"] == f"{ADDON}-rollout-1"
        assert [cluster for cluster, each in configs(found).items() if each is None] == ["c0"]

    def test_the_first_entry_that_selects_a_cluster_counts(self, tmp_path: Path) -> None:
        everywhere = {
            "clusterSelector": {"matchExpressions": [{"key": "none", "operator": "DoesNotExist"}]},
            "image": "registry.example.com/agent:3",
        }
        found = labelled(tmp_path, rollout=[self.ENTRY, everywhere])
        names = {cluster: each[0]["name"] for cluster, each in configs(found).items() if each}
        assert names == {"c1": f"{ADDON}-rollout-1", "c0": f"{ADDON}-rollout-2"}

    def test_the_image_of_all_others_makes_no_difference(self, tmp_path: Path) -> None:
        """When a rollout is over, its image is that of all clusters, and the entry can go later."""
        found = labelled(tmp_path, image=self.NEXT, rollout=[self.ENTRY])
        assert set(configs(found).values()) == {None}
        assert len(self.images(found)) == 1

    def test_it_goes_together_with_other_parts(self, tmp_path: Path) -> None:
        found = labelled(tmp_path, rollout=[self.ENTRY], serviceMonitor=OPERATED)
        (config,) = configs(found)["c1"] or ()
        assert config["name"] == f"{ADDON}-servicemonitor-rollout-1"
        assert set(self.images(found)) == {
            f"addontemplate.{ADDON}.yaml",
            f"addontemplate.{ADDON}-servicemonitor-rollout-1.yaml",
        }

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
        pods = {
            path.rpartition("agent")[2]: item["spec"]["template"]["spec"]
            for path, manifests in templates(found).items()
            for item in manifests
            if item["kind"] == "Deployment"
        }
        special, other = pods["-rollout-1-2-3.yaml"], pods["-rollout-2-3.yaml"]
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

    def test_an_entry_that_changes_nothing_is_refused(self, tmp_path: Path) -> None:
        assert self.findings(tmp_path, rollout=[OPERATED]) == {"DSF016": (9, 7)}

    def test_a_field_that_earlier_entries_set_everywhere_is_a_finding(self, tmp_path: Path) -> None:
        later = {**self.ENTRY, "nodeSelector": {}, "tolerations": []}
        earlier = {"clusterSelector": {}, "tolerations": [], "image": self.NEXT}
        result = self.produced(tmp_path, rollout=[earlier, later])
        assert [(item.code, item.message) for item in result.diagnostics] == [
            (
                "DSF162",
                "earlier entries set image and tolerations for all of its clusters: it has no effect here",
            )
        ]

    @pytest.mark.parametrize(
        ("rollout", "code", "place"),
        [
            ([{**ENTRY, "clusterSelector": {"matchLabels": {"operator": "no"}}}], "DSF203", (9, 7)),
            ([{**ENTRY, "clusterSelector": {"matchLabels": {"operator": "no!"}}}], "DSF206", (11, 23)),
            ([ENTRY, ENTRY], "DSF162", (13, 7)),
        ],
    )
    def test_an_entry_without_clusters_is_a_finding(
        self, tmp_path: Path, rollout: list[dict[str, Any]], code: str, place: tuple[int, int]
    ) -> None:
        assert self.findings(tmp_path, rollout=rollout) == {code: place}

    def test_its_images_need_digests_too(self, tmp_path: Path) -> None:
        digest = "@sha256:" + "0a" * 32
        found = self.findings(
            tmp_path, more={"requireImageDigests": True}, image=f"a{digest}", rollout=[self.ENTRY]
        )
        assert found == {"DSF157": (13, 16)}

    def findings(self, root: Path, **settings: Any) -> dict[str, tuple[int, int]]:
        result = self.produced(root, **settings)
        return {item.code: (item.position.line, item.position.column) for item in result.diagnostics}

    def produced(self, root: Path, *, more: dict[str, Any] | None = None, **agent: Any) -> Rendered:
        settings = {
            "apiVersion": PRODUCT,
            "kind": "FleetRepository",
            "metadata": {"name": "fleet"},
            "spec": fleets.with_images(
                {
                    "agent": agent,
                    "git": {"url": "https://git.example.com/fleet.git"},
                    "reconciler": {"enabled": False},
                    **(more or {}),
                }
            ),
        }
        cluster = fleets.cluster("c0", operator="yes")
        sources = fleets.FleetSources(settings=settings, documents=(cluster, scorer("cpu")))
        return produce(fleets.write(root, sources))


class TestPods:
    def test_tolerations_are_checked_everywhere(self, tmp_path: Path) -> None:
        settings = {"tolerations": [{"value": "yes"}]}
        result = produced(
            tmp_path,
            scorer("cpu"),
            agent={**settings, "rollout": [{"clusterSelector": {}, **settings}]},
            hubScorer=settings,
            reconciler=settings,
        )
        assert [item.code for item in result.diagnostics] == ["DSF016"] * 4

    def test_node_selectors_are_labels(self, tmp_path: Path) -> None:
        selector = {"nodeSelector": {"kubernetes.io/os": "linux,arm"}}
        other = {"nodeSelector": {"a//b": "x"}}
        agent = {**selector, "rollout": [{"clusterSelector": {}, **other}]}
        result = produced(tmp_path, scorer("cpu"), agent=agent)
        assert [(item.code, item.message) for item in result.diagnostics] == [
            ("DSF169", "linux,arm is not a label value"),
            ("DSF169", "a//b is not a label key"),
        ]

    def test_a_request_above_its_limit_is_a_finding(self, tmp_path: Path) -> None:
        small = {"resources": {"limits": {"memory": "64Mi", "cpu": "1"}}}
        result = produced(
            tmp_path,
            scorer("cpu"),
            agent={"rollout": [{"clusterSelector": {}, **small}]},
            hubScorer={"resources": {"requests": {"cpu": "1001m"}, "limits": {"cpu": "1"}}},
            reconciler={"resources": {"requests": {"memory": "0.5Gi"}, "limits": {"memory": "500M"}}},
        )
        assert [(item.code, item.message) for item in result.diagnostics] == [
            (
                "DSF170",
                "agent.rollout[0].resources: the request of 96Mi memory is above the limit of 64Mi",
            ),
            ("DSF170", "hubScorer.resources: the request of 1001m cpu is above the limit of 1"),
            ("DSF170", "reconciler.resources: the request of 0.5Gi memory is above the limit of 500M"),
        ]


class TestPullSecrets:
    OCM = "open-cluster-management-image-pull-credentials"

    def pods(self, found: dict[str, dict[str, Any]]) -> dict[str, Any]:
        """The pull secrets of each pod that is rendered, by the name of its Deployment."""
        manifests = [item for listed in templates(found).values() for item in listed]
        return {
            item["metadata"]["name"]: item["spec"]["template"]["spec"].get("imagePullSecrets")
            for item in (*found.values(), *manifests)
            if item["kind"] == "Deployment"
        }

    def namespaces(self, found: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
        """The agent's namespace in the add-on and in the works."""
        works = [item["spec"]["workload"] for item in found.values() if item["kind"] == "ManifestWork"]
        manifests = [*templates(found).values(), *(work["manifests"] for work in works)]
        return [item["metadata"] for listed in manifests for item in listed if item["kind"] == "Namespace"]

    def test_each_program_names_its_own(self, tmp_path: Path) -> None:
        found = objects(
            rendered(
                tmp_path,
                scorer("cpu"),
                on_hub("idle"),
                agent={"imagePullSecrets": ["agents", self.OCM]},
                hubScorer={"imagePullSecrets": ["hub"]},
                reconciler={"imagePullSecrets": ["hub", "mirror"]},
            )
        )
        assert self.pods(found) == {
            ADDON: [{"name": "agents"}, {"name": self.OCM}],
            "gitops-dsf-hub-scorer": [{"name": "hub"}],
            "gitops-dsf-reconciler": [{"name": "hub"}, {"name": "mirror"}],
        }

    def test_none_is_named_unasked(self, tmp_path: Path) -> None:
        found = objects(rendered(tmp_path, scorer("cpu"), on_hub("idle")))
        assert set(self.pods(found).values()) == {None}
        assert not any("labels" in item for item in self.namespaces(found))

    @pytest.mark.parametrize(("names", "copied"), [([OCM], True), (["agents"], False)])
    def test_ocm_copies_its_own_only_where_it_is_named(
        self, tmp_path: Path, names: list[str], copied: bool
    ) -> None:
        found = objects(rendered(tmp_path, scorer("cpu"), agent={"imagePullSecrets": names}))
        label = {"addon.open-cluster-management.io/namespace": "true"}
        assert any(item.get("labels") == label for item in self.namespaces(found)) is copied

    def test_one_listed_twice_is_refused(self, tmp_path: Path) -> None:
        """The API server refuses such a pod."""
        (finding,) = produced(
            tmp_path, scorer("cpu"), agent={"imagePullSecrets": ["a", "b", "a"]}
        ).diagnostics
        assert "a is listed twice: remove one" in finding.message
