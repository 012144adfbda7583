"""What `validate` says about tolerations, node selectors and resources is what a real API server says."""

from pathlib import Path
from typing import Any

import pytest

from tests.hub.controlplane.api import ApiError, Client
from tests.support.rendering import objects, produced, rendered, scorer

pytestmark = pytest.mark.family("kubernetes")

NAMESPACE = "default"
INFRA = {"key": "infra", "operator": "Exists"}
SETTINGS: list[dict[str, Any]] = [
    {"tolerations": [INFRA]},
    {"tolerations": [{"operator": "Exists"}]},
    {"tolerations": [{"key": "infra", "value": "yes"}]},
    {"tolerations": [{"key": "infra"}]},
    {"tolerations": [{**INFRA, "effect": "NoExecute", "tolerationSeconds": 60}]},
    {"tolerations": [{"key": "infra", "operator": "Equals"}]},
    {"tolerations": [{"value": "yes"}]},
    {"tolerations": [{}]},
    {"tolerations": [{**INFRA, "value": "yes"}]},
    {"tolerations": [{"key": "infra", "value": "a b"}]},
    {"tolerations": [{"key": "in fra", "operator": "Exists"}]},
    {"tolerations": [{**INFRA, "effect": "NoSelect"}]},
    {"tolerations": [{**INFRA, "effect": "NoSchedule", "tolerationSeconds": 60}]},
    {"tolerations": [{**INFRA, "tolerationSeconds": 60}]},
    {"tolerations": [{**INFRA, "Effect": "NoSchedule"}]},
    {"tolerations": [{"key": "infra", "value": True}]},
    {"tolerations": [{"key": "a", "operator": "Gt", "value": "-7"}]},
    {"tolerations": [{"key": "a", "operator": "Lt", "value": "7.5"}]},
    {"tolerations": [{"key": "a", "operator": "Lt"}]},
    {"tolerations": [{"key": "a", "operator": "Gt", "value": "007"}]},
    {"tolerations": [{**INFRA, "effect": "NoExecute", "tolerationSeconds": "1m"}]},
    {"nodeSelector": {"kubernetes.io/os": "linux", "node-role.kubernetes.io/infra": ""}},
    {"nodeSelector": {"kubernetes.io/os": "linux,arm"}},
    {"nodeSelector": {"a//b": "x"}},
    {"resources": {"requests": {"cpu": "1001m"}, "limits": {"cpu": "1"}}},
    {"resources": {"requests": {"cpu": "1000m"}, "limits": {"cpu": "1"}}},
    {"resources": {"requests": {"memory": "0.5Gi"}, "limits": {"memory": "500M"}}},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_validate_and_the_api_server_agree(hub: Client, tmp_path: Path, settings: dict[str, Any]) -> None:
    result = produced(tmp_path / "asked", scorer("cpu"), reconciler=settings)
    found = {item.code for item in result.diagnostics}
    assert found <= {"DSF013", "DSF015", "DSF016", "DSF169", "DSF170"}
    assert bool(found) is refused(hub, tmp_path / "taken", settings)


def refused(hub: Client, root: Path, settings: dict[str, Any]) -> bool:
    """Whether the API server refuses the reconciler's Deployment with these settings."""
    (item,) = (
        item
        for item in objects(rendered(root, scorer("cpu"))).values()
        if item["kind"] == "Deployment" and item["metadata"]["name"] == "gitops-dsf-reconciler"
    )
    pod = item["spec"]["template"]["spec"]
    for name, value in settings.items():
        (pod["containers"][0] if name == "resources" else pod)[name] = value
    path = hub.path("apps/v1/Deployment", item["metadata"]["name"], namespace=NAMESPACE)
    parameters = {"fieldManager": "kubectl", "fieldValidation": "Strict", "dryRun": "All"}
    try:
        hub.request(
            "PATCH",
            path,
            body={**item, "metadata": {**item["metadata"], "namespace": NAMESPACE}},
            content_type="application/apply-patch+yaml",
            parameters=parameters,
        )
    except ApiError:
        return True
    return False
