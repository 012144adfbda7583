"""rendered/reconciler: arguments that the command line understands, pods that Pod Security `restricted`
admits, rights and policies.
"""

import argparse
from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.cli import reconcile
from gitops_dsf.hub.names import DELIVERY_APPLICATION, SYNC_WAVE
from gitops_dsf.reconciler.lease import LEASE
from gitops_dsf.reconciler.settings import Settings
from gitops_dsf.render.reconciler.deployment import CONFIG_DIR, CREDENTIALS_DIR, WORK_DIR
from gitops_dsf.render.reconciler.names import NAME
from gitops_dsf.render.reconciler.rights import DECISIONS, RIGHTS, Where, rights
from gitops_dsf.repository.model.reconciler import Reconciler
from tests.support.rendering import objects, placement, rendered, scorer

FOLDER = "reconciler/"
EVERYTHING: dict[str, Any] = {
    "image": "registry.example.com/reconciler@sha256:0123",
    "imagePullPolicy": "Always",
    "replicas": 3,
    "nodeSelector": {"node-role.kubernetes.io/infra": ""},
    "tolerations": [{"key": "infra", "operator": "Exists"}],
    "resources": {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}},
    "probe": {"intervalSeconds": 60, "timeoutSeconds": 7},
    "suspend": {"enabled": True, "quorumPercent": 80},
    "proposals": {
        "kinds": ["Locks", "Inventory"],
        "intervalSeconds": 90,
        "author": {"name": "Fleet Bot", "email": "fleet-bot@example.com"},
        "forge": "GitHub",
        "forgeURL": "https://github.example.com/api/v3",
    },
    "state": {
        "enabled": True,
        "branch": "fleet-state",
        "intervalSeconds": 600,
    },
    "journal": {"enabled": True, "branch": "fleet-journal", "intervalSeconds": 120},
    "gitSecret": {"name": "fleet-push"},
}
GIT = {"url": "https://git.example.com/platform/fleet.git", "targetRevision": "trunk", "path": "fleets/eu"}


def reconciler_of(root: Path, **settings: Any) -> dict[str, dict[str, Any]]:
    """Objects of the directory by kind and name."""
    found = objects(rendered(root, scorer("cpu"), **settings))
    return {
        f"{item['kind']}/{item['metadata']['name']}": item
        for path, item in found.items()
        if path.startswith(FOLDER)
    }


