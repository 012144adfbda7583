"""Prometheus as a receiver for OpenTelemetry metrics, in the pod of the agent.

The container is in the add-on's template, its configuration in the ManifestWork of each cluster, so that a
scorer that needs more history does not restart the agent. Prometheus reads a changed file by itself.

The container is a sidecar, an init container with restartPolicy Always. OCM mounts the agent's hub
credentials into every container of a Deployment, and into no init container
(docs/contributing/ocm-behaviour.md#what-a-template-may-contain).
"""

from typing import Final

from dsf_wire.constants import ADDON_NAME, AGENT_NAMESPACE
from gitops_dsf.canonicalyaml import emit
from gitops_dsf.hub.urls import RECEIVER_PORT
from gitops_dsf.plan.types import Receiver
from gitops_dsf.render.containers import TIMEOUT_SECONDS, security_context
from gitops_dsf.render.objects import Object, metadata
from gitops_dsf.repository.model.repository import OpenTelemetry, mebibytes

NAME: Final = "gitops-dsf-otlp"
"""Of the Service that collectors push to, and of the ConfigMap."""
CONTAINER: Final = "otlp-receiver"
PUSHES_LABEL: Final = "gitops-dsf.io/pushes-metrics"
"""Label of pods that may push."""
CONFIG_FILE: Final = "prometheus.yml"
PORT_NAME: Final = "otlp"
_CONFIG_DIR: Final = "/etc/gitops-dsf-otlp"
_DATA_DIR: Final = "/prometheus"
_ACCOUNT_DIR: Final = "/var/run/secrets/kubernetes.io/serviceaccount"

_LOOKBACK_SECONDS: Final = 300
"""Prometheus uses a sample for an instant up to this long."""
_HOUR: Final = 3600
_LEAST_HOURS: Final = 2
"""Prometheus keeps the newest two to three hours in memory anyway."""
_OUT_OF_ORDER: Final = "5m"
"""How late a batch may come that a collector had to send again."""
_GOGC: Final = 50
"""Percent by which the heap grows between two garbage collections."""
_GARBAGE_COLLECTION: Final = 0.6
"""Of the memory limit: above it the Go runtime collects garbage more often. The rest is for pages of the
history that are read from the disk, and for peaks.
"""
_HISTORY: Final = 0.6
"""Of the volume: above it Prometheus deletes the oldest blocks. The rest is for blocks that are being
written: the kubelet evicts a pod, the agent included, that exceeds the volume's size.
"""


def configuration(receiver: Receiver) -> Object:
    """The ConfigMap with the configuration file of Prometheus."""
    settings = receiver.settings
    file: Object = {
        # Nothing is scraped, and no rules are evaluated.
        "runtime": {"gogc": _GOGC},
        "storage": {
            "tsdb": {
                "out_of_order_time_window": _OUT_OF_ORDER,
                "retention": {
                    "time": f"{_retention_hours(receiver.history_seconds)}h",
                    "size": f"{int(mebibytes(settings.storage) * _HISTORY)}MB",
                },
            }
        },
        "otlp": {
            "translation_strategy": "UnderscoreEscapingWithSuffixes",
            "promote_resource_attributes": settings.resource_attributes,
        },
    }
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(name=NAME, namespace=AGENT_NAMESPACE),
        "data": {CONFIG_FILE: emit(file)},
    }


def _retention_hours(history_seconds: int) -> int:
    """Whole hours, so that few edits change the file; an hour more than the scorers need."""
    needed = history_seconds + _LOOKBACK_SECONDS
    return max(_LEAST_HOURS, -(-needed // _HOUR) + 1)


def container(settings: OpenTelemetry, *, pull_policy: str, log_format: str) -> Object:
    """The sidecar. Its port serves pushes and queries alike; who reaches it is the NetworkPolicy's matter."""
    user: Object = {} if settings.run_as_user is None else {"runAsUser": settings.run_as_user}
    probe: Object = {"timeoutSeconds": TIMEOUT_SECONDS, "periodSeconds": 10}
    return {
        "name": CONTAINER,
        "image": settings.image,
        "imagePullPolicy": pull_policy,
        "restartPolicy": "Always",
        "args": [
            f"--config.file={_CONFIG_DIR}/{CONFIG_FILE}",
            "--config.auto-reload",
            f"--storage.tsdb.path={_DATA_DIR}",
            f"--web.listen-address=:{RECEIVER_PORT}",
            "--web.enable-otlp-receiver",
            "--web.max-connections=64",
            # Whoever may push could hold all connections; Prometheus' own limit is 5 minutes.
            "--web.read-timeout=1m",
            # A single query may take about 80 MB.
            "--query.max-samples=5000000",
            "--query.max-concurrency=4",
            "--query.timeout=30s",
            f"--log.format={'json' if log_format == 'json' else 'logfmt'}",
        ],
        "env": [
            {"name": "GOMEMLIMIT", "value": f"{int(mebibytes(settings.memory) * _GARBAGE_COLLECTION)}MiB"}
        ],
        "ports": [{"name": PORT_NAME, "containerPort": RECEIVER_PORT}],
        "livenessProbe": {
            "httpGet": {"path": "/-/healthy", "port": PORT_NAME},
            "failureThreshold": 6,
            **probe,
        },
        "readinessProbe": {"httpGet": {"path": "/-/ready", "port": PORT_NAME}, **probe},
        "resources": {
            "requests": {"cpu": settings.cpu, "memory": settings.memory},
            "limits": {"memory": settings.memory},
        },
        "securityContext": {**security_context(), **user},
        "volumeMounts": [
            {"name": "otlp-config", "mountPath": _CONFIG_DIR, "readOnly": True},
            {"name": "otlp-data", "mountPath": _DATA_DIR},
        ],
    }


def volumes(settings: OpenTelemetry) -> list[Object]:
    """Configuration, history, and the token of the pod, which only the agent's container mounts."""
    return [
        {"name": "otlp-config", "configMap": {"name": NAME}},
        {"name": "otlp-data", "emptyDir": {"sizeLimit": settings.storage}},
        {
            "name": "account",
            "projected": {
                "sources": [
                    {"serviceAccountToken": {"path": "token"}},
                    {
                        "configMap": {
                            "name": "kube-root-ca.crt",
                            "items": [{"key": "ca.crt", "path": "ca.crt"}],
                        }
                    },
                    {
                        "downwardAPI": {
                            "items": [
                                {
                                    "path": "namespace",
                                    "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                                }
                            ]
                        }
                    },
                ]
            },
        },
    ]


def account_mount() -> Object:
    """Where Kubernetes would mount the token of the pod's account into every container."""
    return {"name": "account", "mountPath": _ACCOUNT_DIR, "readOnly": True}


def service() -> Object:
    """What collectors push to: http://gitops-dsf-otlp.dynamic-scoring.svc:9090/api/v1/otlp."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(name=NAME, namespace=AGENT_NAMESPACE),
        "spec": {
            "selector": {"app.kubernetes.io/name": ADDON_NAME},
            "ports": [{"name": PORT_NAME, "port": RECEIVER_PORT, "targetPort": PORT_NAME}],
        },
    }


def ingress(settings: OpenTelemetry) -> Object:
    """The rule of the agent's NetworkPolicy: who may push. The agent itself asks over loopback."""
    return {
        "from": [
            {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "podSelector": {"matchLabels": {PUSHES_LABEL: "true"}},
            }
            for namespace in settings.collector_namespaces
        ],
        "ports": [{"port": RECEIVER_PORT, "protocol": "TCP"}],
    }
