"""The Deployment on the hub that runs scorers with `runsOn: Hub`, with its rights and policies.

It is part of rendered/reconciler, which always exists: Argo CD deletes objects there that are no
longer rendered when the last scorer leaves the hub.
"""

from collections.abc import Iterator
from typing import Final

from dsf_wire import clusters, summary
from dsf_wire.constants import CLUSTERS_KEY, CONFIGMAP_KEY
from dsf_wire.text import printable_json
from gitops_dsf.hub.names import HUB_SCORER
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.plan.works import HubScoring
from gitops_dsf.render.admission import score_policies
from gitops_dsf.render.egress import egress_policy
from gitops_dsf.render.objects import Object, filled, pod_values
from gitops_dsf.render.works import readers_of
from gitops_dsf.repository.model.repository import FleetRepository

NAME: Final = HUB_SCORER


def hub_scorer(fleet: CheckedFleet) -> Iterator[Object]:
    """The objects outside the clusters' namespaces; none if no scorer runs on the hub."""
    scoring = fleet.hub_scoring
    if scoring is None:
        return
    yield from score_policies(fleet, of_agents=False)
    yield from _workload(fleet.repository, scoring)


def cluster_rights(cluster: str, repository: FleetRepository) -> Object:
    """The hub scorer's rights in each cluster's namespace.

    It also deletes the scores of clusters that no scorer selects any more, so it has them for all
    clusters.
    """
    [binding] = filled(
        "hub-scorer-cluster.yaml", cluster=cluster, namespace=repository.spec.hub_namespace
    )
    return binding


def configuration(scoring: HubScoring) -> dict[str, str]:
    """The data of its ConfigMap."""
    return {
        CONFIGMAP_KEY: printable_json(summary.encode(list(scoring.configuration.summaries))),
        CLUSTERS_KEY: printable_json(clusters.encode(scoring.clusters)),
    }


def _workload(repository: FleetRepository, scoring: HubScoring) -> Iterator[Object]:
    namespace = repository.spec.hub_namespace
    settings = repository.spec.hub_scorer
    running = scoring.configuration
    # Secrets before ConfigMaps in a work, and the other way round here: each is as it was first
    # rendered, because another order would change every fleet's files.
    yield from filled(
        "hub-scorer.yaml",
        namespace=namespace,
        rules=list(reversed(readers_of(running))),
        configuration=configuration(scoring),
        log_format=settings.log_format,
        **pod_values(settings, image=settings.image or repository.spec.agent.image),
    )
    if running.egress is not None:
        yield egress_policy(running.summaries, running.egress, namespace=namespace, app=NAME)
    if repository.spec.reconciler.monitoring.service_monitor:
        yield from filled("service-monitor.yaml", name=NAME, namespace=namespace)
