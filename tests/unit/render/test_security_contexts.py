"""Every pod that is rendered fits the strictest usual policies.

`restricted` of Kubernetes' Pod Security Standards, and the SecurityContextConstraints
`restricted-v2` of OpenShift, which assigns users.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.rendering import objects, on_hub, rendered

VOLUMES = {"configMap", "downwardAPI", "emptyDir", "projected", "secret"}
RECEIVER = {
    "image": "registry.example.com/prometheus:3.12.0",
    "collectorNamespaces": ["observability"],
}


def pods(root: Path, *, user: int | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every pod with everything switched on, by the name of its Deployment."""
    pushed = on_hub(
        "pushed", runsOn="Spokes", source={"type": "OpenTelemetry", "params": {"query": "up"}}
    )
    found = objects(
        rendered(
            root,
            pushed,
            on_hub("idle"),
            agent={"openTelemetry": {**RECEIVER, "runAsUser": user}},
            reconciler={"state": {"enabled": True}, "gitSecret": {"name": "push"}},
        )
    )
    templates = [
        item["spec"]["agentSpec"]["workload"]["manifests"]
        for item in found.values()
        if item["kind"] == "AddOnTemplate"
    ]
    for item in (*found.values(), *(one for listed in templates for one in listed)):
        if item["kind"] == "Deployment":
            yield item["metadata"]["name"], item["spec"]["template"]["spec"]


def test_pods_name_no_user_and_nothing_of_the_host(tmp_path: Path) -> None:
    found = list(pods(tmp_path, user=None))
    assert {name for name, _ in found} == {
        "gitops-dsf-agent",
        "gitops-dsf-hub-scorer",
        "gitops-dsf-reconciler",
    }
    for _, pod in found:
        assert pod["securityContext"] == {
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        }
        assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
        assert {next(iter(volume.keys() - {"name"})) for volume in pod["volumes"]} <= VOLUMES
        for container in (*pod["containers"], *pod.get("initContainers", [])):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "runAsNonRoot": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert not any("hostPort" in port for port in container["ports"])


@pytest.mark.parametrize("user", [65534, 1001])
def test_only_the_receiver_names_a_user(tmp_path: Path, user: int) -> None:
    named = [
        (container["name"], container["securityContext"]["runAsUser"])
        for _, pod in pods(tmp_path, user=user)
        for container in (*pod["containers"], *pod.get("initContainers", []))
        if "runAsUser" in container["securityContext"]
    ]
    assert {name for name, _ in named} == {"otlp-receiver"}
    assert {number for _, number in named} == {user}
