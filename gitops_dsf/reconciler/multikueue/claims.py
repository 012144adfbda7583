"""Claims of Placements on MultiKueueConfigs: which Placement orders which config. Pure."""

import contextlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from gitops_dsf.hub.multikueue import MultiKueueOrder
from gitops_dsf.hub.placements import PlacementSummary
from gitops_dsf.reconciler.hub.kinds import InvolvedObject, placement_reference
from gitops_dsf.reconciler.multikueue.namespaces import FollowedNamespace


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigClaim:
    """A Placement that orders a MultiKueueConfig."""

    namespace: str
    name: str
    placement: PlacementSummary
    order: MultiKueueOrder

    @property
    def key(self) -> str:
        """namespace/name of the Placement."""
        return f"{self.namespace}/{self.name}"

    @property
    def reference(self) -> InvolvedObject:
        """The Placement, for Events."""
        return placement_reference(self.name, self.placement, self.namespace)


def claims_in(namespaces: Iterable[FollowedNamespace]) -> dict[str, list[ConfigClaim]]:
    """The claims by MultiKueueConfig, in order of namespace and name of the Placement."""
    claims: dict[str, list[ConfigClaim]] = defaultdict(list)
    for followed in sorted(namespaces, key=lambda followed: followed.name):
        for name, placement in sorted(followed.placements.items.items()):
            if not placement.multikueue:
                continue
            # An annotation of another version, or of another program, orders nothing.
            with contextlib.suppress(msgspec.DecodeError):
                order = msgspec.json.decode(placement.multikueue, type=MultiKueueOrder)
                claims[order.config].append(
                    ConfigClaim(
                        namespace=followed.name, name=name, placement=placement, order=order
                    )
                )
    return claims


def owner_of(claims: Sequence[ConfigClaim], written_by: str) -> ConfigClaim:
    """The claim that counts, of at least one.

    `written_by` is the Placement for which the list was written last. It stays the owner, so that a
    second Placement does not take the list away from it.
    """
    for claim in claims:
        if claim.key == written_by:
            return claim
    return claims[0]
