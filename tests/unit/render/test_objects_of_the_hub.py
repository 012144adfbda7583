"""Single rendered objects, for the properties that OCM and Argo CD depend on.

Aspects covered: custom resources; works; the add-on; Placements; ApplicationSets; Argo CD's Applications;
sync waves; directories.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from dsf_wire.summary import decode
from gitops_dsf.render.objects import SYNC_OPTIONS, SYNC_WAVE
from tests.support import fleets
from tests.support.rendering import DSF, application, identity, objects, rendered, scorer

WAVE_ORDER = (
    "CustomResourceDefinition",
    "Namespace",
    "AddOnTemplate",
    "DynamicScorer",
)


def kind(found: dict[str, dict[str, Any]], wanted: str) -> list[dict[str, Any]]:
    return [item for item in found.values() if item["kind"] == wanted]


class TestAgentScores:
    def test_agents_may_write_the_scores_of_all_scorers_by_their_object_names(self, tmp_path: Path) -> None:
        found = objects(
            rendered(
                tmp_path,
                scorer("mem"),
                scorer("cpu", scoring={"params": {"name": "CPU_Score", "interval": 60}}),
            )
        )
        (policy,) = (
            item
            for item in kind(found, "ValidatingAdmissionPolicy")
            if item["metadata"]["name"] == "gitops-dsf-agent-scores"
        )
        named = {each["name"]: each["expression"] for each in policy["spec"]["variables"]}["named"]
        assert named.endswith(' in ["cpu-score","mem"]')
        assert policy["spec"]["matchConstraints"]["resourceRules"][0]["resources"] == [
            "addonplacementscores",
            "addonplacementscores/status",
        ]


class TestScorers:
    def test_every_default_is_written_out(self, tmp_path: Path) -> None:
        (item,) = kind(objects(rendered(tmp_path, scorer("cpu"))), "DynamicScorer")
        assert item["metadata"]["namespace"] == "open-cluster-management"
        assert item["spec"] == {
            "description": "Fixed",
            "configURL": "http://cpu.scorers.svc/config",
            "configSyncMode": "None",
            "location": "Internal",
            "source": {
                "type": "None",
                "host": "",
                "path": "",
                "params": {"query": "", "range": 0, "step": 0},
            },
            "scoring": {
                "host": "http://cpu.scorers.svc",
                "path": "/scoring",
                "params": {"name": "cpu", "interval": 60},
            },
            "scoreDestination": "AddOnPlacementScore",
            "scoreDimensionFormat": "${scoreName}",
            "suspend": False,
            "scoreAggregation": "Last",
            "scoreTTLSeconds": 900,
            "publish": {"deadband": 2, "minIntervalSeconds": 60},
        }

    def test_nulls_in_arguments_stay(self, tmp_path: Path) -> None:
        arguments = {"a": None, "b": {"c": None, "d": [None, {}]}}
        scoring = {"params": {"name": "cpu", "interval": 60}, "arguments": arguments}
        (item,) = kind(objects(rendered(tmp_path, scorer("cpu", scoring=scoring))), "DynamicScorer")
        assert item["spec"]["scoring"]["arguments"] == arguments

    def test_upstreams_controller_reads_no_field_of_ours(self, tmp_path: Path) -> None:
        (item,) = kind(
            objects(rendered(tmp_path, scorer("cpu"), delivery={"mode": "UpstreamController"})),
            "DynamicScorer",
        )
        assert item["spec"].keys().isdisjoint({"suspend", "scoreAggregation", "scoreTTLSeconds", "publish"})


class TestMasks:
    def config(self, *masks: dict[str, Any]) -> dict[str, Any]:
        return {
            "apiVersion": DSF,
            "kind": "DynamicScoringConfig",
            "metadata": {"name": "dynamic-scoring-config"},
            "spec": {"masks": list(masks)},
        }

    def test_the_hub_has_them_as_they_were_written(self, tmp_path: Path) -> None:
        written = [
            {"clusterName": "c?", "scoreName": "cp*"},
            {"clusterSelector": {"matchLabels": {"tier": "dev"}}, "scoreName": "cpu"},
        ]
        found = objects(rendered(tmp_path, scorer("cpu"), self.config(*written)))[
            "platform/configmap.gitops-dsf-masks.yaml"
        ]
        assert found["metadata"]["namespace"] == "open-cluster-management"
        assert list(found["data"]) == ["masks"]
        assert json.loads(found["data"]["masks"]) == written

    def test_no_masks_are_an_empty_array(self, tmp_path: Path) -> None:
        for number, documents in enumerate(((scorer("cpu"),), (scorer("cpu"), self.config()))):
            found = objects(rendered(tmp_path / str(number), *documents))[
                "platform/configmap.gitops-dsf-masks.yaml"
            ]
            assert found["data"] == {"masks": "[]"}

    def test_upstreams_controller_has_the_resource_itself(self, tmp_path: Path) -> None:
        found = objects(
            rendered(tmp_path, scorer("cpu"), self.config(), delivery={"mode": "UpstreamController"})
        )
        assert "platform/configmap.gitops-dsf-masks.yaml" not in found
        assert kind(found, "DynamicScoringConfig")


class TestWorks:
    def test_the_namespace_outlives_the_work(self, tmp_path: Path) -> None:
        """People's token Secrets live in it."""
        for work in kind(objects(rendered(tmp_path, scorer("cpu"))), "ManifestWork"):
            option = work["spec"]["deleteOption"]
            assert option["propagationPolicy"] == "SelectivelyOrphan"
            assert option["selectivelyOrphans"]["orphaningRules"] == [
                {"group": "", "resource": "namespaces", "name": "dynamic-scoring", "namespace": ""}
            ]
            assert [item["kind"] for item in work["spec"]["workload"]["manifests"]] == [
                "Namespace",
                "ConfigMap",
                "Role",
                "RoleBinding",
            ]

    def test_a_cluster_without_scorers_has_an_empty_list(self, tmp_path: Path) -> None:
        """A missing ConfigMap deletes nothing on a spoke; an empty list, which was meant, does."""
        found = objects(rendered(tmp_path, scorer("cpu", suspend=True), clusters=1))
        (work,) = kind(found, "ManifestWork")
        (config,) = (item for item in work["spec"]["workload"]["manifests"] if item["kind"] == "ConfigMap")
        decoded = decode(config["data"]["summaries"])
        assert (decoded.summaries, decoded.problems) == ((), ())

    def test_the_agent_may_read_the_named_secrets_and_no_others(self, tmp_path: Path) -> None:
        scoring = {
            "params": {"name": "cpu", "interval": 60},
            "auth": {"tokenSecretRef": {"name": "api", "key": "token"}},
        }
        (work,) = kind(
            objects(rendered(tmp_path, scorer("cpu", scoring=scoring), clusters=1)), "ManifestWork"
        )
        (role,) = (item for item in work["spec"]["workload"]["manifests"] if item["kind"] == "Role")
        assert role["rules"] == [
            {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["api"], "verbs": ["get"]}
        ]

    def test_each_cluster_has_its_work_and_its_addon_in_one_directory(self, tmp_path: Path) -> None:
        found = objects(rendered(tmp_path, scorer("cpu"), clusters=9, output={"shards": 3}))
        for number in range(9):
            folders = {
                path.partition("/")[0]
                for path, item in found.items()
                if item["metadata"].get("namespace") == f"c{number}"
            }
            kinds = {
                item["kind"] for item in found.values() if item["metadata"].get("namespace") == f"c{number}"
            }
            assert len(folders) == 1
            assert kinds >= {"ManifestWork", "ManagedClusterAddOn"}

    def test_every_directory_is_there_whether_or_not_a_cluster_falls_into_it(self, tmp_path: Path) -> None:
        """Argo CD refuses an Application whose directory is missing."""
        result = rendered(tmp_path, scorer("cpu"), clusters=0, output={"shards": 3})
        assert result.tree is not None
        for directory in ("works-00", "works-01", "works-02", "platform", "delivery", "reconciler"):
            assert f"{directory}/README.md" in result.tree.files
            assert f"argocd/application.gitops-dsf-{directory}.yaml" in result.tree.files


