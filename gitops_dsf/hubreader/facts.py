"""Reads the objects that the checks of `doctor` need. Only the metadata of Secrets is requested."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from dsf_wire.constants import ADDON_NAME
from gitops_dsf.errors import HubError
from gitops_dsf.hub.resources import (
    ADDON_GROUP,
    ADDONS,
    APPLICATIONS,
    SCORING_CONFIGS,
    Resource,
)
from gitops_dsf.hub.unread import Unread, Why
from gitops_dsf.hubreader.hub import Hub, Object, whole
from gitops_dsf.hubreader.inputs import read_inputs
from gitops_dsf.render.objects import PART_OF_LABEL
from gitops_dsf.render.reconciler.names import NAME as RECONCILER
from gitops_dsf.render.reconciler.names import POD_LABEL
from gitops_dsf.render.works import WORK_NAME
from gitops_dsf.views.doctor import Facts, Source
from gitops_dsf.views.doctor.checks.argocd import BROKEN
from gitops_dsf.views.doctor.checks.ocm import NAMESPACE as OCM_NAMESPACE
from gitops_dsf.views.doctor.checks.upstream import DEPLOYMENT_LABELS
from gitops_dsf.views.doctor.checks.upstream import WORK as UPSTREAM_WORK
from gitops_dsf.views.status import build


def read_facts(
    *,
    context: str,
    kubeconfig: Path | None,
    hub_namespace: str,
    argocd_namespace: str,
) -> Facts:
    """Reads a hub. Raises HubError when the hub does not answer, or is no hub."""
    with Hub(context=context, kubeconfig=kubeconfig) as reader:
        groups = reader.groups()
        if isinstance(groups, Unread):
            msg = f"context {context}: {groups}"
            raise HubError(msg)
        inputs = read_inputs(
            reader, hub_namespace=hub_namespace, argocd_namespace=argocd_namespace, owners=True
        )
        found = _Found()
        _ocm(reader, found)
        _upstream(reader, found)
        _argocd(reader, found, argocd_namespace)
        leases = Resource(group="coordination.k8s.io", version="v1", plural="leases", namespace=hub_namespace)
        found.one(Source.LEASES, reader.find(leases, RECONCILER))
        pods = Resource(plural="pods", namespace=hub_namespace)
        found.many(Source.RECONCILER_PODS, reader.read(pods, whole, labels=POD_LABEL))
        return Facts(
            kubectl=(
                "kubectl",
                *(("--kubeconfig", str(kubeconfig)) if kubeconfig else ()),
                "--context",
                context,
            ),
            hub_namespace=hub_namespace,
            argocd_namespace=argocd_namespace,
            groups=groups,
            clock_offset=reader.clock_offset,
            inputs=inputs,
            overview=build(inputs),
            objects=found.objects,
            unread=found.unread,
        )


class _Found:
    """Collects what could be read, and what could not."""

    def __init__(self) -> None:
        self.objects: dict[Source, tuple[Object, ...]] = {}
        self.unread: dict[Source, Unread] = {}

    def many(self, source: Source, *parts: tuple[Object, ...] | Unread) -> None:
        """Reads a list, with one or several requests."""
        for part in parts:
            if isinstance(part, Unread):
                self.unread[source] = part
                return
        self.objects[source] = tuple(item for part in parts if not isinstance(part, Unread) for item in part)

    def one(self, source: Source, *parts: Object | Unread | None) -> None:
        """Reads one object, or a few by name."""
        self.many(
            source,
            *(part if isinstance(part, Unread) else (part,) if part is not None else () for part in parts),
        )


def _ocm(reader: Hub, found: _Found) -> None:
    managers = reader.read(
        Resource(group="operator.open-cluster-management.io", version="v1", plural="clustermanagers"), whole
    )
    # Without the operator, OCM has no ClusterManager. That is one way to install it, so it is not reported as
    # missing.
    found.many(Source.CLUSTER_MANAGERS, _present(managers))
    found.many(Source.OCM_DEPLOYMENTS, reader.read(_apps("deployments", OCM_NAMESPACE), whole))
    definitions = Resource(group=ADDON_GROUP, version="v1alpha1", plural="clustermanagementaddons")
    found.many(Source.ADDON_DEFINITIONS, reader.read(definitions, whole))
    found.many(Source.ADDON_STATES, reader.read(ADDONS, _conditions, name=ADDON_NAME))
    works = Resource(group="work.open-cluster-management.io", plural="manifestworks")
    found.many(Source.OUR_WORKS, reader.read(works, whole, name=WORK_NAME, metadata_only=True))
    found.many(Source.UPSTREAM_WORKS, reader.read(works, whole, name=UPSTREAM_WORK, metadata_only=True))


def _upstream(reader: Hub, found: _Found) -> None:
    found.many(
        Source.UPSTREAM_DEPLOYMENTS,
        *(reader.read(_apps("deployments"), whole, labels=label) for label in DEPLOYMENT_LABELS),
    )
    found.many(Source.SCORING_CONFIGS, _present(reader.read(SCORING_CONFIGS, whole)))


def _argocd(reader: Hub, found: _Found, namespace: str) -> None:
    found.many(Source.ARGOCD_DEPLOYMENTS, reader.read(_apps("deployments", namespace), whole))
    found.many(Source.ARGOCD_STATEFULSETS, reader.read(_apps("statefulsets", namespace), whole))
    maps = Resource(plural="configmaps", namespace=namespace)
    found.one(Source.ARGOCD_SETTINGS, reader.find(maps, "argocd-cm"))
    found.one(Source.ARGOCD_PARAMETERS, reader.find(maps, "argocd-cmd-params-cm"))
    found.many(
        Source.DELIVERY,
        reader.read(APPLICATIONS.within(namespace), _troubled, labels=f"{PART_OF_LABEL}=gitops-dsf"),
    )
    secrets = Resource(plural="secrets", namespace=namespace)
    label = "argocd.argoproj.io/secret-type=cluster"
    found.many(Source.CLUSTER_SECRETS, reader.read(secrets, whole, labels=label, metadata_only=True))


def _apps(plural: str, namespace: str | None = None) -> Resource:
    return Resource(group="apps", plural=plural, namespace=namespace)


def _present(items: tuple[Object, ...] | Unread) -> tuple[Object, ...] | Unread:
    """A kind that the hub does not serve has no objects."""
    return () if isinstance(items, Unread) and items.why is Why.NOT_INSTALLED else items


def _conditions(raw: msgspec.Raw) -> Object:
    """The name and conditions of an object."""
    item = whole(raw)
    metadata = item["metadata"]
    conditions: Iterable[Object] = (item.get("status") or {}).get("conditions") or ()
    return {
        "metadata": {key: metadata[key] for key in ("name", "namespace")},
        "status": {"conditions": list(conditions)},
    }


def _troubled(raw: msgspec.Raw) -> Object:
    """An Application without the objects that are as they should be, which are most of it."""
    item = whole(raw)
    status = item.get("status") or {}
    operation = status.get("operationState") or {}
    synced = (operation.get("syncResult") or {}).get("resources") or ()
    return {
        "metadata": {"name": item["metadata"]["name"]},
        "status": {
            "health": status.get("health") or {},
            "conditions": status.get("conditions") or [],
            "resources": [
                one
                for one in status.get("resources") or ()
                if one.get("status") != "Synced" or (one.get("health") or {}).get("status") in BROKEN
            ],
            "operationState": {
                **{key: operation[key] for key in ("phase", "message", "retryCount") if key in operation},
                "syncResult": {"resources": [one for one in synced if one.get("status") == "SyncFailed"]},
            },
        },
    }