def container(found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    (only,) = found[f"Deployment/{NAME}"]["spec"]["template"]["spec"]["containers"]
    return dict(only)


def settings_of(found: dict[str, dict[str, Any]], folder: Path) -> Settings:
    """What the real command line makes of rendered arguments and the mounted file."""
    verb, *flags = container(found)["args"]
    assert verb == "reconcile"
    ((name, config),) = found[f"ConfigMap/{NAME}"]["data"].items()
    (folder / name).write_text(config, encoding="utf-8")
    assert flags[0] == f"--config={CONFIG_DIR}/{name}"
    parser = argparse.ArgumentParser(prog=verb)
    reconcile.add_arguments(parser)
    return reconcile._settings(parser.parse_args([f"--config={folder / name}", *flags[1:]]))


class TestSettings:
    def test_defaults_need_no_word(self, tmp_path: Path) -> None:
        found = reconciler_of(tmp_path, hubNamespace="scoring")
        assert [argument.partition("=")[0] for argument in container(found)["args"]] == [
            "reconcile",
            "--config",
            "--metrics-address",
        ]
        settings = settings_of(found, tmp_path)
        assert (settings.spec.hub_namespace, settings.spec.argocd.namespace, settings.metrics_port) == (
            "scoring",
            "argocd",
            8080,
        )
        assert (settings.git, settings.spec.reconciler.suspend.enabled) == (None, False)

    def test_everything_that_can_be_said_arrives(self, tmp_path: Path) -> None:
        found = reconciler_of(tmp_path, reconciler=EVERYTHING, git=GIT)
        settings = settings_of(found, tmp_path)
        assert settings.git is not None
        assert (settings.git.url, settings.git.branch, settings.git.path) == (
            GIT["url"],
            "trunk",
            "fleets/eu",
        )
        assert (str(settings.git.credentials), str(settings.git.work_dir)) == (CREDENTIALS_DIR, WORK_DIR)
        assert settings.git.author == "Fleet Bot <fleet-bot@example.com>"
        wanted = Reconciler.model_validate(EVERYTHING)
        for name in ("probe", "suspend", "proposals", "state", "journal"):
            assert getattr(settings.spec.reconciler, name) == getattr(wanted, name)

    def test_new_settings_make_new_pods(self, tmp_path: Path) -> None:
        pods = [
            reconciler_of(tmp_path / str(seconds), reconciler={"probe": {"intervalSeconds": seconds}})[
                f"Deployment/{NAME}"
            ]["spec"]["template"]
            for seconds in (30, 31)
        ]
        assert pods[0] != pods[1]

    def test_the_application_that_tells_the_live_commit_is_rendered(self, tmp_path: Path) -> None:
        found = objects(rendered(tmp_path, scorer("cpu")))
        applications = {
            item["metadata"]["name"]: item for item in found.values() if item["kind"] == "Application"
        }
        path = applications[DELIVERY_APPLICATION]["spec"]["source"]["path"]
        assert path.rpartition("/")[2] == "delivery"


class TestPods:
    def test_they_may_do_nothing_on_their_node(self, tmp_path: Path) -> None:
        pod = reconciler_of(tmp_path)[f"Deployment/{NAME}"]["spec"]["template"]["spec"]
        assert pod["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
        (only,) = pod["containers"]
        assert only["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert [volume["name"] for volume in pod["volumes"]] == ["tmp", "config"]

    def test_settings_reach_them(self, tmp_path: Path) -> None:
        deployment = reconciler_of(tmp_path, reconciler=EVERYTHING, git=GIT)[f"Deployment/{NAME}"]["spec"]
        pod = deployment["template"]["spec"]
        assert (deployment["replicas"], pod["nodeSelector"], pod["tolerations"]) == (
            3,
            EVERYTHING["nodeSelector"],
            EVERYTHING["tolerations"],
        )
        (only,) = pod["containers"]
        assert (only["image"], only["imagePullPolicy"], only["resources"]) == (
            EVERYTHING["image"],
            "Always",
            EVERYTHING["resources"],
        )

    def test_credentials_are_mounted_where_something_is_pushed_and_may_be_missing(
        self, tmp_path: Path
    ) -> None:
        found = reconciler_of(tmp_path / "a", reconciler=EVERYTHING, git=GIT)
        (volume,) = (
            item
            for item in found[f"Deployment/{NAME}"]["spec"]["template"]["spec"]["volumes"]
            if item["name"] == "git"
        )
        assert volume["secret"] == {"secretName": "fleet-push", "optional": True}
        (mount,) = (item for item in container(found)["volumeMounts"] if item["name"] == "git")
        assert mount == {"name": "git", "mountPath": "/etc/gitops-dsf/git", "readOnly": True}
        idle = reconciler_of(tmp_path / "b", reconciler={"gitSecret": {"name": "fleet-push"}})
        assert [item["name"] for item in container(idle)["volumeMounts"]] == ["tmp", "config"]

    def test_selectors_find_them(self, tmp_path: Path) -> None:
        found = reconciler_of(tmp_path)
        labels = found[f"Deployment/{NAME}"]["spec"]["template"]["metadata"]["labels"]
        selectors = (
            found[f"Deployment/{NAME}"]["spec"]["selector"]["matchLabels"],
            found[f"Service/{NAME}"]["spec"]["selector"],
            found[f"PodDisruptionBudget/{NAME}"]["spec"]["selector"]["matchLabels"],
            found[f"NetworkPolicy/{NAME}"]["spec"]["podSelector"]["matchLabels"],
        )
        for selector in selectors:
            assert selector.items() <= labels.items()


class TestSwitches:
    def test_disabled_it_leaves_an_account_without_rights(self, tmp_path: Path) -> None:
        """Argo CD never prunes a directory to nothing by itself."""
        assert set(reconciler_of(tmp_path, reconciler={"enabled": False})) == {f"ServiceAccount/{NAME}"}

    def test_the_list_of_applications_does_not_depend_on_it(self, tmp_path: Path) -> None:
        bootstraps = []
        for number, enabled in enumerate((True, False)):
            found = objects(rendered(tmp_path / str(number), scorer("cpu"), reconciler={"enabled": enabled}))
            bootstraps.append({path: item for path, item in found.items() if path.startswith("argocd/")})
        assert bootstraps[0] == bootstraps[1]
        assert "argocd/application.gitops-dsf-reconciler.yaml" in bootstraps[0]

    def test_upstreams_controller_has_none(self, tmp_path: Path) -> None:
        found = objects(
            rendered(
                tmp_path, scorer("cpu"), delivery={"mode": "UpstreamController"}, reconciler={"enabled": True}
            )
        )
        assert not [path for path in found if "reconciler" in path]

    @pytest.mark.parametrize(
        ("reconciler", "message"),
        [
            ({"replicas": 0}, "replicas"),
            ({"suspend": {"quorumPercent": 101}}, "quorumPercent"),
            ({"proposals": {"forgeURL": "https://github.example.com"}}, "write forge: GitHub"),
            ({"proposals": {"author": {"name": "a\nb", "email": "a@example.com"}}}, "name"),
            ({"state": {"branch": "-x"}}, "branch"),
            ({"state": {"enabled": True, "branch": "main"}}, "its content would be replaced"),
            ({"journal": {"enabled": True, "branch": "main"}}, "has another use already"),
            (
                {"state": {"enabled": True}, "journal": {"enabled": True, "branch": "gitops-dsf-state"}},
                "has another use already",
            ),
            ({"proposals": {"kinds": ["Locks"], "forge": "GitHub"}}, "names no owner and repository"),
        ],
    )
    def test_what_cannot_be_meant_is_a_finding(
        self, tmp_path: Path, reconciler: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(AssertionError) as error:
            rendered(tmp_path, scorer("cpu"), reconciler=reconciler)
        assert message in str(error.value)
        assert "gitops-dsf.yaml" in str(error.value)

    def test_a_branch_that_is_never_forced_has_a_name(self, tmp_path: Path) -> None:
        git = {"url": "https://git.example.com/platform/fleet.git", "targetRevision": "HEAD"}
        with pytest.raises(AssertionError, match=r"git\.targetRevision is HEAD"):
            rendered(tmp_path, scorer("cpu"), reconciler={"proposals": {"kinds": ["Locks"]}}, git=git)
        rendered(tmp_path, scorer("cpu"), git=git)

    @pytest.mark.parametrize(
        "url",
        [
            "git@git.example.com:platform/fleet.git",
            "ssh://git@git.example.com:2222/platform/fleet.git",
            "https://git.example.com/platform/fleet",
        ],
    )
    def test_every_way_to_write_the_url_is_taken(self, tmp_path: Path, url: str) -> None:
        on = {"state": {"enabled": True}, "proposals": {"kinds": ["Locks"], "forge": "GitHub"}}
        found = reconciler_of(tmp_path, reconciler=on, git={"url": url})
        settings = settings_of(found, tmp_path)
        assert settings.git is not None
        assert settings.git.url == url


class TestRights:
    def test_roles_hold_the_list_and_nothing_else(self, tmp_path: Path) -> None:
        found = reconciler_of(tmp_path)
        rules = {key: item["rules"] for key, item in found.items() if item["kind"] in {"Role", "ClusterRole"}}
        assert rules == {
            "ClusterRole/gitops-dsf:reconciler": [
                right.rule for right in RIGHTS if right.where is Where.EVERYWHERE
            ],
            f"Role/{NAME}": [right.rule for right in RIGHTS if right.where is Where.HUB],
            f"Role/{NAME}-moves": [right.rule for right in RIGHTS if right.where is Where.ARGOCD],
        }

    def test_decisions_are_read_in_the_namespaces_of_scored_placements(self, tmp_path: Path) -> None:
        found = objects(
            rendered(
                tmp_path,
                scorer("cpu"),
                placement("training", namespace="kueue-system"),
                placement("frontends"),
                reconciler={"state": {"enabled": True}},
            )
        )
        roles = {path: item for path, item in found.items() if f"{NAME}-decisions" in path}
        assert {path: item.get("rules") for path, item in roles.items()} == {
            f"delivery/role.{NAME}-decisions_in_kueue-system.yaml": [DECISIONS.rule],
            f"delivery/rolebinding.{NAME}-decisions_in_kueue-system.yaml": None,
        }
        in_its_namespace = [
            item for item in found.values() if item["metadata"].get("namespace") == "kueue-system"
        ]
        assert {item["metadata"]["annotations"][SYNC_WAVE] for item in in_its_namespace} == {"5"}
        deployment = found[f"reconciler/deployment.{NAME}.yaml"]
        args = container({f"Deployment/{NAME}": deployment})["args"]
        assert "--placement-namespace=kueue-system" in args

    def test_no_decisions_are_read_without_a_reconciler(self, tmp_path: Path) -> None:
        training = placement("training", namespace="kueue-system")
        found = objects(rendered(tmp_path, scorer("cpu"), training, reconciler={"enabled": False}))
        assert not [path for path in found if f"{NAME}-decisions" in path]

    def test_no_works_and_no_secrets(self) -> None:
        assert not [
            right
            for right in RIGHTS
            if right.resource in {"manifestworks", "secrets", "*"} or "*" in right.verbs
        ]
        assert {right.resource for right in RIGHTS if "delete" in right.verbs} == {
            "addonplacementscores",
            "applications",
        }

    def test_bindings_are_for_the_account_of_the_pods(self, tmp_path: Path) -> None:
        found = reconciler_of(tmp_path, hubNamespace="scoring", argocd={"namespace": "gitops"})
        bindings = [item for item in found.values() if item["kind"] in {"RoleBinding", "ClusterRoleBinding"}]
        assert {item["metadata"].get("namespace") for item in bindings} == {None, "scoring", "gitops"}
        for item in bindings:
            assert item["subjects"] == [{"kind": "ServiceAccount", "name": NAME, "namespace": "scoring"}]
            assert f"{item['roleRef']['kind']}/{item['roleRef']['name']}" in found
        assert found[f"ServiceAccount/{NAME}"]["metadata"]["namespace"] == "scoring"
        assert found[f"Deployment/{NAME}"]["spec"]["template"]["spec"]["serviceAccountName"] == NAME

    def test_one_namespace_may_be_both(self, tmp_path: Path) -> None:
        found = reconciler_of(tmp_path, hubNamespace="argocd")
        assert {f"Role/{NAME}", f"Role/{NAME}-moves"} <= set(found)

    def test_they_are_at_hand_for_others(self, tmp_path: Path) -> None:
        result = rendered(tmp_path, scorer("cpu"))
        assert result.plan is not None
        kinds = [item["kind"] for item in rights(result.plan.resolved.repository)]
        assert kinds == ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Role", "RoleBinding"]

    def test_the_lease_that_is_granted_is_the_one_that_is_taken(self) -> None:
        assert LEASE == NAME


class TestPolicies:
    def test_each_is_bound_and_speaks_of_the_reconciler_alone(self, tmp_path: Path) -> None:
        found = reconciler_of(tmp_path, hubNamespace="scoring")
        policies = {
            item["metadata"]["name"]: item["spec"]
            for item in found.values()
            if item["kind"] == "ValidatingAdmissionPolicy"
        }
        bindings = {
            item["spec"]["policyName"]: item["spec"]
            for item in found.values()
            if item["kind"].endswith("PolicyBinding")
        }
        assert (
            policies.keys()
            == bindings.keys()
            == {
                f"{NAME}-{name}"
                for name in (
                    "applicationsets",
                    "application-refreshes",
                    "applications",
                    "scores",
                    "configmaps",
                    "leases",
                )
            }
        )
        for name, spec in policies.items():
            (condition,) = spec["matchConditions"]
            assert (
                condition["expression"]
                == f'request.userInfo.username == "system:serviceaccount:scoring:{NAME}"'
            )
            assert spec["failurePolicy"] == "Fail"
            assert bindings[name]["validationActions"] == ["Deny"]

    def test_everything_is_in_force_before_the_first_pod(self, tmp_path: Path) -> None:
        waves = {
            item["kind"]: int(
                item["metadata"].get("annotations", {}).get("argocd.argoproj.io/sync-wave", "0")
            )
            for item in reconciler_of(tmp_path).values()
        }
        assert waves["ValidatingAdmissionPolicyBinding"] < waves["RoleBinding"] < waves["Deployment"]
