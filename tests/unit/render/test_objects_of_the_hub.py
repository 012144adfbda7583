"""Single rendered objects, for the properties that OCM and Argo CD depend on.

Aspects covered: custom resources; works; the add-on; Placements; ApplicationSets; Argo CD's Applications;
sync waves; directories.
"""

from pathlib import Path
from typing import Any

import pytest

from dsf_wire.summary import decode
from tests.support import fleets
from tests.support.rendering import DSF, application, identity, objects, rendered, scorer


def kind(found: dict[str, dict[str, Any]], wanted: str) -> list[dict[str, Any]]:
    return [item for item in found.values() if item["kind"] == wanted]


class TestScorers:
    def test_nulls_in_arguments_stay(self, tmp_path: Path) -> None:
        arguments = {"a": None, "b": {"c": None, "d": [None, {}]}}
        scoring = {"params": {"name": "cpu", "interval": 60}, "arguments": arguments}
        (item,) = kind(objects(rendered(tmp_path, scorer("cpu", scoring=scoring))), "DynamicScorer")
        assert item["spec"]["scoring"]["arguments"] == arguments


class TestMasks:
    def config(self, *masks: dict[str, Any]) -> dict[str, Any]:
        return {
            "apiVersion": DSF,
            "kind": "DynamicScoringConfig",
            "metadata": {"name": "dynamic-scoring-config"},
            "spec": {"masks": list(masks)},
        }

    def test_no_masks_are_an_empty_array(self, tmp_path: Path) -> None:
        for number, documents in enumerate(((scorer("cpu"),), (scorer("cpu"), self.config()))):
            found = objects(rendered(tmp_path / str(number), *documents))[
                "platform/configmap.gitops-dsf-masks.yaml"
            ]
            assert found["data"] == {"masks": "[]"}


class TestWorks:
    def test_a_cluster_without_scorers_has_an_empty_list(self, tmp_path: Path) -> None:
        """A missing ConfigMap deletes nothing on a spoke; an empty list, which was meant, does."""
        found = objects(rendered(tmp_path, scorer("cpu", suspend=True), clusters=1))
        (work,) = kind(found, "ManifestWork")
        (config,) = (item for item in work["spec"]["workload"]["manifests"] if item["kind"] == "ConfigMap")
        decoded = decode(config["data"]["summaries"])
        assert (decoded.summaries, decoded.problems) == ((), ())


class TestAddOn:
    def test_another_agent_is_another_template_in_the_same_file(self, tmp_path: Path) -> None:
        names = set()
        for number, image in enumerate(("example.com/agent:1", "example.com/agent:2")):
            found = objects(rendered(tmp_path / str(number), scorer("cpu"), agent={"image": image}))
            template = found["platform/addontemplate.gitops-dsf-agent.yaml"]
            names.add(template["metadata"]["name"])
            (definition,) = kind(found, "ClusterManagementAddOn")
            configs = [
                item["defaultConfig"]["name"]
                for item in definition["spec"]["supportedConfigs"]
                if item["resource"] == "addontemplates"
            ]
            assert configs == [template["metadata"]["name"]]
        assert len(names) == 2


class TestPlacements:
    def test_a_dimension_cannot_break_out_of_its_string(self, tmp_path: Path) -> None:
        odd = scorer("cpu", scoreDimensionFormat='a"b\\c')
        (item,) = kind(
            objects(rendered(tmp_path, odd, application("web", onMissingScore="Exclude"))), "Placement"
        )
        (expression,) = item["spec"]["predicates"][0]["requiredClusterSelector"]["celSelector"][
            "celExpressions"
        ]
        assert expression.endswith(r'score.name == "a\"b\\c")')


def test_a_carried_document_of_another_namespace_has_a_file_of_its_own(tmp_path: Path) -> None:
    twins = (carried("web"), carried("web", namespace="other"), carried("web.in.other"))
    found = objects(rendered(tmp_path, scorer("cpu"), *twins))
    assert {identity(item)[2:] for item in kind(found, "Placement")} == {
        ("argocd", "web"),
        ("other", "web"),
        ("argocd", "web.in.other"),
    }


@pytest.mark.parametrize("namespace", ["", None])
def test_a_carried_document_with_an_empty_namespace_goes_to_argo_cd(
    tmp_path: Path, namespace: str | None
) -> None:
    found = objects(rendered(tmp_path, scorer("cpu"), carried("web", namespace=namespace)))
    assert found["delivery/placement.web.yaml"]["metadata"]["namespace"] == "argocd"
    assert [item["spec"]["clusterSet"] for item in kind(found, "ManagedClusterSetBinding")] == ["default"]


def carried(name: str, **metadata: str | None) -> dict[str, Any]:
    """A Placement that is copied into the output."""
    spec = {
        "numberOfClusters": 1,
        "clusterSets": ["default"],
        "prioritizerPolicy": {
            "mode": "Exact",
            "configurations": [{"scoreCoordinate": {"builtIn": "Steady"}, "weight": 1}],
        },
    }
    api = f"{fleets.OCM}/v1beta1"
    return {"apiVersion": api, "kind": "Placement", "metadata": {"name": name, **metadata}, "spec": spec}
