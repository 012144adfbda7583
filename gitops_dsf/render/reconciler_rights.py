"""Rights of the reconciler on the hub, as a table, and the roles that are rendered from it.

docs/operate/security.md shows the table, and the hub suite tries each right. Limits that RBAC
cannot express, such as which annotation of an object may change, are in `render.admission`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from dsf_wire.constants import DSF_GROUP, SCORE_GROUP, SCORE_PLURAL
from gitops_dsf.hub.names import (
    MAINTENANCE_CONFIGMAP,
    MASKS_CONFIGMAP,
    MOVES_CONFIGMAP,
    RECONCILER,
    STATUS_CONFIGMAP,
)
from gitops_dsf.hub.resources import ADDON_GROUP, KUEUE_GROUP
from gitops_dsf.hub.scorerlist import INDEX_CONFIGMAP, PART_CONFIGMAPS
from gitops_dsf.render.objects import Object, Wave, filled, rule
from gitops_dsf.repository.model.repository import FleetRepository

_ARGO_GROUP: Final = "argoproj.io"


class Where(StrEnum):
    """The namespaces that a right holds in."""

    EVERYWHERE = "all namespaces"
    HUB = "hub namespace"
    ARGOCD = "Argo CD namespace"
    PLACEMENTS = "other namespaces of ScoredPlacements"
    JOBS = "namespaces of ScoredPlacements with `multiKueue`"
    KUEUE = "all namespaces, where a ScoredPlacement has `multiKueue`"


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
        """The right as a rule of a Role or ClusterRole."""
        return rule(self.group, self.resource, verbs=self.verbs, names=self.names)


def _right(where: Where, group: str, resource: str, verbs: str, *names: str) -> Right:
    return Right(
        where=where, group=group, resource=resource, verbs=tuple(verbs.split(", ")), names=names
    )


STATUSES: Final = _right(Where.HUB, DSF_GROUP, "dynamicscorers/status", "patch")
"""The right to statuses, which is not rendered with delivery.mode UpstreamController."""
# Else a switch in gitops-dsf.yaml changes what the reconciler does, not what it may do.
RIGHTS: Final = (
    _right(Where.EVERYWHERE, SCORE_GROUP, SCORE_PLURAL, "list, watch, create, patch, delete"),
    _right(Where.EVERYWHERE, SCORE_GROUP, f"{SCORE_PLURAL}/status", "patch"),
    _right(Where.EVERYWHERE, SCORE_GROUP, "managedclusters", "list, watch, patch"),
    _right(Where.EVERYWHERE, SCORE_GROUP, "managedclustersets", "list"),
    _right(Where.EVERYWHERE, ADDON_GROUP, "managedclusteraddons", "list, watch"),
    _right(Where.HUB, DSF_GROUP, "dynamicscorers", "list, watch"),
    STATUSES,
    _right(Where.HUB, "coordination.k8s.io", "leases", "create"),
    _right(Where.HUB, "coordination.k8s.io", "leases", "get, update", RECONCILER),
    _right(Where.HUB, "", "configmaps", "create"),
    _right(Where.HUB, "", "configmaps", "get, update", MOVES_CONFIGMAP, STATUS_CONFIGMAP),
    _right(Where.HUB, "", "configmaps", "get", MASKS_CONFIGMAP, MAINTENANCE_CONFIGMAP),
    # All parts that a list can have: a right must not wait for the list to grow.
    _right(Where.HUB, "", "configmaps", "get", INDEX_CONFIGMAP, *PART_CONFIGMAPS),
    _right(Where.HUB, "", "events", "create, patch"),
    _right(Where.ARGOCD, SCORE_GROUP, "placementdecisions", "list, watch"),
    _right(Where.ARGOCD, SCORE_GROUP, "placements", "list, watch"),
    _right(Where.ARGOCD, SCORE_GROUP, "managedclustersetbindings", "list"),
    _right(Where.ARGOCD, _ARGO_GROUP, "applicationsets", "get, list, watch, patch"),
    _right(Where.ARGOCD, _ARGO_GROUP, "applications", "list, watch, patch, delete"),
    _right(Where.ARGOCD, "", "events", "create, patch"),
)
"""All rights, whatever is enabled."""

DECISIONS: Final = _right(Where.PLACEMENTS, SCORE_GROUP, "placementdecisions", "list")
"""The right for the state branch: previews need the decisions of every rendered Placement."""

JOB_DECISIONS: Final = (
    _right(Where.JOBS, SCORE_GROUP, "placementdecisions", "list, watch"),
    _right(Where.JOBS, SCORE_GROUP, "placements", "list, watch"),
    _right(Where.JOBS, "", "events", "create, patch"),
)
"""The rights for the order of a MultiKueueConfig: the decision, and the annotation that asks for
it.
"""


def multi_kueue_rights(configs: Sequence[str]) -> tuple[Right, ...]:
    """Rights to Kueue's objects. `configs` are the MultiKueueConfigs that ScoredPlacements name."""
    where = Where.KUEUE
    return (
        # RBAC cannot bind this one to names; the policy does.
        _right(where, KUEUE_GROUP, "multikueueconfigs", "create"),
        _right(where, KUEUE_GROUP, "multikueueconfigs", "get, update", *configs),
        _right(where, KUEUE_GROUP, "multikueueclusters", "list, watch"),
        _right(where, KUEUE_GROUP, "admissionchecks", "list, watch"),
        _right(where, KUEUE_GROUP, "workloads", "list, watch"),
    )


