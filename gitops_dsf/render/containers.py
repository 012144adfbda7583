"""What the containers of the agent and the reconciler have in common: probes, and a locked-down process."""

from typing import Final

from gitops_dsf.render.objects import Object

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
