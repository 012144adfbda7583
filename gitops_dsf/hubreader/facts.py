"""Reads the objects that the checks of `doctor` need. Only the metadata of Secrets is requested."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import yaml

from dsf_wire.constants import ADDON_NAME
from gitops_dsf.errors import HubError
from gitops_dsf.hub.delivery import UPSTREAM_ADDON
from gitops_dsf.hub.multikueue import KUEUE_NAMESPACE, any_orders_jobs
from gitops_dsf.hub.names import PART_OF_LABEL, POD_LABEL, RECONCILER, WORK_NAME
from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.resources import (
    ADDON_GROUP,
    ADDONS,
    ADMISSION_CHECKS,
    APPLICATIONS,
    DEFINITIONS,
    GITOPS_CLUSTERS,
    MULTICLUSTERHUBS,
    MULTIKUEUE_CLUSTERS,
    SCORES,
    SCORING_CONFIGS,
    Resource,
)
from gitops_dsf.hub.scorerdefinition import SCORER_CRD
from gitops_dsf.hub.unread import Unread, Why
from gitops_dsf.hubreader.hub import HubClient, JsonObject, whole
from gitops_dsf.hubreader.inputs import read_inputs
from gitops_dsf.views.doctor.checks.argocdagent import PARAMETERS as AGENT_PARAMETERS
from gitops_dsf.views.doctor.checks.argocdagent import argocd_agent_of
from gitops_dsf.views.doctor.checks.kueue import SETTINGS as KUEUE_SETTINGS
from gitops_dsf.views.doctor.checks.kueue import SETTINGS_KEY as KUEUE_SETTINGS_KEY
from gitops_dsf.views.doctor.checks.ocm import NAMESPACE as OCM_NAMESPACE
from gitops_dsf.views.doctor.checks.upstream import (
    UPSTREAM_LABELS,
    UPSTREAM_WORK,
)
from gitops_dsf.views.doctor.facts import DoctorFacts, FactSource
from gitops_dsf.views.status.build import Overview, build

_Contents = tuple[JsonObject, ...] | Unread
_KUEUE_LABEL = "app.kubernetes.io/name=kueue,control-plane=controller-manager"
"""Labels of Kueue's Deployment, by its manifests and by its chart (0.19.2)."""
_CLUSTER_SECRET = "argocd.argoproj.io/secret-type=cluster"  # noqa: S105 - a label


def read_facts(
    *, context: str, kubeconfig: Path | None, hub_namespace: str, argocd_namespace: str
) -> DoctorFacts:
    """Reads a hub. Raises HubError when the hub does not answer, or is not a hub."""
    file_options = ("--kubeconfig", str(kubeconfig)) if kubeconfig else ()
    with HubClient(context=context, kubeconfig=kubeconfig) as hub:
        # Every check depends on which kinds the hub serves.
        groups = hub.groups()
        if isinstance(groups, Unread):
            raise HubError(f"context {context}: {groups}")
        inputs = read_inputs(
            hub, hub_namespace=hub_namespace, argocd_namespace=argocd_namespace, owners=True
        )
        sources = dict(_of_ocm(hub))
        sources |= _of_argocd(hub, argocd_namespace)
        sources |= _of_reconciler(hub, hub_namespace)
        sources |= _of_kueue(hub, inputs.placements)
        overview = build(inputs)
        sources[FactSource.EXTERNAL_SCORES] = _of_add_ons(hub, overview)
        return DoctorFacts(
            kubectl=("kubectl", *file_options, "--context", context),
            hub_namespace=hub_namespace,
            argocd_namespace=argocd_namespace,
            groups=groups,
            clock_offset=hub.clock_offset,
            inputs=inputs,
            overview=overview,
            sources=sources,
        )


