"""The Deployment on the hub that runs scorers with runsOn: Hub, its rights, and the policies that narrow
them.

It is part of rendered/reconciler, which always exists: Argo CD deletes what is no longer rendered there when
the last scorer leaves the hub.
"""

from collections.abc import Iterator
from typing import Final

from dsf_wire import clusters, summary
from dsf_wire.constants import CLUSTERS_KEY, CONFIGMAP_KEY, SUSPENDED_CONFIGMAP
from dsf_wire.text import printable_json
from gitops_dsf.hub.names import HUB_SCORER
from gitops_dsf.plan.types import Configuration, HubScoring, Plan
from gitops_dsf.render.admission import score_policies
from gitops_dsf.render.agent import HUB_ROLE
from gitops_dsf.render.containers import pod_values
from gitops_dsf.render.egress import egress_policy
from gitops_dsf.render.objects import Object, Wave, filled
from gitops_dsf.render.rbac import account, account_subject, role, role_binding, rule
from gitops_dsf.render.scraping import metrics_service, service_monitor
from gitops_dsf.repository.model.repository import FleetRepository

NAME: Final = HUB_SCORER
LABELS: Final = {"app.kubernetes.io/name": NAME}


def hub_scorer(plan: Plan) -> Iterator[Object]:
    """Its objects outside of the clusters' namespaces; none if no scorer runs on the hub."""
    scoring = plan.hub_scoring
    if scoring is None:
        return
    yield account(NAME, namespace=plan.resolved.repository.spec.hub_namespace)
    yield from score_policies(plan, of_agents=False)
    yield from _rights(plan.resolved.repository, scoring.configuration)
    yield from _workload(plan.resolved.repository, scoring)


def cluster_rights(cluster: str, repository: FleetRepository) -> Object:
    """Its rights in the namespace of one cluster: those of an agent. Every cluster of the fleet has them,
    because the hub scorer deletes the score of a cluster that no scorer selects any more.
    """
    subject = account_subject(NAME, namespace=repository.spec.hub_namespace)
    return role_binding(NAME, subject, namespace=cluster, cluster_role=HUB_ROLE)


def configuration(scoring: HubScoring) -> dict[str, str]:
    """The data of its ConfigMap."""
    return {
        CONFIGMAP_KEY: printable_json(summary.encode(list(scoring.configuration.summaries))),
        CLUSTERS_KEY: printable_json(clusters.encode(scoring.clusters)),
    }


def _rights(repository: FleetRepository, configuration: Configuration) -> Iterator[Object]:
    """Its rights in the hub namespace: to read single objects by name."""
    namespace = repository.spec.hub_namespace
    named = [("configmaps", (SUSPENDED_CONFIGMAP, *configuration.config_maps))]
    if configuration.secrets:
        named.append(("secrets", configuration.secrets))
    rules = [rule("", resource, verbs=("get",), names=names) for resource, names in named]
    yield role(NAME, rules, namespace=namespace, wave=Wave.ADDON)
    yield role_binding(NAME, account_subject(NAME, namespace=namespace), namespace=namespace, wave=Wave.ADDON)


def _workload(repository: FleetRepository, scoring: HubScoring) -> Iterator[Object]:
    """ConfigMap, NetworkPolicies, Service and Deployment."""
    namespace, settings = repository.spec.hub_namespace, repository.spec.hub_scorer
    yield from filled(
        "hub-scorer.yaml",
        namespace=namespace,
        configuration=configuration(scoring),
        log_format=settings.log_format,
        **pod_values(settings, image=settings.image or repository.spec.agent.image),
    )
    if scoring.configuration.egress is not None:
        yield egress_policy(
            scoring.configuration.summaries,
            scoring.configuration.egress,
            name=f"{NAME}-egress",
            namespace=namespace,
            app=NAME,
        )
    yield metrics_service(name=NAME, namespace=namespace, labels=LABELS)
    if repository.spec.reconciler.monitoring.service_monitor:
        yield service_monitor(name=NAME, namespace=namespace, labels=LABELS)