class TestAddOn:
    def test_it_is_installed_by_hand_alone(self, tmp_path: Path) -> None:
        """Strategy Placements deletes the add-on of a cluster that is between two pages of decisions."""
        (definition,) = kind(objects(rendered(tmp_path, scorer("cpu"))), "ClusterManagementAddOn")
        assert definition["spec"]["installStrategy"] == {"type": "Manual"}

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

    def test_the_namespace_on_the_spoke_is_orphaned_with_the_addon(self, tmp_path: Path) -> None:
        (template,) = kind(objects(rendered(tmp_path, scorer("cpu"))), "AddOnTemplate")
        (namespace,) = (
            item
            for item in template["spec"]["agentSpec"]["workload"]["manifests"]
            if item["kind"] == "Namespace"
        )
        assert "addon.open-cluster-management.io/deletion-orphan" in namespace["metadata"]["annotations"]


class TestPlacements:
    @pytest.mark.parametrize(
        ("stickiness", "expected"), [(0, [1]), (10, [10, 1]), (20, [5, 1]), (50, [2, 1]), (100, [1, 1])]
    )
    def test_stickiness_is_a_ratio_of_weights(
        self, tmp_path: Path, stickiness: int, expected: list[int]
    ) -> None:
        """Steady adds 100 x its weight; the score must win by more than that."""
        (item,) = kind(
            objects(rendered(tmp_path, scorer("cpu"), application("web", stickiness=stickiness))), "Placement"
        )
        policy = item["spec"]["prioritizerPolicy"]
        assert policy["mode"] == "Exact"
        assert [term["weight"] for term in policy["configurations"]] == expected

    def test_a_score_is_named_as_the_agent_publishes_it(self, tmp_path: Path) -> None:
        scoring = {"params": {"name": "CPU_Score", "interval": 60}}
        (item,) = kind(
            objects(rendered(tmp_path, scorer("cpu", scoring=scoring), application("web"))), "Placement"
        )
        assert item["spec"]["prioritizerPolicy"]["configurations"][0]["scoreCoordinate"] == {
            "type": "AddOn",
            "addOn": {"resourceName": "cpu-score", "scoreName": "CPU_Score"},
        }

    def test_exclude_is_a_predicate_on_the_score(self, tmp_path: Path) -> None:
        (item,) = kind(
            objects(rendered(tmp_path, scorer("cpu"), application("web", onMissingScore="Exclude"))),
            "Placement",
        )
        (predicate,) = item["spec"]["predicates"]
        assert predicate["requiredClusterSelector"]["celSelector"]["celExpressions"] == [
            'managedCluster.scores("cpu").exists(score, score.name == "cpu")'
        ]

    def test_a_dimension_cannot_break_out_of_its_string(self, tmp_path: Path) -> None:
        odd = scorer("cpu", scoreDimensionFormat='a"b\\c')
        (item,) = kind(
            objects(rendered(tmp_path, odd, application("web", onMissingScore="Exclude"))), "Placement"
        )
        (expression,) = item["spec"]["predicates"][0]["requiredClusterSelector"]["celSelector"][
            "celExpressions"
        ]
        assert expression.endswith(r'score.name == "a\"b\\c")')


