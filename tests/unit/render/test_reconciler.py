"""The folder rendered/reconciler.

Arguments that the command line understands, pods that Pod Security `restricted` admits, rights and
policies.
"""

import argparse
from pathlib import Path
from typing import Any

from gitops_dsf.cli import reconcile
from gitops_dsf.cli.verbs import hub
from gitops_dsf.hub.names import RECONCILER as NAME
from gitops_dsf.reconciler.settings import ReconcilerSettings
from gitops_dsf.render.reconciler import CREDENTIALS_DIR, WORK_DIR
from gitops_dsf.render.reconciler_rights import RIGHTS
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
    "proposals": {
        "kinds": ["Locks", "Inventory"],
        "intervalSeconds": 90,
        "author": {"name": "Fleet Bot", "email": "fleet-bot@example.com"},
        "forge": "GitHub",
        "forgeURL": "https://github.example.com/api/v3",
    },
    "state": {"enabled": True, "branch": "fleet-state", "intervalSeconds": 600},
    "journal": {"enabled": True, "branch": "fleet-journal", "intervalSeconds": 120},
    "gitSecret": {"name": "fleet-push"},
}
GIT = {
    "url": "https://git.example.com/platform/fleet.git",
    "targetRevision": "trunk",
    "path": "fleets/eu",
}


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


def settings_of(found: dict[str, dict[str, Any]], folder: Path) -> ReconcilerSettings:
    """What the real command line makes of rendered arguments and the mounted file."""
    verb, *flags = container(found)["args"]
    assert verb == "reconcile"
    ((name, config),) = found[f"ConfigMap/{NAME}"]["data"].items()
    (folder / name).write_text(config, encoding="utf-8")
    assert flags[0] == f"--config=/etc/gitops-dsf/config/{name}"
    parser = argparse.ArgumentParser(prog=verb)
    hub.reconcile.add_arguments(parser)
    return reconcile._settings(parser.parse_args([f"--config={folder / name}", *flags[1:]]))


class TestSettings:
    def test_everything_that_can_be_said_arrives(self, tmp_path: Path) -> None:
        found = reconciler_of(tmp_path, reconciler=EVERYTHING, git=GIT)
        settings = settings_of(found, tmp_path)
        assert settings.git is not None
        assert (settings.git.url, settings.git.branch, settings.git.path) == (
            GIT["url"],
            "trunk",
            "fleets/eu",
        )
        assert (str(settings.git.credentials), str(settings.git.work_dir)) == (
            CREDENTIALS_DIR,
            WORK_DIR,
        )
        assert settings.git.author == "Fleet Bot <fleet-bot@example.com>"
        wanted = Reconciler.model_validate(EVERYTHING)
        for name in ("probe", "proposals", "state", "journal"):
            assert getattr(settings.spec.reconciler, name) == getattr(wanted, name)

    def test_new_settings_make_new_pods(self, tmp_path: Path) -> None:
        pods = [
            reconciler_of(
                tmp_path / str(seconds), reconciler={"probe": {"intervalSeconds": seconds}}
            )[f"Deployment/{NAME}"]["spec"]["template"]
            for seconds in (30, 31)
        ]
        assert pods[0] != pods[1]


class TestPods:
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

    def test_credentials_of_pages_have_folders_and_their_hosts_arrive(self, tmp_path: Path) -> None:
        hosts = ["*.example.com"]
        named = {"configCredentials": ["forecast-token", "forecast-tls"]}
        found = reconciler_of(tmp_path / "a", reconciler=named, allowedTokenHosts=hosts)
        pod = found[f"Deployment/{NAME}"]["spec"]["template"]["spec"]
        sources = [item["projected"]["sources"] for item in pod["volumes"] if "projected" in item]
        assert sources == [
            [{kind: {"name": name, "optional": True}} for kind in ("configMap", "secret")]
            for name in ("forecast-token", "forecast-tls")
        ]
        settings = settings_of(found, tmp_path)
        assert settings.spec.allowed_token_hosts == hosts
        folders = [mount["mountPath"] for mount in container(found)["volumeMounts"][2:]]
        assert folders == [
            f"{settings.secrets}/{name}" for name in ("forecast-token", "forecast-tls")
        ]
        without = reconciler_of(tmp_path / "b", allowedTokenHosts=hosts)
        assert settings_of(without, tmp_path).secrets is None

    def test_credentials_of_the_store_are_apart_from_those_that_scorers_may_name(
        self, tmp_path: Path
    ) -> None:
        auth = {
            "oauth2": {
                "tokenURL": "https://login.example.com/token",
                "clientSecretRef": {"name": "client"},
                "caConfigMapRef": {"name": "ca", "key": "ca.crt"},
            },
            "caConfigMapRef": {"name": "ca", "key": "ca.crt"},
        }
        store = {"host": "https://thanos.example.com", "clusterLabel": "cluster", "auth": auth}
        named = {
            "state": {"enabled": True},
            "metricStore": store,
            "configCredentials": ["forecast-token"],
        }
        found = reconciler_of(tmp_path / "a", reconciler=named, allowedTokenHosts=["*.example.com"])
        settings = settings_of(found, tmp_path)
        written = settings.spec.reconciler.metric_store
        assert written is not None
        assert written.model_dump(exclude_defaults=True)["clusterLabel"] == "cluster"
        assert settings.spec.allowed_token_hosts == ["*.example.com"]
        folders = [mount["mountPath"] for mount in container(found)["volumeMounts"][2:]]
        assert folders == [
            f"{settings.secrets}/forecast-token",
            f"{settings.store_secrets}/ca",
            f"{settings.store_secrets}/client",
        ]
        public = {"state": {"enabled": True}, "metricStore": {"host": "http://thanos.svc:9090"}}
        without = settings_of(reconciler_of(tmp_path / "b", reconciler=public), tmp_path)
        assert without.store_secrets is None
        assert without.spec.reconciler.metric_store is not None


