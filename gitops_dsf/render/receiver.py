"""Prometheus as a receiver for OpenTelemetry metrics, in the pod of the agent.

The container is in the add-on's template, its configuration in the ManifestWork of each cluster, so
that a scorer that needs more history does not restart the agent. Prometheus reads a changed file by
itself.

The container is a sidecar, an init container with restartPolicy Always. OCM mounts the agent's hub
credentials into every container of a Deployment, and into no init container
(docs/contributing/behaviour.md#what-a-template-may-contain).
"""

from typing import Final

from dsf_wire.constants import AGENT_NAMESPACE
from gitops_dsf.canonicalyaml import emit
from gitops_dsf.plan.configurations import Receiver
from gitops_dsf.render.objects import Object, config_map, filled, prometheus_log_format
from gitops_dsf.repository.model.agent import Agent, OpenTelemetry
from gitops_dsf.repository.model.pods import mebibytes

NAME: Final = "gitops-dsf-otlp"
"""The name of the Service that collectors push to, and of the ConfigMap."""
PUSHES_LABEL: Final = "gitops-dsf.io/pushes-metrics"
"""Label of pods that may push."""
CONFIG_FILE: Final = "prometheus.yml"

# Prometheus uses a sample for an instant up to this long (its --query.lookback-delta).
_LOOKBACK_SECONDS: Final = 300

_HOUR: Final = 3600

# Prometheus keeps the newest two to three hours in memory anyway.
_MIN_HOURS: Final = 2

# Above this share of the memory limit the Go runtime collects garbage more often. The rest is for
# pages of the history that are read from the disk, and for peaks.
_HEAP_SHARE: Final = 0.6

# Above this share of the volume Prometheus deletes the oldest blocks. The rest is for blocks that
# are being written: the kubelet evicts a pod, the agent included, that exceeds the volume's size.
_HISTORY_SHARE: Final = 0.6


def configuration(receiver: Receiver) -> Object:
    """The ConfigMap with the configuration file of Prometheus."""
    [file] = filled(
        "receiver-config.yaml",
        hours=_retention_hours(receiver.history_seconds),
        megabytes=int(mebibytes(receiver.settings.storage) * _HISTORY_SHARE),
        attributes=receiver.settings.resource_attributes,
    )
    return config_map(NAME, {CONFIG_FILE: emit(file)}, namespace=AGENT_NAMESPACE)


def _retention_hours(history_seconds: int) -> int:
    """Whole hours, so that few edits change the file; an hour more than the scorers need."""
    needed = history_seconds + _LOOKBACK_SECONDS
    hours = -(-needed // _HOUR)
    return max(_MIN_HOURS, hours + 1)


def pod_values(settings: OpenTelemetry | None, agent: Agent) -> Object:
    """The values that the receiver adds to the manifest of the agent; empty without one."""
    if settings is None:
        names = ("receiver_containers", "receiver_volumes", "receiver_ingress", "account_mount")
        return dict.fromkeys((*names, "mounts_token"))
    [values] = filled(
        "receiver-pod.yaml",
        image=settings.image,
        pull_policy=agent.image_pull_policy,
        log_format=prometheus_log_format(agent),
        memory_limit=f"{int(mebibytes(settings.memory) * _HEAP_SHARE)}MiB",
        cpu=settings.cpu,
        memory=settings.memory,
        storage=settings.storage,
        user=settings.run_as_user,
        peers=list(map(_peer, settings.collector_namespaces)),
    )
    return values


def _peer(namespace: str) -> Object:
    """Pods of a namespace that may push, as a peer of a NetworkPolicy."""
    return {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "podSelector": {"matchLabels": {PUSHES_LABEL: "true"}},
    }
