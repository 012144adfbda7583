"""rendered/reconciler: the Deployment on the hub that observes what git cannot know.

Its rights, and the policies that narrow them, are here, too.

Its rights, and the policies that narrow them, are here, too.

A directory and an Argo CD Application of its own: an image that cannot start must not hold back
what the fleet needs.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, Final

import msgspec

from dsf_wire.constants import DSF_GROUP, SCORE_GROUP, SCORE_PLURAL
from dsf_wire.text import printable_json
from gitops_dsf.canonicalyaml import emit
from gitops_dsf.hub.names import (
    MAINTENANCE_CONFIGMAP,
    MAINTENANCE_KEY,
    MASKS_CONFIGMAP,
    MOVES_CONFIGMAP,
    RECONCILER,
)
from gitops_dsf.hub.resources import ADDON_GROUP
from gitops_dsf.packagedata import packaged
from gitops_dsf.render.admission import reconciler_policies
from gitops_dsf.render.objects import Object, Wave, config_map, filled, pod_values, rule
from gitops_dsf.repository.load import load_text
from gitops_dsf.repository.model.maintenance import Maintenance
from gitops_dsf.repository.model.repository import FleetRepository
from gitops_dsf.resolve.maintenance_windows import for_the_hub

CREDENTIALS_DIR: Final = "/etc/gitops-dsf/git"
SECRETS_DIR: Final = "/etc/gitops-dsf/credentials"
SETTINGS: Final = frozenset({"probe", "proposals", "state", "journal"})
"""The fields of spec.reconciler that say what it does; the others say what its pods are like."""
WORK_DIR: Final = "/tmp/gitops-dsf"  # noqa: S108 - in an emptyDir of the pod's own


def reconciler(
    repository: FleetRepository,
    *,
    placement_namespaces: Sequence[str] = (),
    maintenance: Iterable[Maintenance] = (),
) -> Iterator[Object]:
    """`placement_namespaces` are those of ScoredPlacements outside of the Argo CD namespace.

    Disabled, the account alone is left, without rights: Argo CD never prunes a directory to nothing
    by itself, so the last objects of an empty one would stay, and the Deployment with them.
    """
    yield from filled("reconciler-account.yaml", namespace=repository.spec.hub_namespace)
    if not repository.spec.reconciler.enabled:
        return
    yield from reconciler_policies(repository.spec.hub_namespace)
    yield from rights(repository)
    yield from _monitoring(repository)
    yield _maintenance(maintenance, repository)
    yield from workload(repository, placement_namespaces=placement_namespaces)


def workload(
    repository: FleetRepository, *, placement_namespaces: Sequence[str]
) -> Iterator[Object]:
    """ConfigMap, Deployment, PodDisruptionBudget, NetworkPolicy and Service."""
    namespace, settings = repository.spec.hub_namespace, repository.spec.reconciler
    config = configuration(repository)
    args = [
        *([f"--work-dir={WORK_DIR}"] if settings.uses_git else []),
        *(
            f"--placement-namespace={name}"
            for name in placement_namespaces
            if settings.state.enabled
        ),
    ]
    mounts: list[Object] = []
    volumes: list[Object] = []
    if settings.git_secret is not None and settings.uses_git:
        args.append(f"--git-credentials={CREDENTIALS_DIR}")
        mounts.append({"name": "git", "mountPath": CREDENTIALS_DIR, "readOnly": True})
        # Optional: without its credentials the reconciler still reports, and its log says what is
        # missing.
        volumes.append(
            {"name": "git", "secret": {"secretName": settings.git_secret.name, "optional": True}}
        )
    if settings.config_credentials:
        args.append(f"--credentials={SECRETS_DIR}")
    for index, name in enumerate(settings.config_credentials):
        # Volumes of their own: one for all would have to list the keys to give each Secret a
        # folder. A key that both have is the Secret's, which comes last.
        mounts.append(
            {"name": f"credentials-{index}", "mountPath": f"{SECRETS_DIR}/{name}", "readOnly": True}
        )
        sources = [{kind: {"name": name, "optional": True}} for kind in ("configMap", "secret")]
        volumes.append({"name": f"credentials-{index}", "projected": {"sources": sources}})
    yield from filled(
        "reconciler.yaml",
        namespace=namespace,
        config=config,
        config_digest=hashlib.sha256(config.encode()).hexdigest()[:16],
        replicas=settings.replicas,
        more_args=args,
        more_mounts=mounts,
        more_volumes=volumes,
        **pod_values(settings, image=settings.image),
    )


def configuration(repository: FleetRepository) -> str:
    """The FleetRepository as the reconciler reads it (gitops_dsf/reconciler/settings.py).

    What only concerns rendering, and defaults, are left out, so that a diff shows what was decided.
    """
    said = repository.model_dump(exclude_defaults=True)["spec"]
    kept = {name: said[name] for name in ("git", "hubNamespace", "output", "pace") if name in said}
    if repository.spec.reconciler.config_credentials and "allowedTokenHosts" in said:
        kept["allowedTokenHosts"] = said["allowedTokenHosts"]
    if namespace := said.get("argocd", {}).get("namespace"):
        kept["argocd"] = {"namespace": namespace}
    settings = {
        name: value for name, value in said.get("reconciler", {}).items() if name in SETTINGS
    }
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


def _maintenance(written: Iterable[Maintenance], repository: FleetRepository) -> Object:
    """Also without any maintenance: that the object is missing must not end a drain.

    Selectors stay, and the reconciler asks the labels of the hub, so a cluster that joins is
    drained with the others.
    """
    authored = [for_the_hub(item) for item in written]
    text = msgspec.json.format(msgspec.json.encode(authored), indent=2).decode()
    data = {MAINTENANCE_KEY: printable_json(text)}
    return config_map(
        MAINTENANCE_CONFIGMAP, data, namespace=repository.spec.hub_namespace, wave=Wave.ADDON
    )


def _monitoring(repository: FleetRepository) -> Iterator[Object]:
    """The objects that spec.reconciler.monitoring asks for; none by default.

    The rules and the dashboard are files of the folder monitoring/: teams without the Prometheus
    operator or Grafana's sidecar use them.
    """
    namespace, asked = repository.spec.hub_namespace, repository.spec.reconciler.monitoring
    if asked.service_monitor:
        yield from filled("service-monitor.yaml", name=RECONCILER, namespace=namespace)
    if asked.rules:
        groups = [
            group for name in ("rules.yaml", "agent-rules.yaml") for group in _rule_groups(name)
        ]
        yield from filled("prometheus-rule.yaml", namespace=namespace, groups=groups)
    if asked.dashboard:
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


_ARGO_GROUP: Final = "argoproj.io"


class Where(StrEnum):
    """The namespaces that a right holds in."""

    EVERYWHERE = "all namespaces"
    HUB = "hub namespace"
    ARGOCD = "Argo CD namespace"
    PLACEMENTS = "other namespaces of ScoredPlacements"


@dataclass(frozen=True, kw_only=True, slots=True)
class Right:
    """Verbs on one resource; with names, on these objects alone."""

    where: Where
    group: str
    resource: str
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()

    @property
    def rule(self) -> Object:
        """As a rule of a Role or ClusterRole."""
        return rule(self.group, self.resource, verbs=self.verbs, names=self.names)


def _right(where: Where, group: str, resource: str, verbs: str, *names: str) -> Right:
    return Right(
        where=where, group=group, resource=resource, verbs=tuple(verbs.split(", ")), names=names
    )


RIGHTS: Final = (
    _right(Where.EVERYWHERE, SCORE_GROUP, SCORE_PLURAL, "list, watch, create, patch, delete"),
    _right(Where.EVERYWHERE, SCORE_GROUP, f"{SCORE_PLURAL}/status", "patch"),
    _right(Where.EVERYWHERE, SCORE_GROUP, "managedclusters", "list, watch, patch"),
    _right(Where.EVERYWHERE, SCORE_GROUP, "managedclustersets", "list"),
    _right(Where.EVERYWHERE, ADDON_GROUP, "managedclusteraddons", "list, watch"),
    _right(Where.HUB, DSF_GROUP, "dynamicscorers", "list, watch"),
    _right(Where.HUB, DSF_GROUP, "dynamicscorers/status", "patch"),
    _right(Where.HUB, "coordination.k8s.io", "leases", "create"),
    _right(Where.HUB, "coordination.k8s.io", "leases", "get, update", RECONCILER),
    _right(Where.HUB, "", "configmaps", "create"),
    _right(Where.HUB, "", "configmaps", "get, update", MOVES_CONFIGMAP),
    _right(Where.HUB, "", "configmaps", "get", MASKS_CONFIGMAP, MAINTENANCE_CONFIGMAP),
    _right(Where.HUB, "", "events", "create, patch"),
    _right(Where.ARGOCD, SCORE_GROUP, "placementdecisions", "list, watch"),
    _right(Where.ARGOCD, SCORE_GROUP, "placements", "list, watch"),
    _right(Where.ARGOCD, SCORE_GROUP, "managedclustersetbindings", "list"),
    _right(Where.ARGOCD, _ARGO_GROUP, "applicationsets", "get, list, watch, patch"),
    _right(Where.ARGOCD, _ARGO_GROUP, "applications", "list, watch, patch, delete"),
    _right(Where.ARGOCD, "", "events", "create, patch"),
)
"""Whole: a switch in gitops-dsf.yaml changes what the reconciler does, not what it may do."""

DECISIONS: Final = _right(Where.PLACEMENTS, SCORE_GROUP, "placementdecisions", "list")
"""For the state branch: previews need the decisions of every rendered Placement."""


def rights(repository: FleetRepository) -> Iterator[Object]:
    """ClusterRole, Roles and their bindings to the reconciler's ServiceAccount. Pure."""
    spec = repository.spec
    yield from _role("gitops-dsf:reconciler", None, _rules(Where.EVERYWHERE), repository)
    yield from _role(RECONCILER, spec.hub_namespace, _rules(Where.HUB), repository)
    # Another name than in the hub namespace: both may be one namespace.
    yield from _role(f"{RECONCILER}-moves", spec.argocd.namespace, _rules(Where.ARGOCD), repository)


def decision_rights(repository: FleetRepository, *, namespace: str) -> list[Object]:
    """Rights in the namespace of a Placement, rendered beside it.

    A namespace that does not exist must not hold back the reconciler.
    """
    return _role(
        f"{RECONCILER}-decisions", namespace, [DECISIONS.rule], repository, wave=Wave.DECISIONS
    )


def _rules(where: Where) -> list[Object]:
    return [right.rule for right in RIGHTS if right.where == where]


def _role(
    name: str,
    namespace: str | None,
    rules: list[Object],
    repository: FleetRepository,
    *,
    wave: Wave = Wave.ADDON,
) -> list[Object]:
    return filled(
        "reconciler-role.yaml",
        kind="ClusterRole" if namespace is None else "Role",
        name=name,
        namespace=namespace,
        wave=str(int(wave)),
        rules=rules,
        hub_namespace=repository.spec.hub_namespace,
    )
