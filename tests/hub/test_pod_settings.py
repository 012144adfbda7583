"""Tolerations, node selectors and resources, as `validate` and a real API server judge them.

Both say the same. The API server takes a policy over the agents' connections, too.
"""

from pathlib import Path
from typing import Any

import pytest

from dsf_wire.summary import ScorerSummary
from gitops_dsf.render.egress import egress_policy
from gitops_dsf.repository.model.agent import Egress
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
def test_validate_and_the_api_server_agree(
    hub: Client, tmp_path: Path, settings: dict[str, Any]
) -> None:
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
    item["metadata"]["namespace"] = NAMESPACE
    try:
        hub.apply(item, dry_run=True)
    except ApiError:
        return True
    return False


def test_a_policy_over_the_agents_connections_is_accepted(hub: Client) -> None:
    """It lives in ManifestWorks, whose content the hub does not look at."""
    urls = (
        "http://a.b.svc:9090",
        "http://10.0.0.7:9090",
        "https://[fd00::7]",
        "https://x.example.com",
    )
    summaries = [ScorerSummary(name=url, score_name="s", scoring_endpoint=url) for url in urls]
    policy = egress_policy(summaries, Egress(mode="Limited", rules=[{"ports": [{"port": 8080}]}]))
    policy["metadata"]["namespace"] = NAMESPACE
    applied = hub.apply(policy, dry_run=True)
    assert len(applied["spec"]["egress"]) == len(policy["spec"]["egress"])