def _of_ocm(hub: HubClient) -> Iterator[tuple[FactSource, _Contents]]:
    """The objects of OCM, its add-ons and the upstream add-on on the hub."""
    deployments = Resource(group="apps", plural="deployments")
    managers = Resource(group="operator.open-cluster-management.io", plural="clustermanagers")
    # OCM that was installed without its operator has no ClusterManager.
    yield FactSource.CLUSTER_MANAGERS, _if_served(hub.read(managers, whole))
    yield FactSource.OCM_DEPLOYMENTS, hub.read(deployments.within(OCM_NAMESPACE), whole)
    definitions = Resource(group=ADDON_GROUP, version="v1alpha1", plural="clustermanagementaddons")
    yield FactSource.ADDON_DEFINITIONS, hub.read(definitions, whole)
    yield FactSource.ADDON_STATES, hub.read(ADDONS, whole, name=ADDON_NAME)
    works = Resource(group="work.open-cluster-management.io", plural="manifestworks")
    # A work may have 500 kB of manifests for each cluster, so only the metadata is read.
    yield FactSource.OUR_WORKS, hub.read(works, whole, name=WORK_NAME, metadata_only=True)
    yield FactSource.UPSTREAM_WORKS, hub.read(works, whole, name=UPSTREAM_WORK, metadata_only=True)
    yield FactSource.UPSTREAM_ADDON_STATES, hub.read(ADDONS, whole, name=UPSTREAM_ADDON)
    # Only hubs with Red Hat Advanced Cluster Management serve it.
    yield FactSource.MULTICLUSTERHUBS, _if_served(hub.read(MULTICLUSTERHUBS, whole))
    yield FactSource.UPSTREAM_DEPLOYMENTS, _with_any_label(hub, deployments, UPSTREAM_LABELS)
    yield FactSource.SCORER_DEFINITION, _one(hub.find(DEFINITIONS, SCORER_CRD))
    yield FactSource.SCORING_CONFIGS, _if_served(hub.read(SCORING_CONFIGS, whole))


def _of_argocd(hub: HubClient, namespace: str) -> Iterator[tuple[FactSource, _Contents]]:
    """The programs, settings, Applications and cluster Secrets of Argo CD.

    Without a cluster of an argocd-agent its settings are not read.
    """
    deployments = Resource(group="apps", plural="deployments", namespace=namespace)
    yield FactSource.ARGOCD_DEPLOYMENTS, hub.read(deployments, whole)
    statefulsets = Resource(group="apps", plural="statefulsets", namespace=namespace)
    yield FactSource.ARGOCD_STATEFULSETS, hub.read(statefulsets, whole)
    configmaps = Resource(plural="configmaps", namespace=namespace)
    yield FactSource.ARGOCD_SETTINGS, _one(hub.find(configmaps, "argocd-cm"))
    yield FactSource.ARGOCD_PARAMETERS, _one(hub.find(configmaps, "argocd-cmd-params-cm"))
    applications = APPLICATIONS.within(namespace)
    yield FactSource.DELIVERY, hub.read(applications, whole, labels=f"{PART_OF_LABEL}=gitops-dsf")
    secrets = Resource(plural="secrets", namespace=namespace)
    cluster_secrets = hub.read(secrets, whole, labels=_CLUSTER_SECRET, metadata_only=True)
    yield FactSource.GITOPS_CLUSTERS, _if_served(hub.read(GITOPS_CLUSTERS, whole))
    # Their data has the credentials of clusters, which no check needs.
    yield FactSource.CLUSTER_SECRETS, cluster_secrets
    parameters: _Contents = ()
    reported: _Contents = ()
    if not isinstance(cluster_secrets, Unread) and any(map(argocd_agent_of, cluster_secrets)):
        parameters = _one(hub.find(configmaps, AGENT_PARAMETERS))
        reported = hub.read(applications, _compared)
    yield FactSource.AGENT_PARAMETERS, parameters
    yield FactSource.AGENT_APPLICATIONS, reported


