"""The directory rendered/reconciler: the Deployment on the hub that observes what git cannot know.

It has an Argo CD Application of its own: an image that cannot start must not hold back the objects
that the fleet needs. Its rights are in `render.reconciler_rights`, the policies that narrow them in
`render.admission`.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from gitops_dsf.canonicalyaml import emit
from gitops_dsf.hub.names import (
    INVENTORY_KEY,
    MAINTENANCE_CONFIGMAP,
    MAINTENANCE_KEY,
    RECONCILER,
)
from gitops_dsf.packagedata import packaged
from gitops_dsf.plan.fleet import NO_MULTI_KUEUE, MultiKueueUse
from gitops_dsf.render.admission import multi_kueue_policy, reconciler_policies
from gitops_dsf.render.objects import Object, Wave, config_map, filled, lines_of_json, pod_values
from gitops_dsf.render.reconciler_rights import rights
from gitops_dsf.repository.load import load_text
from gitops_dsf.repository.model.maintenance import Maintenance
from gitops_dsf.repository.model.repository import FleetRepository
from gitops_dsf.resolve.maintenance_windows import for_the_hub

CREDENTIALS_DIR: Final = "/etc/gitops-dsf/git"
SECRETS_DIR: Final = "/etc/gitops-dsf/credentials"
STORE_DIR: Final = "/etc/gitops-dsf/store"
SETTINGS: Final = frozenset({"probe", "proposals", "state", "metricStore", "journal"})
"""The fields of spec.reconciler that say what it does; the others say what its pods are like."""
WORK_DIR: Final = "/tmp/gitops-dsf"  # noqa: S108 - in an emptyDir of the pod's own


def reconciler(
    repository: FleetRepository,
    *,
    placement_namespaces: Sequence[str] = (),
    multi_kueue: MultiKueueUse = NO_MULTI_KUEUE,
    maintenance: Iterable[Maintenance] = (),
    inventory: Mapping[str, str] | None = None,
) -> Iterator[Object]:
    """The objects of rendered/reconciler.

    `placement_namespaces` are those of ScoredPlacements outside the Argo CD namespace,
    `inventory` the digests of clusters.
    """
    # Disabled, the account alone is left, without rights: Argo CD never prunes a directory to
    # nothing by itself, so the last objects of an empty one would stay, and the Deployment with
    # them.
    yield from filled("reconciler-account.yaml", namespace=repository.spec.hub_namespace)
    if not repository.spec.reconciler.enabled:
        return
    yield from reconciler_policies(repository.spec.hub_namespace)
    if multi_kueue.configs:
        yield from multi_kueue_policy(repository.spec.hub_namespace, multi_kueue.configs)
    yield from rights(repository, multi_kueue_configs=multi_kueue.configs)
    yield from _monitoring(repository)
    yield _maintenance(maintenance, inventory or {}, repository)
    yield from workload(
        repository,
        placement_namespaces=placement_namespaces,
        multi_kueue_namespaces=multi_kueue.namespaces,
    )


def workload(
    repository: FleetRepository,
    *,
    placement_namespaces: Sequence[str],
    multi_kueue_namespaces: Sequence[str] = (),
) -> Iterator[Object]:
    """ConfigMap, Deployment, PodDisruptionBudget, NetworkPolicy and Service."""
    settings = repository.spec.reconciler
    config = configuration(repository)
    args: list[str] = []
    mounts: list[Object] = []
    volumes: list[Object] = []
    if settings.uses_git:
        args.append(f"--work-dir={WORK_DIR}")
    if settings.state.enabled:
        for name in placement_namespaces:
            args.append(f"--placement-namespace={name}")
    for name in multi_kueue_namespaces:
        args.append(f"--multikueue-namespace={name}")
    if settings.git_secret is not None and settings.uses_git:
        args.append(f"--git-credentials={CREDENTIALS_DIR}")
        mounts.append({"name": "git", "mountPath": CREDENTIALS_DIR, "readOnly": True})
        # Optional: without its credentials the reconciler still reports, and its log says what is
        # missing.
        volumes.append(
            {"name": "git", "secret": {"secretName": settings.git_secret.name, "optional": True}}
        )
    store = settings.metric_store
    # A folder for the store alone: a scorer on the hub may name what is in the other one.
    for flag, folder, names, prefix in (
        ("--credentials", SECRETS_DIR, settings.config_credentials, "credentials"),
        ("--store-credentials", STORE_DIR, store.objects if store else (), "store"),
    ):
        if names:
            args.append(f"{flag}={folder}")
        for index, name in enumerate(names):
            volume = f"{prefix}-{index}"
            mounts.append({"name": volume, "mountPath": f"{folder}/{name}", "readOnly": True})
            volumes.append({"name": volume, "projected": {"sources": _sources(name)}})
    yield from filled(
        "reconciler.yaml",
        namespace=repository.spec.hub_namespace,
        config=config,
        # Kubernetes does not restart pods when their ConfigMap changes, so the pods carry its
        # digest.
        config_digest=hashlib.sha256(config.encode()).hexdigest()[:16],
        replicas=settings.replicas,
        more_args=args,
        more_mounts=mounts,
        more_volumes=volumes,
        **pod_values(settings, image=settings.image),
    )


def _sources(name: str) -> list[Object]:
    """The Secret and the ConfigMap of a name, which share a folder.

    A volume of its own: one for all would have to list the keys to give each Secret a folder. A key
    that both have is the Secret's, which comes last.
    """
    return [{kind: {"name": name, "optional": True}} for kind in ("configMap", "secret")]


def configuration(repository: FleetRepository) -> str:
    """The FleetRepository as the reconciler reads it (gitops_dsf/reconciler/settings.py).

    What only concerns rendering, and defaults, are left out, so that a diff shows what was decided.
    """
    written = repository.model_dump(exclude_defaults=True)["spec"]
    kept: Object = {}
    for name in ("git", "hubNamespace", "output", "pace", "delivery"):
        if name in written:
            kept[name] = written[name]
    reconciler_settings = repository.spec.reconciler
    sends = reconciler_settings.config_credentials or reconciler_settings.metric_store
    if sends and "allowedTokenHosts" in written:
        kept["allowedTokenHosts"] = written["allowedTokenHosts"]
    namespace = written.get("argocd", {}).get("namespace")
    if namespace:
        kept["argocd"] = {"namespace": namespace}
    settings: Object = {}
    for name, value in written.get("reconciler", {}).items():
        if name in SETTINGS:
            settings[name] = value
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


def _maintenance(
    written: Iterable[Maintenance], inventory: Mapping[str, str], repository: FleetRepository
) -> Object:
    """The ConfigMap with all maintenance, also without any: a missing object must not end a drain.

    Selectors stay, and the reconciler asks the labels of the hub, so a cluster that joins is
    drained with the others.
    """
    data = {MAINTENANCE_KEY: lines_of_json(list(map(for_the_hub, written)))}
    if inventory:
        data[INVENTORY_KEY] = lines_of_json(inventory)
    return config_map(
        MAINTENANCE_CONFIGMAP, data, namespace=repository.spec.hub_namespace, wave=Wave.ADDON
    )


def _monitoring(repository: FleetRepository) -> Iterator[Object]:
    """The objects that spec.reconciler.monitoring asks for; none by default.

    The rules and the dashboard are files of the folder monitoring/: teams without the Prometheus
    operator or Grafana's sidecar use them.
    """
    namespace = repository.spec.hub_namespace
    monitoring = repository.spec.reconciler.monitoring
    if monitoring.service_monitor:
        yield from filled("service-monitor.yaml", name=RECONCILER, namespace=namespace)
    if monitoring.rules:
        groups = [*_rule_groups("rules.yaml"), *_rule_groups("agent-rules.yaml")]
        yield from filled("prometheus-rule.yaml", namespace=namespace, groups=groups)
    if monitoring.dashboard:
        data = {"gitops-dsf.json": _monitoring_file("dashboard.json").removesuffix("\n")}
        labels = {"grafana_dashboard": "1"}
        yield config_map("gitops-dsf-dashboard", data, namespace=namespace, labels=labels)


def _monitoring_file(name: str) -> str:
    """The text of a file of monitoring/. Raises RepositoryError when the installation lacks it."""
    return packaged(f"monitoring/{name}").read_text("utf-8")


@cache
def _rule_groups(name: str) -> list[Any]:
    groups: list[Any] = load_text(_monitoring_file(name), file=name).documents[0].data["groups"]
    return groups