def rights(
    repository: FleetRepository, *, multi_kueue_configs: Sequence[str] = ()
) -> Iterator[Object]:
    """ClusterRole, Roles and their bindings to the reconciler's ServiceAccount."""
    spec = repository.spec
    rules = _rules(Where.EVERYWHERE)
    # A hub without such a ScoredPlacement may have jobs that do not concern the reconciler.
    if multi_kueue_configs:
        rules += _as_rules(multi_kueue_rights(multi_kueue_configs))
    yield from _role("gitops-dsf:reconciler", None, rules, repository)
    hub_rules = _rules(Where.HUB)
    if not spec.delivers_works:
        # Upstream's controller owns the status of DynamicScorers.
        hub_rules.remove(STATUSES.rule)
    yield from _role(RECONCILER, spec.hub_namespace, hub_rules, repository)
    # Another name than in the hub namespace: both may be one namespace.
    yield from _role(f"{RECONCILER}-moves", spec.argocd.namespace, _rules(Where.ARGOCD), repository)


def decision_rights(
    repository: FleetRepository, *, namespace: str, orders_jobs: bool
) -> list[Object]:
    """Rights in the namespace of a Placement, rendered beside it.

    A namespace that does not exist must not hold back the reconciler. `orders_jobs`: a
    ScoredPlacement of the namespace has multiKueue.
    """
    rules = [DECISIONS.rule]
    if orders_jobs:
        rules = _as_rules(JOB_DECISIONS)
    return _role(f"{RECONCILER}-decisions", namespace, rules, repository, wave=Wave.DECISIONS)


def _rules(where: Where) -> list[Object]:
    return _as_rules(right for right in RIGHTS if right.where == where)


def _as_rules(chosen: Iterable[Right]) -> list[Object]:
    return [right.rule for right in chosen]


def _role(
    name: str,
    namespace: str | None,
    rules: list[Object],
    repository: FleetRepository,
    *,
    wave: Wave = Wave.ADDON,
) -> list[Object]:
    kind = "Role"
    if namespace is None:
        kind = "ClusterRole"
    return filled(
        "reconciler-role.yaml",
        kind=kind,
        name=name,
        namespace=namespace,
        wave=str(int(wave)),
        rules=rules,
        hub_namespace=repository.spec.hub_namespace,
    )
