"""What the pods of our programs have in common: the metrics port, probes, and a locked-down process. The
agent on the spokes and the hub scorer are the same program, so they share the container as well.
"""

from collections.abc import Iterable
from typing import Final

from gitops_dsf.render.objects import Object
from gitops_dsf.repository.model.repository import Agent, HubScorer

METRICS_PORT: Final = 8080
CONFIG_DIR: Final = "/etc/dynamic-scoring"
"""Where the configuration of an agent program is mounted."""

TIMEOUT_SECONDS: Final = 5
"""Of a probe. A busy process answers later than Kubernetes' default of one second."""


def probes() -> Object:
    """Liveness and readiness, on the port that is called metrics."""
    return {
        "livenessProbe": {
            "httpGet": {"path": "/healthz", "port": "metrics"},
            "periodSeconds": 20,
            "timeoutSeconds": TIMEOUT_SECONDS,
            "failureThreshold": 3,
        },
        "readinessProbe": {
            "httpGet": {"path": "/readyz", "port": "metrics"},
            "periodSeconds": 10,
            "timeoutSeconds": TIMEOUT_SECONDS,
        },
    }


def security_context() -> Object:
    """No root user, no capabilities, and a read-only root file system."""
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "capabilities": {"drop": ["ALL"]},
    }


def pod_security() -> Object:
    """The security context of a pod."""
    return {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


def pull_secrets(names: Iterable[str]) -> Object:
    """The fields of a pod that name its pull secrets. They are not in its ServiceAccount: pods that wait for
    an image would not notice a change there.
    """
    references = [{"name": name} for name in names]
    return {"imagePullSecrets": references} if references else {}


def metrics_port() -> Object:
    """The port of pages and metrics, as a port of a container."""
    return {"name": "metrics", "containerPort": METRICS_PORT}


def agent_container(settings: Agent | HubScorer, *, image: str, name: str, arguments: list[str]) -> Object:
    """The container of an agent program. ``arguments`` follow those that say where its configuration is."""
    return {
        "name": name,
        "image": image,
        "imagePullPolicy": settings.image_pull_policy,
        "args": [
            "run",
            "--config-dir",
            CONFIG_DIR,
            *arguments,
            "--metrics-address",
            f"0.0.0.0:{METRICS_PORT}",
            "--log-format",
            settings.log_format,
        ],
        "ports": [metrics_port()],
        **probes(),
        "resources": {"requests": settings.resources.requests, "limits": settings.resources.limits},
        "securityContext": security_context(),
        "volumeMounts": [
            {"name": "config", "mountPath": CONFIG_DIR, "readOnly": True},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108
        ],
    }


def agent_volumes(config_map: Object) -> list[Object]:
    """The volumes of an agent program. ``config_map`` is the source of its configuration."""
    return [
        # The directory, never a subPath: the kubelet swaps the ..data link in it.
        {"name": "config", "configMap": config_map},
        # The root file system is read-only, and a kubeconfig's inline certificates need a file.
        {"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}},
    ]
