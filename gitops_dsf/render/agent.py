"""The add-on that installs the agent: its template, definition, settings and hub rights.

Plain YAML of v1alpha1 with installStrategy Manual
(docs/contributing/behaviour.md#install-strategy). This is the only place that says how the agent
runs on a managed cluster.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from dsf_wire.constants import ADDON_NAME, AGENT_NAMESPACE
from gitops_dsf.hub.names import OCM_PULL_SECRET, OCM_PULL_SECRET_LABEL
from gitops_dsf.plan.works import AddOnParts
from gitops_dsf.render import receiver, remotewrite
from gitops_dsf.render.objects import Object, Wave, filled, metadata, pod_values
from gitops_dsf.repository.model.agent import OpenTelemetry
from gitops_dsf.repository.model.repository import FleetRepository
from gitops_dsf.resolve.rollout import settings_with

ORPHAN = "addon.open-cluster-management.io/deletion-orphan"
ADDON_API = "addon.open-cluster-management.io/v1alpha1"
_DIGEST = re.compile(rf"{ADDON_NAME}-[0-9a-f]{{10}}")
"""Name of the default template."""


def default_parts(repository: FleetRepository) -> AddOnParts:
    """The parts that the default template installs.

    Clusters with other parts name a template of their own.
    """
    monitor = repository.spec.agent.service_monitor
    writing = repository.spec.agent.remote_write
    return AddOnParts(
        service_monitor=monitor is not None and monitor.cluster_selector is None,
        remote_write=writing is not None and writing.cluster_selector is None,
    )


def template_of(parts: AddOnParts, repository: FleetRepository) -> str | None:
    """The AddOnTemplate that a ManagedClusterAddOn has to name; None for the default.

    The name does not change with the content: Argo CD applies templates and ManagedClusterAddOns in
    different Applications, so a new name could be missing on the hub for a while. OCM rolls out a
    changed template of the same name, too.
    """
    if parts == default_parts(repository):
        return None
    suffixes: list[str] = []
    if parts.receiver:
        suffixes.append("otlp")
    if parts.service_monitor:
        suffixes.append("servicemonitor")
    if parts.remote_write:
        suffixes.append("remotewrite")
    if parts.rollout:
        suffixes.append("rollout")
        suffixes += [str(index + 1) for index in parts.rollout]
    return "-".join((ADDON_NAME, *(suffixes or ["plain"])))


def file_stem(template: Object) -> str:
    """The name of a template's file, which does not change with the content of the template."""
    name = str(template["metadata"]["name"])
    if _DIGEST.fullmatch(name):
        return ADDON_NAME
    return name


def addon(repository: FleetRepository, parts_in_use: Iterable[AddOnParts]) -> Iterator[Object]:
    """The add-on's objects.

    The default template is named by its content, so that an edit rolls out.
    """
    spec = _template_spec(repository, default_parts(repository))
    digest = hashlib.sha256(msgspec.json.encode(spec, order="deterministic")).hexdigest()[:10]
    template = f"{ADDON_NAME}-{digest}"
    namespace = repository.spec.hub_namespace
    yield _template(template, spec)
    for parts in sorted(set(parts_in_use)):
        name = template_of(parts, repository)
        if name is not None:
            yield _template(name, _template_spec(repository, parts))
    proxy: Object | None = None
    if repository.spec.agent.proxy is not None:
        proxy = repository.spec.agent.proxy.model_dump(by_alias=True, exclude_defaults=True)
    yield from filled("addon.yaml", namespace=namespace, template=template, proxy=proxy)


def _template(name: str, spec: Object) -> Object:
    return {
        "apiVersion": ADDON_API,
        "kind": "AddOnTemplate",
        "metadata": metadata(name=name, wave=Wave.ADDON),
        "spec": spec,
    }


def _template_spec(repository: FleetRepository, parts: AddOnParts) -> Object:
    agent = settings_with(repository.spec.agent, parts.rollout)
    receiving: OpenTelemetry | None = None
    if parts.receiver:
        receiving = agent.open_telemetry
    manifests = filled(
        "agent.yaml",
        log_format=agent.log_format,
        **pod_values(agent, image=agent.image),
        **receiver.pod_values(receiving, agent),
    )
    if receiving is not None:
        manifests += filled("receiver.yaml")
    monitor = agent.service_monitor
    if parts.service_monitor and monitor is not None:
        manifests += filled("agent-monitor.yaml", labels=monitor.labels, interval=monitor.interval)
    if parts.remote_write and agent.remote_write is not None:
        manifests += remotewrite.manifests(agent.remote_write, agent)
    return {
        "addonName": ADDON_NAME,
        "agentSpec": {
            "workload": {"manifests": [_namespace(agent.image_pull_secrets), *manifests]}
        },
        # An identity and a kubeconfig for it, and no hubPermissions: see manifests/cluster.yaml.
        "registration": [{"type": "KubeClient", "kubeClient": {"hubPermissions": []}}],
    }


def _namespace(pull_secrets: Sequence[str]) -> Object:
    # People's Secrets with tokens are in the namespace, so it outlives everything of ours.
    namespace: Object = {"name": AGENT_NAMESPACE, "annotations": {ORPHAN: ""}}
    if OCM_PULL_SECRET in pull_secrets:
        # OCM copies its pull secret there (docs/contributing/behaviour.md#secrets-of-an-add-on).
        namespace["labels"] = {OCM_PULL_SECRET_LABEL: "true"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": namespace}
