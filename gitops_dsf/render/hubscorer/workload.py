"""The hub scorer's pod, its configuration and what stands around them."""

from collections.abc import Iterator

from dsf_wire import clusters, summary
from dsf_wire.constants import CLUSTERS_KEY, CONFIGMAP_KEY
from dsf_wire.text import printable_json
from gitops_dsf.plan.types import HubScoring
from gitops_dsf.render.containers import (
    CONFIG_DIR,
    agent_container,
    agent_volumes,
    pod_security,
    pull_secrets,
)
from gitops_dsf.render.egress import egress_policy
from gitops_dsf.render.hubscorer.names import LABELS, NAME
from gitops_dsf.render.objects import Object, Wave, metadata, network_policy
from gitops_dsf.render.scraping import metrics_ingress, metrics_service, service_monitor
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
    # The central store and scoring APIs may be anywhere; only the metrics port is open inwards.
    yield network_policy(name=NAME, namespace=namespace, labels=LABELS, ingress=[metrics_ingress()])
    egress = scoring.configuration.egress
    if egress is not None:
        yield egress_policy(
            scoring.configuration.summaries,
            egress,
            name=f"{NAME}-egress",
            namespace=namespace,
            app=NAME,
        )
    yield metrics_service(name=NAME, namespace=namespace, labels=LABELS)
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
                    "securityContext": pod_security(),
                    **pull_secrets(settings.image_pull_secrets),
                    "containers": [_container(repository)],
                    "volumes": agent_volumes({"name": NAME}),
                },
            },
        },
    }


def _container(repository: FleetRepository) -> Object:
    namespace, settings = repository.spec.hub_namespace, repository.spec.hub_scorer
    return agent_container(
        settings,
        image=settings.image or repository.spec.agent.image,
        name="hub-scorer",
        arguments=[
            "--clusters",
            f"{CONFIG_DIR}/{CLUSTERS_KEY}",
            "--publish",
            "hub",
            "--hub-namespace",
            namespace,
            "--install-namespace",
            namespace,
        ],
    )
