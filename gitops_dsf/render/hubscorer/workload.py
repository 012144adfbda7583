"""The hub scorer's pod, its configuration and what stands around them."""

from collections.abc import Iterator

from dsf_wire import clusters, summary
from dsf_wire.constants import CLUSTERS_KEY, CONFIGMAP_KEY
from gitops_dsf.canonicalyaml import printable_json
from gitops_dsf.plan.types import HubScoring
from gitops_dsf.render.containers import probes, security_context
from gitops_dsf.render.egress import egress_policy
from gitops_dsf.render.hubscorer.names import CONFIG_DIR, LABELS, METRICS_PORT, NAME
from gitops_dsf.render.objects import Object, Wave, metadata
from gitops_dsf.render.scraping import service_monitor
from gitops_dsf.repository.model.repository import FleetRepository


def configuration(scoring: HubScoring) -> dict[str, str]:
    """The data of its ConfigMap."""
    return {
        CONFIGMAP_KEY: printable_json(summary.encode(list(scoring.configuration.summaries))),
        CLUSTERS_KEY: printable_json(clusters.encode(scoring.clusters)),
    }


def workload(repository: FleetRepository, scoring: HubScoring) -> Iterator[Object]:
    """ConfigMap, NetworkPolicies, Service and Deployment."""
    namespace = repository.spec.hub_namespace
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(name=NAME, namespace=namespace, wave=Wave.ADDON),
        "data": configuration(scoring),
    }
    yield _network_policy(namespace)
    egress = scoring.configuration.egress
    if egress is not None:
        yield egress_policy(
            scoring.configuration.summaries,
            egress,
            name=f"{NAME}-egress",
            namespace=namespace,
            app=NAME,
        )
    yield {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(name=NAME, namespace=namespace, labels=LABELS),
        "spec": {
            "selector": dict(LABELS),
            "ports": [{"name": "metrics", "port": METRICS_PORT, "targetPort": "metrics"}],
        },
    }
    if repository.spec.reconciler.monitoring.service_monitor:
        yield service_monitor(name=NAME, namespace=namespace, labels=LABELS)
    yield _deployment(repository)


def _deployment(repository: FleetRepository) -> Object:
    settings = repository.spec.hub_scorer
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(name=NAME, namespace=repository.spec.hub_namespace, labels=LABELS),
        "spec": {
            "replicas": 1,
            # Two processes would publish against each other.
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": dict(LABELS)},
            "template": {
                "metadata": {"labels": dict(LABELS)},
                "spec": {
                    "serviceAccountName": NAME,
                    "automountServiceAccountToken": True,
                    "enableServiceLinks": False,
                    "nodeSelector": settings.node_selector,
                    "tolerations": settings.tolerations,
                    "terminationGracePeriodSeconds": 15,
                    "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
                    "containers": [_container(repository)],
                    "volumes": [
                        # The directory, never a subPath: the kubelet swaps the ..data link in it.
                        {"name": "config", "configMap": {"name": NAME}},
                        {"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}},
                    ],
                },
            },
        },
    }


def _container(repository: FleetRepository) -> Object:
    settings = repository.spec.hub_scorer
    namespace = repository.spec.hub_namespace
    return {
        "name": "hub-scorer",
        "image": settings.image,
        "imagePullPolicy": settings.image_pull_policy,
        "args": [
            "run",
            "--config-dir",
            CONFIG_DIR,
            "--clusters",
            f"{CONFIG_DIR}/{CLUSTERS_KEY}",
            "--publish",
            "hub",
            "--hub-namespace",
            namespace,
            "--install-namespace",
            namespace,
            "--metrics-address",
            f"0.0.0.0:{METRICS_PORT}",
            "--log-format",
            settings.log_format,
        ],
        "ports": [{"name": "metrics", "containerPort": METRICS_PORT}],
        **probes(),
        "resources": {"requests": settings.resources.requests, "limits": settings.resources.limits},
        "securityContext": security_context(),
        "volumeMounts": [
            {"name": "config", "mountPath": CONFIG_DIR, "readOnly": True},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108
        ],
    }


def _network_policy(namespace: str) -> Object:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(name=NAME, namespace=namespace),
        "spec": {
            "podSelector": {"matchLabels": dict(LABELS)},
            # The central store and scoring APIs may be anywhere; only the metrics port is open inwards.
            "policyTypes": ["Ingress"],
            "ingress": [{"ports": [{"port": METRICS_PORT, "protocol": "TCP"}]}],
        },
    }
