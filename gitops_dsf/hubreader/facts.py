"""Reads the objects that the checks of `doctor` need. Only the metadata of Secrets is requested."""

from collections.abc import Iterator
from pathlib import Path

from dsf_wire.constants import ADDON_NAME
from gitops_dsf.errors import HubError
from gitops_dsf.hub.names import PART_OF_LABEL, POD_LABEL, RECONCILER, WORK_NAME
from gitops_dsf.hub.resources import ADDON_GROUP, ADDONS, APPLICATIONS, SCORING_CONFIGS, Resource
from gitops_dsf.hub.unread import Unread, Why
from gitops_dsf.hubreader.hub import HubClient, JsonObject, whole
from gitops_dsf.hubreader.inputs import read_inputs
from gitops_dsf.views.doctor.checks.ocm import NAMESPACE as OCM_NAMESPACE
from gitops_dsf.views.doctor.checks.upstream import UPSTREAM_LABELS, UPSTREAM_WORK
from gitops_dsf.views.doctor.facts import DoctorFacts, FactSource
from gitops_dsf.views.status.build import build


def read_facts(
    *, context: str, kubeconfig: Path | None, hub_namespace: str, argocd_namespace: str
) -> DoctorFacts:
    """Reads a hub. Raises HubError when the hub does not answer, or is no hub."""
    with HubClient(context=context, kubeconfig=kubeconfig) as reader:
        groups = reader.groups()
        if isinstance(groups, Unread):
            raise HubError(f"context {context}: {groups}")
        inputs = read_inputs(
            reader, hub_namespace=hub_namespace, argocd_namespace=argocd_namespace, owners=True
        )
        file = ("--kubeconfig", str(kubeconfig)) if kubeconfig else ()
        return DoctorFacts(
            kubectl=("kubectl", *file, "--context", context),
            hub_namespace=hub_namespace,
            argocd_namespace=argocd_namespace,
            groups=groups,
            clock_offset=reader.clock_offset,
            inputs=inputs,
            overview=build(inputs),
            sources=dict(_sources(reader, hub_namespace, argocd_namespace)),
        )


_Read = tuple[JsonObject, ...] | Unread


def _sources(
    hub: HubClient, hub_namespace: str, argocd_namespace: str
) -> Iterator[tuple[FactSource, _Read]]:
    """What could be read, and what could not."""
    deployments = Resource(group="apps", plural="deployments")
    in_argocd, of_ocm = deployments.within(argocd_namespace), deployments.within(OCM_NAMESPACE)
    managers = Resource(group="operator.open-cluster-management.io", plural="clustermanagers")
    # OCM that was installed without its operator has no ClusterManager.
    yield FactSource.CLUSTER_MANAGERS, _present(hub.read(managers, whole))
    yield FactSource.OCM_DEPLOYMENTS, hub.read(of_ocm, whole)
    definitions = Resource(group=ADDON_GROUP, version="v1alpha1", plural="clustermanagementaddons")
    yield FactSource.ADDON_DEFINITIONS, hub.read(definitions, whole)
    yield FactSource.ADDON_STATES, hub.read(ADDONS, whole, name=ADDON_NAME)
    works = Resource(group="work.open-cluster-management.io", plural="manifestworks")
    yield FactSource.OUR_WORKS, hub.read(works, whole, name=WORK_NAME, metadata_only=True)
    yield FactSource.UPSTREAM_WORKS, hub.read(works, whole, name=UPSTREAM_WORK, metadata_only=True)
    first, second = (hub.read(deployments, whole, labels=label) for label in UPSTREAM_LABELS)
    both = (
        first
        if isinstance(first, Unread)
        else second
        if isinstance(second, Unread)
        else first + second
    )
    yield FactSource.UPSTREAM_DEPLOYMENTS, both
    yield FactSource.SCORING_CONFIGS, _present(hub.read(SCORING_CONFIGS, whole))
    yield FactSource.ARGOCD_DEPLOYMENTS, hub.read(in_argocd, whole)
    statefulsets = Resource(group="apps", plural="statefulsets", namespace=argocd_namespace)
    yield FactSource.ARGOCD_STATEFULSETS, hub.read(statefulsets, whole)
    maps = Resource(plural="configmaps", namespace=argocd_namespace)
    yield FactSource.ARGOCD_SETTINGS, _one(hub.find(maps, "argocd-cm"))
    yield FactSource.ARGOCD_PARAMETERS, _one(hub.find(maps, "argocd-cmd-params-cm"))
    applications = APPLICATIONS.within(argocd_namespace)
    yield FactSource.DELIVERY, hub.read(applications, whole, labels=f"{PART_OF_LABEL}=gitops-dsf")
    secrets = Resource(plural="secrets", namespace=argocd_namespace)
    label = "argocd.argoproj.io/secret-type=cluster"
    yield FactSource.CLUSTER_SECRETS, hub.read(secrets, whole, labels=label, metadata_only=True)
    leases = Resource(group="coordination.k8s.io", plural="leases", namespace=hub_namespace)
    yield FactSource.LEASES, _one(hub.find(leases, RECONCILER))
    pods = Resource(plural="pods", namespace=hub_namespace)
    yield FactSource.RECONCILER_PODS, hub.read(pods, whole, labels=POD_LABEL)


def _one(item: JsonObject | Unread | None) -> _Read:
    return item if isinstance(item, Unread) else () if item is None else (item,)


def _present(items: _Read) -> _Read:
    """A kind that the hub does not serve has no objects."""
    return () if isinstance(items, Unread) and items.why is Why.NOT_INSTALLED else items
