"""The add-on that installs the agent: template, definition, settings, and the hub rights it is given.

Plain YAML of v1alpha1 with installStrategy Manual (docs/contributing/ocm-behaviour.md#install-strategy). This
is the only place that says how the agent runs on a managed cluster.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from dsf_wire.constants import (
    ADDON_GROUP,
    ADDON_NAME,
    AGENT_NAMESPACE,
    CONFIGMAP_KEY,
    CONFIGMAP_NAME,
    SCORE_GROUP,
    SCORE_PLURAL,
    SUSPENDED_CONFIGMAP,
)
from gitops_dsf.hub.names import OCM_PULL_SECRET, OCM_PULL_SECRET_LABEL
from gitops_dsf.plan.types import AddOnParts
from gitops_dsf.render import receiver
from gitops_dsf.render.containers import agent_container, agent_volumes, pod_security, pull_secrets
from gitops_dsf.render.objects import OPERATOR_API, Object, Wave, metadata, network_policy
from gitops_dsf.render.rbac import group_subject, role, role_binding, rule
from gitops_dsf.render.scraping import metrics_ingress, metrics_service
from gitops_dsf.repository.model.repository import Agent, AgentServiceMonitor, FleetRepository, OpenTelemetry
from gitops_dsf.resolve.rollouts import settings_with

HUB_ROLE = "gitops-dsf:agent"
SUSPENDED_ROLE = "gitops-dsf-suspended-reader"
LABELS = {"app.kubernetes.io/name": ADDON_NAME}
ORPHAN = "addon.open-cluster-management.io/deletion-orphan"
ADDON_API = "addon.open-cluster-management.io/v1alpha1"
_DIGEST = re.compile(rf"{ADDON_NAME}-[0-9a-f]{{10}}")
"""Name of the default template."""


def hub_rights(repository: FleetRepository) -> Iterator[Object]:
    """What an agent may do in its own cluster's namespace (bound there, per cluster), and that all may read
    what is suspended.
    """
    yield role(
        HUB_ROLE,
        [
            rule(SCORE_GROUP, SCORE_PLURAL, verbs=("get", "list", "create", "patch", "delete")),
            rule(SCORE_GROUP, f"{SCORE_PLURAL}/status", verbs=("patch",)),
        ],
        wave=Wave.FOUNDATIONS,
    )
    namespace = repository.spec.hub_namespace
    suspended = rule("", "configmaps", verbs=("get",), names=(SUSPENDED_CONFIGMAP,))
    yield role(SUSPENDED_ROLE, [suspended], namespace=namespace, wave=Wave.FOUNDATIONS)
    yield role_binding(SUSPENDED_ROLE, group_subject(ADDON_GROUP), namespace=namespace, wave=Wave.FOUNDATIONS)


def default_parts(repository: FleetRepository) -> AddOnParts:
    """What the default template installs. Clusters with other parts name a template of their own."""
    monitor = repository.spec.agent.service_monitor
    return AddOnParts(service_monitor=monitor is not None and monitor.cluster_selector is None)


def template_of(parts: AddOnParts, repository: FleetRepository) -> str | None:
    """The AddOnTemplate that a ManagedClusterAddOn has to name; None for the default.

    The name does not change with the content: Argo CD applies templates and ManagedClusterAddOns in different
    Applications, so a new name could be missing on the hub for a while. OCM rolls out a changed template of
    the same name, too.
    """
    if parts == default_parts(repository):
        return None
    suffixes = [
        suffix
        for suffix, there in (
            ("otlp", parts.receiver),
            ("servicemonitor", parts.service_monitor),
            ("-".join(("rollout", *(str(index + 1) for index in parts.rollout))), bool(parts.rollout)),
        )
        if there
    ]
    return "-".join((ADDON_NAME, *(suffixes or ["plain"])))


def file_stem(template: Object) -> str:
    """The name of a template's file, which does not change with the content of the template."""
    name = str(template["metadata"]["name"])
    return ADDON_NAME if _DIGEST.fullmatch(name) else name


def addon(repository: FleetRepository, parts_in_use: Iterable[AddOnParts]) -> Iterator[Object]:
    """AddOnTemplates, AddOnDeploymentConfig and ClusterManagementAddOn. The default template is named by its
    content, so that an edit rolls out.
    """
    spec = _template_spec(repository, default_parts(repository))
    digest = hashlib.sha256(msgspec.json.encode(spec, order="deterministic")).hexdigest()[:10]
    template = f"{ADDON_NAME}-{digest}"
    namespace = repository.spec.hub_namespace
    yield _template(template, spec)
    for parts in sorted(set(parts_in_use), key=lambda item: item.order):
        name = template_of(parts, repository)
        if name is not None:
            yield _template(name, _template_spec(repository, parts))
    yield {
        "apiVersion": ADDON_API,
        "kind": "AddOnDeploymentConfig",
        "metadata": metadata(name=ADDON_NAME, namespace=namespace, wave=Wave.ADDON),
        # The CRD's default moves the whole template elsewhere
        # (docs/contributing/ocm-behaviour.md#install-namespace-of-an-add-on).
        "spec": {"agentInstallNamespace": AGENT_NAMESPACE},
    }
    yield {
        "apiVersion": ADDON_API,
        "kind": "ClusterManagementAddOn",
        "metadata": metadata(
            name=ADDON_NAME,
            wave=Wave.ADDON,
            annotations={"addon.open-cluster-management.io/lifecycle": "addon-manager"},
        ),
        "spec": {
            "addOnMeta": {
                "displayName": "gitops-dsf agent",
                "description": "Queries metrics, calls scoring APIs and publishes AddOnPlacementScores.",
            },
            "supportedConfigs": [
                {
                    "group": "addon.open-cluster-management.io",
                    "resource": "addontemplates",
                    "defaultConfig": {"name": template},
                },
                {
                    "group": "addon.open-cluster-management.io",
                    "resource": "addondeploymentconfigs",
                    "defaultConfig": {"name": ADDON_NAME, "namespace": namespace},
                },
            ],
            # Placements would delete and recreate the add-on of a cluster that is between two pages of
            # decisions.
            "installStrategy": {"type": "Manual"},
        },
    }