class TestSwitches:
    def test_disabled_it_leaves_an_account_without_rights(self, tmp_path: Path) -> None:
        """Argo CD never prunes a directory to nothing by itself."""
        assert set(reconciler_of(tmp_path, reconciler={"enabled": False})) == {
            f"ServiceAccount/{NAME}"
        }

    def test_the_list_of_applications_does_not_depend_on_it(self, tmp_path: Path) -> None:
        bootstraps = []
        for number, enabled in enumerate((True, False)):
            found = objects(
                rendered(tmp_path / str(number), scorer("cpu"), reconciler={"enabled": enabled})
            )
            bootstraps.append(
                {path: item for path, item in found.items() if path.startswith("argocd/")}
            )
        assert bootstraps[0] == bootstraps[1]
        assert "argocd/application.gitops-dsf-reconciler.yaml" in bootstraps[0]


class TestRights:
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

    def test_kueue_is_read_where_jobs_are_ordered_alone(self, tmp_path: Path) -> None:
        """MultiKueueConfigs are written by name, as far as RBAC can, and the rest is only read."""
        written = {"placement": {"clusterSets": ["default"]}, "multiKueue": {"config": "gpu-jobs"}}
        plain = placement("gpu-jobs", namespace="batch", placement={"clusterSets": ["default"]})
        other = placement("batch-jobs", multiKueue={"config": "all"}, placement={})
        documents = [scorer("cpu"), other, placement("gpu-jobs", namespace="batch", **written)]
        found = objects(rendered(tmp_path / "jobs", *documents))
        without = objects(rendered(tmp_path / "plain", scorer("cpu"), plain))
        assert "kueue.x-k8s.io" not in str(without)
        role = found[f"{FOLDER}clusterrole.gitops-dsf-reconciler.yaml"]
        rules = [rule for rule in role["rules"] if rule["apiGroups"] == ["kueue.x-k8s.io"]]
        assert [
            (*rule["resources"], rule["verbs"], rule.get("resourceNames")) for rule in rules
        ] == [
            ("multikueueconfigs", ["create"], None),
            ("multikueueconfigs", ["get", "update"], ["all", "gpu-jobs"]),
            ("multikueueclusters", ["list", "watch"], None),
            ("admissionchecks", ["list", "watch"], None),
            ("workloads", ["list", "watch"], None),
        ]
        decisions = found["delivery/role.gitops-dsf-reconciler-decisions_in_batch.yaml"]
        assert [(*rule["resources"], rule["verbs"]) for rule in decisions["rules"]] == [
            ("placementdecisions", ["list", "watch"]),
            ("placements", ["list", "watch"]),
            ("events", ["create", "patch"]),
        ]
        policies = {path for path in found.keys() - without.keys() if "validating" in path}
        assert policies == {
            f"{FOLDER}validatingadmissionpolicy.{NAME}-multikueueconfigs.yaml",
            f"{FOLDER}validatingadmissionpolicybinding.{NAME}-multikueueconfigs.yaml",
        }
        reconciler = {
            f"{item['kind']}/{item['metadata']['name']}": item
            for path, item in found.items()
            if path.startswith(FOLDER)
        }
        settings = settings_of(reconciler, tmp_path)
        assert settings.multi_kueue_namespaces == ("argocd", "batch")

    def test_one_namespace_may_be_both(self, tmp_path: Path) -> None:
        found = reconciler_of(tmp_path, hubNamespace="argocd")
        assert {f"Role/{NAME}", f"Role/{NAME}-moves"} <= set(found)
