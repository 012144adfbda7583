"""The input of rules: the declared objects, and the values derived from them."""

from collections.abc import Mapping
from dataclasses import dataclass

from gitops_dsf.repository.model.application import ScoredApplication
from gitops_dsf.repository.model.declared import Declared, Item, RankingItem
from gitops_dsf.repository.model.scored_placement import ScoredPlacement
from gitops_dsf.repository.model.scorer import DynamicScorer
from gitops_dsf.repository.model.scoring_config import Mask
from gitops_dsf.resolve.effective import awaits_lock, effective
from gitops_dsf.resolve.inventory import ClusterInventory
from gitops_dsf.resolve.overlay import Overlay, overlay
from gitops_dsf.resolve.targets import target_clusters
from gitops_dsf.resolve.types import EffectiveScorer


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Context:
    """Read-only input of every rule."""

    declared: Declared
    inventory: ClusterInventory
    overlays: Mapping[str, Overlay]
    """Every well-formed scorer by name."""
    scorers: Mapping[str, EffectiveScorer]
    """Complete scorers by name."""
    masks: tuple[Mask, ...]
    target_clusters: Mapping[str, frozenset[str]]
    """The target clusters of each complete scorer: selected and not masked. Suspension is ignored."""
    shared_placements: Mapping[str, Item[ScoredPlacement]]
    """ScoredPlacements in the Argo CD namespace by name: applications can follow their decisions."""

    @property
    def argocd_namespace(self) -> str:
        """The namespace of ApplicationSets, and of the Placements that they follow."""
        return _argocd_namespace(self.declared)

    def namespace_of(self, item: RankingItem) -> str:
        """The namespace of the Placement that an object with a ranking renders."""
        return item.value.metadata.namespace or self.argocd_namespace

    def ranking_of(self, item: Item[ScoredApplication]) -> RankingItem | None:
        """The object whose decision an application follows: itself, or the ScoredPlacement that it refers
        to. None if that does not exist.
        """
        ref = item.value.spec.placement.ref
        return item if ref is None else self.shared_placements.get(ref)

    def is_malformed(self, kind: str, name: str) -> bool:
        """Whether the object exists but is malformed, or could be in a file that cannot be parsed."""
        declared = self.declared
        return kind in declared.unreadable or not declared.malformed.isdisjoint({(kind, name), (kind, "")})

    def is_uncertain(self, *kinds: str) -> bool:
        """Whether any object of these kinds is malformed or ambiguous. Then a rule must not report that one
        is missing.
        """
        declared = self.declared
        return not declared.unreadable.isdisjoint(kinds) or any(
            kind in kinds for kind, _ in (*declared.malformed, *declared.ambiguous)
        )

    @property
    def is_upstream(self) -> bool:
        """Whether delivery.mode is UpstreamController: the upstream controller creates the ManifestWorks."""
        repository = self.declared.repository
        return repository is not None and repository.value.spec.delivery.mode == "UpstreamController"

    def waits_for_lock(self, scorer: Item[DynamicScorer]) -> bool:
        """Whether required fields come from the scorer's /config, and no lock has them yet."""
        return awaits_lock(self.overlays[scorer.name])

    def config_is_unseen(self, overlay: Overlay) -> bool:
        """Whether the upstream controller will read a /config that is unknown here. It may set any field that
        the spec leaves open.
        """
        return self.is_upstream and overlay.scorer.value.spec.reads_config and overlay.lock is None


def _argocd_namespace(declared: Declared) -> str:
    repository = declared.repository
    return "argocd" if repository is None else repository.value.spec.argocd.namespace


def context_of(declared: Declared) -> Context:
    """Applies locks and computes the target clusters of each scorer."""
    locks = {item.name: item for item in declared.locks}
    overlays = {item.name: overlay(item, locks.get(item.name)) for item in declared.scorers}
    scorers = {name: effective(found) for name, found in overlays.items() if not found.missing()}
    inventory = ClusterInventory(
        clusters={item.name: item.value for item in declared.clusters},
        sets={item.name: item.value for item in declared.cluster_sets},
    )
    configs = declared.scoring_configs
    masks = tuple(configs[0].value.spec.masks) if configs else ()
    return Context(
        declared=declared,
        inventory=inventory,
        overlays=overlays,
        scorers=scorers,
        masks=masks,
        target_clusters=target_clusters(scorers.values(), masks, inventory),
        shared_placements={
            item.name: item
            for item in declared.scored_placements
            if item.value.metadata.namespace in {None, _argocd_namespace(declared)}
        },
    )
