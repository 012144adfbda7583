"""What the reconciler may do on the hub: one list, from which its roles are rendered and which
docs/operate/security.md repeats.

RBAC cannot limit what a patch changes, which object is created, or what state an object must be in to be
deleted: admission.py does.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from dsf_wire.constants import DSF_GROUP, SCORE_GROUP, SCORE_PLURAL, SUSPENDED_CONFIGMAP
from gitops_dsf.hub.names import MAINTENANCE_CONFIGMAP, MASKS_CONFIGMAP, MOVES_CONFIGMAP, RECONCILER
from gitops_dsf.render.objects import Object, Wave, filled, rule
from gitops_dsf.repository.model.repository import FleetRepository

ADDON_API_GROUP = "addon.open-cluster-management.io"
ARGO_GROUP = "argoproj.io"
HUB_ROLE: Final = "gitops-dsf:reconciler"
"""ClusterRole of the reconciler, and its binding."""


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
    return Right(where=where, group=group, resource=resource, verbs=tuple(verbs.split(", ")), names=names)


RIGHTS: Final = (
    _right(Where.EVERYWHERE, SCORE_GROUP, SCORE_PLURAL, "list, watch, create, patch, delete"),
    _right(Where.EVERYWHERE, SCORE_GROUP, f"{SCORE_PLURAL}/status", "patch"),
    _right(Where.EVERYWHERE, SCORE_GROUP, "managedclusters", "list, watch, patch"),
    _right(Where.EVERYWHERE, SCORE_GROUP, "managedclustersets", "list"),
    _right(Where.EVERYWHERE, ADDON_API_GROUP, "managedclusteraddons", "list, watch"),
    _right(Where.HUB, DSF_GROUP, "dynamicscorers", "list, watch"),
    _right(Where.HUB, DSF_GROUP, "dynamicscorers/status", "patch"),
    _right(Where.HUB, "coordination.k8s.io", "leases", "create"),
    _right(Where.HUB, "coordination.k8s.io", "leases", "get, update", RECONCILER),
    _right(Where.HUB, "", "configmaps", "create"),
    _right(Where.HUB, "", "configmaps", "get, update", SUSPENDED_CONFIGMAP, MOVES_CONFIGMAP),
    _right(Where.HUB, "", "configmaps", "get", MASKS_CONFIGMAP, MAINTENANCE_CONFIGMAP),
    _right(Where.HUB, "", "events", "create, patch"),
    _right(Where.ARGOCD, SCORE_GROUP, "placementdecisions", "list, watch"),
    _right(Where.ARGOCD, SCORE_GROUP, "placements", "list, watch"),
    _right(Where.ARGOCD, SCORE_GROUP, "managedclustersetbindings", "list"),
    _right(Where.ARGOCD, ARGO_GROUP, "applicationsets", "get, list, watch, patch"),
    _right(Where.ARGOCD, ARGO_GROUP, "applications", "list, watch, patch, delete"),
    _right(Where.ARGOCD, "", "events", "create, patch"),
)
"""Whole, whatever is switched on: a switch in gitops-dsf.yaml changes what the reconciler does, not what it
may do.
"""

DECISIONS: Final = _right(Where.PLACEMENTS, SCORE_GROUP, "placementdecisions", "list")
"""For the state branch: previews need the decisions of every rendered Placement."""


def rights(repository: FleetRepository) -> Iterator[Object]:
    """ClusterRole, Roles and their bindings to the reconciler's ServiceAccount. Pure."""
    spec = repository.spec
    yield from _role(HUB_ROLE, None, _rules(Where.EVERYWHERE), repository)
    yield from _role(RECONCILER, spec.hub_namespace, _rules(Where.HUB), repository)
    # Another name than in the hub namespace: both may be one namespace.
    yield from _role(f"{RECONCILER}-moves", spec.argocd.namespace, _rules(Where.ARGOCD), repository)


def decision_rights(repository: FleetRepository, *, namespace: str) -> list[Object]:
    """Role and binding in the namespace of a ScoredPlacement. They are rendered beside the Placement, because
    a namespace that does not exist must not hold back the reconciler.
    """
    return _role(f"{RECONCILER}-decisions", namespace, [DECISIONS.rule], repository, wave=Wave.DECISIONS)


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
