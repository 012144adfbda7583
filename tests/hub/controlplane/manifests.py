"""OCM's manifests, filled in as its operators do and changed only where this machine is no cluster.

The one change: webhooks are reached by URL on 127.0.0.1, because no kube-proxy makes Services reachable here.
"""

import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

from tests.hub.controlplane.api import Client, Object
from tests.hub.controlplane.binaries import Binaries

HUB_NAMESPACE = "open-cluster-management-hub"
AGENT_NAMESPACE = "open-cluster-management-agent"
WORK_SERVICE_ACCOUNT = "klusterlet-work-sa"

HUB_CRDS = (
    "cluster-manager/hub/crds/0000_00_addon.open-cluster-management.io_clustermanagementaddons.crd.yaml",
    "cluster-manager/hub/crds/0000_00_clusters.open-cluster-management.io_managedclusters.crd.yaml",
    "cluster-manager/hub/crds/0000_00_clusters.open-cluster-management.io_managedclustersets.crd.yaml",
    "cluster-manager/hub/crds/0000_00_work.open-cluster-management.io_manifestworkreplicasets.crd.yaml",
    "cluster-manager/hub/crds/0000_00_work.open-cluster-management.io_manifestworks.crd.yaml",
    "cluster-manager/hub/crds/0000_01_addon.open-cluster-management.io_managedclusteraddons.crd.yaml",
    "cluster-manager/hub/crds/0000_01_clusters.open-cluster-management.io_managedclustersetbindings.crd.yaml",
    "cluster-manager/hub/crds/0000_02_addon.open-cluster-management.io_addondeploymentconfigs.crd.yaml",
    "cluster-manager/hub/crds/0000_02_clusters.open-cluster-management.io_placements.crd.yaml",
    "cluster-manager/hub/crds/0000_03_addon.open-cluster-management.io_addontemplates.crd.yaml",
    "cluster-manager/hub/crds/0000_03_clusters.open-cluster-management.io_placementdecisions.crd.yaml",
    "cluster-manager/hub/crds/0000_05_clusters.open-cluster-management.io_addonplacementscores.crd.yaml",
)
HUB_RIGHTS = tuple(
    f"cluster-manager/hub/{file}.yaml"
    for file in (
        "addon-manager/clusterrole",
        "addon-manager/clusterrolebinding",
        "addon-manager/serviceaccount",
        "addon-manager/webhook-serviceaccount",
        "addon-manager/work-executor-admin-clusterrolebinding",
        "placement/clusterrole",
        "placement/clusterrolebinding",
        "placement/serviceaccount",
        "registration/clusterrole",
        "registration/clusterrolebinding",
        "registration/serviceaccount",
        "registration/webhook-clusterrole",
        "registration/webhook-clusterrolebinding",
        "registration/webhook-serviceaccount",
        "work/executor-admin-clusterrole",
        "work/webhook-clusterrole",
        "work/webhook-clusterrolebinding",
        "work/webhook-serviceaccount",
    )
)
HUB_ADMISSION = tuple(
    f"cluster-manager/hub/{file}.yaml"
    for file in (
        "registration/webhook-clustersetbinding-validatingconfiguration",
        "registration/webhook-mutatingconfiguration",
        "registration/webhook-validatingconfiguration",
        "work/webhook-validatingconfiguration",
    )
)
SPOKE_CRDS = (
    "klusterlet/managed/0000_01_work.open-cluster-management.io_appliedmanifestworks.crd.yaml",
    "klusterlet/managed/0000_02_clusters.open-cluster-management.io_clusterclaims.crd.yaml",
)
SPOKE_RIGHTS = tuple(
    f"klusterlet/{file}.yaml"
    for file in (
        "managed/klusterlet-work-clusterrole-execution",
        "managed/klusterlet-work-clusterrole",
        "managed/klusterlet-work-clusterrolebinding-aggregate",
        "managed/klusterlet-work-clusterrolebinding-execution-admin",
        "managed/klusterlet-work-clusterrolebinding",
        "managed/klusterlet-work-serviceaccount",
        "management/klusterlet-role-extension-apiserver",
        "management/klusterlet-work-role",
        "management/klusterlet-work-rolebinding-extension-apiserver",
        "management/klusterlet-work-rolebinding",
    )
)

# Which process serves the Service that a manifest names.
WEBHOOK_SERVICES = {
    "cluster-manager-addon-webhook": "addon",
    "cluster-manager-registration-webhook": "registration",
    "cluster-manager-work-webhook": "work",
}


def hub_values(*, authority: str) -> dict[str, Any]:
    """The values of OCM's cluster manager with its default feature gates; `authority` signs the webhook
    servers.
    """
    webhook = {"IsIPFormat": True, "Address": "127.0.0.1", "Port": 9443}
    return {
        "ClusterManagerName": "cluster-manager",
        "ClusterManagerNamespace": HUB_NAMESPACE,
        "Labels": {},
        "RegistrationAPIServiceCABundle": authority,
        "WorkAPIServiceCABundle": authority,
        "AddonAPIServiceCABundle": authority,
        "RegistrationWebhook": webhook,
        "WorkWebhook": webhook,
        "AddonWebhook": webhook,
        "ClusterImporterEnabled": False,
        "ClusterProfileEnabled": False,
        "GRPCAuthEnabled": False,
        "ManagedClusterIdentityCreatorRole": "",
    }


def spoke_values() -> dict[str, Any]:
    """The values of OCM's klusterlet in default mode."""
    return {
        "KlusterletName": "klusterlet",
        "KlusterletNamespace": AGENT_NAMESPACE,
        "AgentNamespace": AGENT_NAMESPACE,
        "WorkServiceAccount": WORK_SERVICE_ACCOUNT,
        "Labels": {},
        "ManagedClusterRoleArn": "",
        "RegistrationDriver": {"AuthType": "csr"},
    }


def render(binaries: Binaries, files: Sequence[str], values: Mapping[str, Any]) -> list[Object]:
    """The objects of these template files, in order."""
    folder = binaries.folder("manifests")
    answer = subprocess.run(
        [str(binaries.path("ocm")), "render", *(str(folder / file) for file in files)],
        input=json.dumps(values),
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode != 0:
        raise RuntimeError(f"OCM's manifests could not be rendered: {answer.stderr.strip()}")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return [item for item in yaml.load_all(answer.stdout, Loader=loader) if item]


def reached_by_url(item: Object, addresses: Mapping[str, str]) -> Object:
    """The object with every webhook client that names a Service pointing at `addresses[process]` instead."""
    configurations = [hook["clientConfig"] for hook in item.get("webhooks", [])]
    if item["kind"] == "CustomResourceDefinition" and "conversion" in item["spec"]:
        configurations.append(item["spec"]["conversion"]["webhook"]["clientConfig"])
    for configuration in configurations:
        service = configuration.pop("service")
        configuration["url"] = addresses[WEBHOOK_SERVICES[service["name"]]] + service["path"]
    return item


def install(client: Client, items: Iterable[Object], *, manager: str) -> None:
    """Apply objects as an operator would.

    The templates leave empty label maps behind, and their operator reads a key that ends in "-" as "remove":
    both go.
    """
    for item in items:
        metadata = item["metadata"]
        for part in ("labels", "annotations"):
            if part in metadata:
                metadata[part] = {
                    key: value for key, value in (metadata[part] or {}).items() if not key.endswith("-")
                }
        client.apply(item, manager=manager)


def namespace(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