def _compared(raw: msgspec.Raw) -> JsonObject:
    """The destination of an Application, and the time when Argo CD compared it last."""
    application = whole(raw)
    destination = (application.get("spec") or {}).get("destination")
    status = application.get("status") or {}
    # Their resources and history are most of a hub with thousands of Applications.
    return {
        "metadata": {"name": application["metadata"]["name"]},
        "spec": {"destination": destination or {}},
        "status": {"reconciledAt": status.get("reconciledAt")},
    }


def _of_reconciler(hub: HubClient, namespace: str) -> Iterator[tuple[FactSource, _Contents]]:
    """The Lease and the pods of the reconciler."""
    leases = Resource(group="coordination.k8s.io", plural="leases", namespace=namespace)
    yield FactSource.LEASES, _one(hub.find(leases, RECONCILER))
    pods = Resource(plural="pods", namespace=namespace)
    yield FactSource.RECONCILER_PODS, hub.read(pods, whole, labels=POD_LABEL)


def _of_kueue(
    hub: HubClient, placements: Iterable[Placement]
) -> Iterator[tuple[FactSource, _Contents]]:
    """Kueue, its settings, and what jobs need of it; nothing if no Placement orders jobs."""
    sources: dict[FactSource, _Contents] = {
        FactSource.KUEUE_DEPLOYMENTS: (),
        FactSource.KUEUE_SETTINGS: (),
        FactSource.MULTIKUEUE_CLUSTERS: (),
        FactSource.ADMISSION_CHECKS: (),
    }
    # Whoever orders no jobs may have no Kueue, and need not have rights in its namespace.
    if any_orders_jobs(placements):
        deployments = Resource(group="apps", plural="deployments", namespace=KUEUE_NAMESPACE)
        configmaps = Resource(plural="configmaps", namespace=KUEUE_NAMESPACE)
        settings = _one(hub.find(configmaps, KUEUE_SETTINGS))
        sources = {
            FactSource.KUEUE_DEPLOYMENTS: hub.read(deployments, whole, labels=_KUEUE_LABEL),
            FactSource.KUEUE_SETTINGS: _with_parsed_settings(settings),
            FactSource.MULTIKUEUE_CLUSTERS: hub.read(MULTIKUEUE_CLUSTERS, whole),
            FactSource.ADMISSION_CHECKS: hub.read(ADMISSION_CHECKS, whole),
        }
    yield from sources.items()


def _of_add_ons(hub: HubClient, overview: Overview) -> _Contents:
    """The metadata of the scores that rank and that no scorer publishes: who wrote them, and when.

    Only these names are read, because managedFields cost more than all the rest.
    """
    objects: tuple[JsonObject, ...] = ()
    for resource in sorted({resource for resource, _ in overview.external_scores}):
        contents = hub.read(SCORES, whole, name=resource, metadata_only=True)
        if isinstance(contents, Unread):
            return contents
        objects += contents
    return objects


def _with_parsed_settings(settings: _Contents) -> _Contents:
    """The ConfigMap of Kueue with its configuration as data; as it is if it cannot be read."""
    if isinstance(settings, Unread) or not settings:
        return settings
    [configmap] = settings
    data = configmap.get("data") or {}
    try:
        configuration = yaml.safe_load(data.get(KUEUE_SETTINGS_KEY) or "")
    except (yaml.YAMLError, RecursionError):
        return settings
    return ({**configmap, "data": {**data, KUEUE_SETTINGS_KEY: configuration}},)


def _with_any_label(hub: HubClient, resource: Resource, labels: tuple[str, ...]) -> _Contents:
    """The objects with one of these labels. One request cannot ask for labels of several keys."""
    objects: tuple[JsonObject, ...] = ()
    for label in labels:
        contents = hub.read(resource, whole, labels=label)
        if isinstance(contents, Unread):
            return contents
        objects += contents
    return objects


def _one(content: JsonObject | Unread | None) -> _Contents:
    if isinstance(content, Unread):
        return content
    return () if content is None else (content,)


def _if_served(contents: _Contents) -> _Contents:
    """A kind that the hub does not serve has no objects."""
    if isinstance(contents, Unread) and contents.why is Why.NOT_INSTALLED:
        return ()
    return contents
