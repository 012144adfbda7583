"""What rules look at: everything declared, with what resolving found out about it so far."""

from collections.abc import Mapping
from dataclasses import dataclass

from gitops_dsf.repository.model.declared import Declared, Item
from gitops_dsf.repository.model.scorer import DynamicScorer
from gitops_dsf.repository.model.scoring_config import Mask
from gitops_dsf.resolve.effective import awaits_lock, effective
from gitops_dsf.resolve.fleet import Fleet
from gitops_dsf.resolve.overlay import Overlay, overlay
from gitops_dsf.resolve.targets import reach
from gitops_dsf.resolve.types import EffectiveScorer


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Context:
    """Read-only; rules draw conclusions from it and change nothing."""

    declared: Declared
    fleet: Fleet
    overlays: Mapping[str, Overlay]
    """Every well-formed scorer by name."""
    scorers: Mapping[str, EffectiveScorer]
    """Those of them that are complete, by name."""
    masks: tuple[Mask, ...]
    reach: Mapping[str, frozenset[str]]
    """Complete scorers to the clusters that selector and masks leave them, suspended or not."""

    @property
    def argocd_namespace(self) -> str:
        """Namespace that Placements and ApplicationSets belong in."""
        repository = self.declared.repository
        return "argocd" if repository is None else repository.value.spec.argocd.namespace

    def is_malformed(self, kind: str, name: str) -> bool:
        """Whether the object is there but has mistakes of its own, or a document that cannot be read could be
        it.
        """
        declared = self.declared
        return kind in declared.unreadable or not declared.malformed.isdisjoint({(kind, name), (kind, "")})

    def is_uncertain(self, *kinds: str) -> bool:
        """Whether an object of these kinds has mistakes of its own: then nothing follows from what is not
        found among them.
        """
        declared = self.declared
        return not declared.unreadable.isdisjoint(kinds) or any(
            kind in kinds for kind, _ in (*declared.malformed, *declared.disputed)
        )

    @property
    def is_upstream(self) -> bool:
        """Whether upstream's controller makes the works: delivery.mode UpstreamController."""
        repository = self.declared.repository
        return repository is not None and repository.value.spec.delivery.mode == "UpstreamController"

    def waits_for_lock(self, scorer: Item[DynamicScorer]) -> bool:
        """Whether fields are missing that only the scorer's /config says, and no lock says it yet."""
        return awaits_lock(self.overlays[scorer.name])

    def config_is_unseen(self, overlay: Overlay) -> bool:
        """Whether upstream's controller reads a /config that nobody looked at here: it may say anything that
        the spec leaves open.
        """
        return (
            self.is_upstream and overlay.scorer.value.spec.config_sync_mode == "Full" and overlay.lock is None
        )


def context_of(declared: Declared) -> Context:
    """Applies locks, and works out who runs where."""
    locks = {item.name: item for item in declared.locks}
    overlays = {item.name: overlay(item, locks.get(item.name)) for item in declared.scorers}
    scorers = {name: effective(found) for name, found in overlays.items() if not found.missing()}
    fleet = Fleet(
        clusters={item.name: item.value for item in declared.clusters},
        sets={item.name: item.value for item in declared.cluster_sets},
    )
    configs = declared.scoring_configs
    masks = tuple(configs[0].value.spec.masks) if configs else ()
    return Context(
        declared=declared,
        fleet=fleet,
        overlays=overlays,
        scorers=scorers,
        masks=masks,
        reach=reach(scorers.values(), masks, fleet),
    )