class TestApplicationSets:
    @pytest.mark.parametrize(
        ("strategy", "policy"),
        [("MakeBeforeBreak", "create-update"), ("Keep", "create-update"), ("Replace", "sync")],
    )
    def test_only_replace_may_delete(self, tmp_path: Path, strategy: str, policy: str) -> None:
        (item,) = kind(
            objects(rendered(tmp_path, scorer("cpu"), application("web", moves={"strategy": strategy}))),
            "ApplicationSet",
        )
        assert item["spec"]["syncPolicy"]["applicationsSync"] == policy

    def test_decisions_are_found_by_label_and_missing_keys_are_errors(self, tmp_path: Path) -> None:
        (item,) = kind(objects(rendered(tmp_path, scorer("cpu"), application("web"))), "ApplicationSet")
        (generator,) = item["spec"]["generators"]
        decisions = generator["clusterDecisionResource"]
        assert decisions["labelSelector"] == {
            "matchLabels": {"cluster.open-cluster-management.io/placement": "web"}
        }
        assert "name" not in decisions
        assert item["spec"]["goTemplateOptions"] == ["missingkey=error"]

    def test_a_placement_and_its_application_set_share_the_last_wave(self, tmp_path: Path) -> None:
        found = objects(rendered(tmp_path, scorer("cpu"), application("web")))
        waves = {
            item["kind"]: item["metadata"]["annotations"][SYNC_WAVE]
            for item in found.values()
            if item["metadata"]["name"] == "web"
        }
        assert waves == {"Placement": "5", "ApplicationSet": "5"}
        assert all(
            int(item["metadata"].get("annotations", {}).get(SYNC_WAVE, "0")) <= 5 for item in found.values()
        )