def _template(name: str, spec: Object) -> Object:
    return {
        "apiVersion": ADDON_API,
        "kind": "AddOnTemplate",
        "metadata": metadata(name=name, wave=Wave.ADDON),
        "spec": spec,
    }


def _template_spec(repository: FleetRepository, parts: AddOnParts) -> Object:
    agent = settings_with(repository.spec.agent, parts.rollout)
    monitor = agent.service_monitor if parts.service_monitor else None
    receiving = agent.open_telemetry if parts.receiver else None
    return {
        "addonName": ADDON_NAME,
        "agentSpec": {
            "workload": {
                "manifests": [
                    _namespace(agent.image_pull_secrets),
                    {
                        "apiVersion": "v1",
                        "kind": "ServiceAccount",
                        "metadata": metadata(name=ADDON_NAME, namespace=AGENT_NAMESPACE),
                    },
                    _deployment(agent, receiving, hub_namespace=repository.spec.hub_namespace),
                    metrics_service(name=ADDON_NAME, namespace=AGENT_NAMESPACE, labels=LABELS),
                    _network_policy(receiving),
                    *([receiver.service()] if receiving is not None else []),
                    *([_service_monitor(monitor)] if monitor is not None else []),
                ]
            }
        },
        # An identity and a kubeconfig for it, and no hubPermissions: see works._rights.
        "registration": [{"type": "KubeClient", "kubeClient": {"hubPermissions": []}}],
    }


def _namespace(pull_secrets: Sequence[str]) -> Object:
    """OCM copies its pull secret into namespaces with its label
    (docs/contributing/ocm-behaviour.md#secrets-of-an-add-on).
    """
    found: Object = {"name": AGENT_NAMESPACE, "annotations": {ORPHAN: ""}}
    if OCM_PULL_SECRET in pull_secrets:
        found["labels"] = {OCM_PULL_SECRET_LABEL: "true"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": found}


def _deployment(agent: Agent, receiving: OpenTelemetry | None, *, hub_namespace: str) -> Object:
    found: Object = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(name=ADDON_NAME, namespace=AGENT_NAMESPACE),
        "spec": {
            "replicas": 1,
            # Two agents of one cluster would publish against each other.
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": dict(LABELS)},
            "template": {
                "metadata": {"labels": dict(LABELS)},
                "spec": {
                    "serviceAccountName": ADDON_NAME,
                    "nodeSelector": agent.node_selector,
                    "tolerations": agent.tolerations,
                    "terminationGracePeriodSeconds": 15,
                    "securityContext": pod_security(),
                    **pull_secrets(agent.image_pull_secrets),
                    "containers": [_container(agent, hub_namespace=hub_namespace)],
                    "volumes": agent_volumes(
                        {
                            "name": CONFIGMAP_NAME,
                            "optional": True,
                            "items": [{"key": CONFIGMAP_KEY, "path": CONFIGMAP_KEY}],
                        }
                    ),
                },
            },
        },
    }
    if receiving is not None:
        pod = found["spec"]["template"]["spec"]
        # The receiver, which others push to, gets no token.
        pod["automountServiceAccountToken"] = False
        pod["containers"][0]["volumeMounts"].append(receiver.account_mount())
        pod["initContainers"] = [
            receiver.container(receiving, pull_policy=agent.image_pull_policy, log_format=agent.log_format)
        ]
        pod["volumes"] += receiver.volumes(receiving)
    return found


def _container(agent: Agent, *, hub_namespace: str) -> Object:
    arguments = ["--publish", "hub", "--hub-namespace", hub_namespace]
    return agent_container(agent, image=agent.image, name="agent", arguments=arguments)


def _service_monitor(settings: AgentServiceMonitor) -> Object:
    """OCM's work agent may create ServiceMonitors (klusterlet-work-clusterrole-execution.yaml)."""
    return {
        "apiVersion": OPERATOR_API,
        "kind": "ServiceMonitor",
        "metadata": metadata(name=ADDON_NAME, namespace=AGENT_NAMESPACE, labels=settings.labels),
        "spec": {
            "selector": {"matchLabels": dict(LABELS)},
            "endpoints": [
                {
                    "port": "metrics",
                    "interval": settings.interval,
                    # OCM fills in the name. Alerts and dashboard tell clusters apart by this label.
                    "relabelings": [{"targetLabel": "cluster", "replacement": "{{CLUSTER_NAME}}"}],
                }
            ],
        },
    }


def _network_policy(receiving: OpenTelemetry | None) -> Object:
    """Metric sources and scoring APIs may be anywhere. Inwards, the metrics port is open, and the receiver to
    collectors.
    """
    return network_policy(
        name=ADDON_NAME,
        namespace=AGENT_NAMESPACE,
        labels=LABELS,
        ingress=[metrics_ingress(), *([receiver.ingress(receiving)] if receiving is not None else [])],
    )
