"""Placements of the Argo CD namespace: by which scores they rank which clusters."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from pydantic import ValidationError

from dsf_wire.constants import SCORE_GROUP
from gitops_dsf.reconciler.events import Reference
from gitops_dsf.reconciler.hub.metadata import Metadata
from gitops_dsf.repository.model.base import LabelSelector

PLACEMENTS_PATH: Final = f"/apis/{SCORE_GROUP}/v1beta1/namespaces/{{}}/placements"


class _AddOn(msgspec.Struct, frozen=True, rename="camel"):
    resource_name: str = ""
    score_name: str = ""


class _Coordinate(msgspec.Struct, frozen=True, rename={"add_on": "addOn"}):
    type: str = ""
    add_on: _AddOn = _AddOn()


class _Configuration(msgspec.Struct, frozen=True, rename="camel"):
    score_coordinate: _Coordinate = _Coordinate()
    weight: int = 1


class _Policy(msgspec.Struct, frozen=True):
    configurations: list[_Configuration] = []


class _ClusterSelector(msgspec.Struct, frozen=True, rename="camel"):
    label_selector: dict[str, Any] = {}
    claim_selector: dict[str, Any] = {}


class _Predicate(msgspec.Struct, frozen=True, rename="camel"):
    required_cluster_selector: _ClusterSelector = _ClusterSelector()


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    predicates: list[_Predicate] = []
    prioritizer_policy: _Policy = _Policy()
    number_of_clusters: int | None = None


class _Placement(msgspec.Struct, frozen=True):
    metadata: Metadata
    spec: _Spec = _Spec()


class RankedBy(msgspec.Struct, frozen=True):
    """One prioritizer of type AddOn with a weight other than 0."""

    resource: str
    """Name of the AddOnPlacementScore."""
    dimension: str
    weight: int


class Predicate(msgspec.Struct, frozen=True):
    """One of a Placement's predicates, as far as labels and claims go: CEL expressions are not evaluated here."""

    labels: LabelSelector
    claims: LabelSelector


class Placement(msgspec.Struct, frozen=True):
    """What is kept of a Placement."""

    uid: str
    wanted: int | None
    """numberOfClusters; None: every eligible cluster."""
    ranked_by: tuple[RankedBy, ...]
    predicates: tuple[Predicate, ...] = ()

    def may_choose(self, *, labels: Mapping[str, str], claims: Mapping[str, str]) -> bool:
        """Whether a cluster passes one of the predicates; every cluster does when there are none."""
        if not self.predicates:
            return True
        return any(each.labels.matches(dict(labels)) and each.claims.matches(dict(claims)) for each in self.predicates)


def placement(raw: msgspec.Raw) -> tuple[str, Placement]:
    """Keyed by name."""
    item = msgspec.json.decode(raw, type=_Placement)
    ranked = tuple(
        RankedBy(resource=each.score_coordinate.add_on.resource_name, dimension=each.score_coordinate.add_on.score_name, weight=each.weight)
        for each in item.spec.prioritizer_policy.configurations
        if each.score_coordinate.type == "AddOn" and each.weight
    )
    predicates = tuple(
        Predicate(
            labels=_selector(each.required_cluster_selector.label_selector), claims=_selector(each.required_cluster_selector.claim_selector)
        )
        for each in item.spec.predicates
    )
    return item.metadata.name, Placement(
        uid=item.metadata.uid, wanted=item.spec.number_of_clusters, ranked_by=ranked, predicates=predicates
    )


def reference(name: str, item: Placement, namespace: str) -> Reference:
    """For Events about it."""
    return Reference(api_version=f"{SCORE_GROUP}/v1beta1", kind="Placement", namespace=namespace, name=name, uid=item.uid)


def _selector(value: dict[str, Any]) -> LabelSelector:
    try:
        return LabelSelector.model_validate(value)
    except ValidationError:
        return LabelSelector()  # OCM calls it misconfigured and decides nothing: no cluster is left out by mistake