class TestArgoCd:
    def test_every_directory_has_one_application_and_the_list_is_explicit(self, tmp_path: Path) -> None:
        result = rendered(
            tmp_path,
            scorer("cpu"),
            output={"shards": 2},
            git={"url": "https://git.example.com/fleet.git", "path": "fleets/eu"},
        )
        found = {item["spec"]["source"]["path"]: item for item in kind(objects(result), "Application")}
        assert set(found) == {
            f"fleets/eu/rendered/{part}"
            for part in ("platform", "works-00", "works-01", "delivery", "reconciler")
        }
        for item in found.values():
            policy = item["spec"]["syncPolicy"]
            assert policy["automated"] == {"prune": True, "selfHeal": True, "allowEmpty": False}
            assert policy["retry"]["limit"] == -1
            assert "ServerSideApply=true" in policy["syncOptions"]

    def test_crds_and_namespaces_survive_everything(self, tmp_path: Path) -> None:
        found = objects(rendered(tmp_path, scorer("cpu")))
        kept = [*kind(found, "CustomResourceDefinition"), *kind(found, "Namespace")]
        assert len(kept) == 3
        assert {item["metadata"]["annotations"][SYNC_OPTIONS] for item in kept} == {
            "Prune=false,Delete=false"
        }

    def test_what_others_need_comes_first(self, tmp_path: Path) -> None:
        found = objects(rendered(tmp_path, scorer("cpu")))
        waves = [
            int(kind(found, each)[0]["metadata"].get("annotations", {}).get(SYNC_WAVE, "0"))
            for each in WAVE_ORDER
        ]
        assert waves == sorted(waves)


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


class TestDecisionReaders:
    """Who may list PlacementDecisions."""

    @pytest.mark.parametrize(
        ("argocd", "names"),
        [
            ({}, ["argocd-applicationset-controller", "argocd-server"]),
            (
                {
                    "namespace": "openshift-gitops",
                    "decisionReaders": ["openshift-gitops-applicationset-controller"],
                },
                ["openshift-gitops-applicationset-controller"],
            ),
        ],
    )
    def test_they_are_accounts_of_argo_cd(
        self, tmp_path: Path, argocd: dict[str, Any], names: list[str]
    ) -> None:
        found = objects(rendered(tmp_path, scorer("cpu"), argocd=argocd))
        (binding,) = (
            item
            for item in kind(found, "RoleBinding")
            if item["metadata"]["name"] == "gitops-dsf-placement-decision-reader"
        )
        namespace = argocd.get("namespace", "argocd")
        assert binding["subjects"] == [
            {"kind": "ServiceAccount", "name": name, "namespace": namespace} for name in names
        ]
