"""The reconciler's pods and what stands around them: disruption budget, network policy, service."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Final

from gitops_dsf.canonicalyaml import emit
from gitops_dsf.render.containers import (
    METRICS_PORT,
    metrics_port,
    pod_security,
    probes,
    pull_secrets,
    security_context,
)
from gitops_dsf.render.objects import Object, metadata, network_policy
from gitops_dsf.render.reconciler.names import LABELS, NAME
from gitops_dsf.render.scraping import metrics_ingress, metrics_service
from gitops_dsf.repository.model.repository import FleetRepository

CREDENTIALS_DIR: Final = "/etc/gitops-dsf/git"
CONFIG_DIR: Final = "/etc/gitops-dsf/config"
CONFIG_KEY: Final = "gitops-dsf.yaml"
CONFIG_DIGEST: Final = "gitops-dsf.io/config"
"""Annotation of the pods: they read their settings once, so new settings need new pods."""
SETTINGS: Final = frozenset({"probe", "suspend", "proposals", "state", "journal"})
"""The fields of spec.reconciler that say what it does; the others say what its pods are like."""
TMP_DIR: Final = "/tmp"  # noqa: S108 - an emptyDir of the pod's own
WORK_DIR: Final = f"{TMP_DIR}/gitops-dsf"
WORK_SIZE = "1Gi"
"""Of the emptyDir: a shallow clone of a fleet with 2,000 clusters is below 100 MB."""


def workload(repository: FleetRepository, *, placement_namespaces: Sequence[str]) -> Iterator[Object]:
    """ConfigMap, Deployment, PodDisruptionBudget, NetworkPolicy and Service."""
    namespace = repository.spec.hub_namespace
    yield network_policy(
        name=NAME,
        namespace=namespace,
        labels=LABELS,
        ingress=[metrics_ingress()],
        # DNS, the API server, git, and scoring APIs, which may be anywhere and on any port. Written out, so
        # that the reconciler works in a namespace whose other policies allow nothing.
        egress=[{}],
    )
    yield {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(name=NAME, namespace=namespace),
        # Not minAvailable: with one replica that would hold up every drain of its node.
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": dict(LABELS)}},
    }
    yield metrics_service(name=NAME, namespace=namespace, labels=LABELS)
    config = configuration(repository)
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(name=NAME, namespace=namespace, labels=LABELS),
        "data": {CONFIG_KEY: config},
    }
    yield _deployment(repository, config, placement_namespaces=placement_namespaces)


def configuration(repository: FleetRepository) -> str:
    """The FleetRepository without what only concerns rendering and defaults, so that a diff shows what was
    decided. gitops_dsf/reconciler/settings.py reads it.
    """
    said = repository.model_dump(exclude_defaults=True)["spec"]
    kept = {name: said[name] for name in ("git", "hubNamespace", "output") if name in said}
    if namespace := said.get("argocd", {}).get("namespace"):
        kept["argocd"] = {"namespace": namespace}
    settings = {name: value for name, value in said.get("reconciler", {}).items() if name in SETTINGS}
    if settings:
        kept["reconciler"] = settings
    return emit(
        {
            "apiVersion": repository.api_version,
            "kind": repository.kind,
            "metadata": {"name": repository.metadata.name},
            "spec": kept,
        }
    )


def _deployment(repository: FleetRepository, config: str, *, placement_namespaces: Sequence[str]) -> Object:
    settings = repository.spec.reconciler
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(name=NAME, namespace=repository.spec.hub_namespace, labels=LABELS),
        "spec": {
            "replicas": settings.replicas,
            "selector": {"matchLabels": dict(LABELS)},
            # The old leader goes only when the new replicas can lead.
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
            "template": {
                "metadata": {
                    "annotations": {CONFIG_DIGEST: hashlib.sha256(config.encode()).hexdigest()[:16]},
                    "labels": dict(LABELS),
                },
                "spec": {
                    "serviceAccountName": NAME,
                    "automountServiceAccountToken": True,
                    "enableServiceLinks": False,
                    "nodeSelector": settings.node_selector,
                    "tolerations": settings.tolerations,
                    "topologySpreadConstraints": [
                        {
                            "maxSkew": 1,
                            "topologyKey": "kubernetes.io/hostname",
                            "whenUnsatisfiable": "ScheduleAnyway",
                            "labelSelector": {"matchLabels": dict(LABELS)},
                        }
                    ],
                    # A push that is under way may end; the lease is given back after it.
                    "terminationGracePeriodSeconds": 30,
                    "securityContext": pod_security(),
                    **pull_secrets(settings.image_pull_secrets),
                    "containers": [_container(repository, placement_namespaces)],
                    "volumes": _volumes(repository),
                },
            },
        },
    }


def _container(repository: FleetRepository, placement_namespaces: Sequence[str]) -> Object:
    settings = repository.spec.reconciler
    mounts: list[Object] = [
        {"name": "tmp", "mountPath": TMP_DIR},
        {"name": "config", "mountPath": CONFIG_DIR, "readOnly": True},
    ]
    args = [
        "reconcile",
        f"--config={CONFIG_DIR}/{CONFIG_KEY}",
        f"--metrics-address=0.0.0.0:{METRICS_PORT}",
        *([f"--work-dir={WORK_DIR}"] if settings.uses_git else []),
        *(f"--placement-namespace={name}" for name in placement_namespaces if settings.state.enabled),
    ]
    if _credentials(repository) is not None:
        args.append(f"--git-credentials={CREDENTIALS_DIR}")
        mounts.append({"name": "git", "mountPath": CREDENTIALS_DIR, "readOnly": True})
    return {
        "name": "reconciler",
        "image": settings.image,
        "imagePullPolicy": settings.image_pull_policy,
        "args": args,
        # git and ssh look for a home; the root file system is read-only.
        "env": [{"name": "HOME", "value": TMP_DIR}],
        "ports": [metrics_port()],
        # A replica that waits for the lease is ready, too: it can take over.
        **probes(),
        "resources": {"requests": settings.resources.requests, "limits": settings.resources.limits},
        "securityContext": security_context(),
        "volumeMounts": mounts,
    }


def _volumes(repository: FleetRepository) -> list[Object]:
    volumes: list[Object] = [
        {"name": "tmp", "emptyDir": {"sizeLimit": WORK_SIZE}},
        {"name": "config", "configMap": {"name": NAME}},
    ]
    secret = _credentials(repository)
    if secret is not None:
        # Optional: without its credentials the reconciler still reports, and its log says what is missing.
        volumes.append({"name": "git", "secret": {"secretName": secret, "optional": True}})
    return volumes


def _credentials(repository: FleetRepository) -> str | None:
    """The Secret to mount, where anything is pushed."""
    settings = repository.spec.reconciler
    return settings.git_secret.name if settings.git_secret is not None and settings.uses_git else None
