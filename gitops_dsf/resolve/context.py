"""The input of rules: the declared objects, and the values derived from them.

A value that several rules need, such as effective scorers, their variants and their target
clusters, is computed once here. A rule takes the Context and changes nothing in it.

Guaranteed: it is built from any set of well-formed objects, also if settings, inventory or a
reference are missing. A scorer is complete only if it is so on all of its clusters.

Not guaranteed: that an absent object does not exist. It may be one that could not be read, so a
rule declares the kinds that it must see whole (`rules.registry`). Nor that the inventory is what
the hub has: clusters may have joined since, and nothing here asks a hub.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from gitops_dsf.diagnostics import Severity
from gitops_dsf.repository.load import FieldPath
from gitops_dsf.repository.model.declared import CarriedItem, Declared, Item, RankingItem
from gitops_dsf.repository.model.external_scores import AddOnScore
from gitops_dsf.repository.model.ranking import Score
from gitops_dsf.repository.model.repository import NO_SETTINGS, FleetRepository, FleetRepositorySpec
from gitops_dsf.repository.model.scored_application import MoveCheck, ScoredApplication
from gitops_dsf.repository.model.scored_placement import ScoredPlacement
from gitops_dsf.repository.model.scoring_config import Mask
from gitops_dsf.resolve.external_scores import ExternalScores
from gitops_dsf.resolve.inventory import NO_CLUSTERS, ClusterInventory
from gitops_dsf.resolve.metric_sources import ResolvedSource, Variant, resolve_source
from gitops_dsf.resolve.peers import Peer, peers_of
from gitops_dsf.resolve.ranked_scores import BUILT_IN_SPAN
from gitops_dsf.resolve.scorer import EffectiveScorer, effective, with_variant
from gitops_dsf.resolve.targets import target_clusters


class RankedScore(NamedTuple):
    """A score by which a ScoredApplication or a ScoredPlacement ranks clusters."""

    ranking: RankingItem
    path: FieldPath
    score: Score


class WrittenCheck(NamedTuple):
    """A check by which an application verifies its moves."""

    application: Item[ScoredApplication]
    path: FieldPath
    check: MoveCheck


class RankedAddOnScore(NamedTuple):
    """A score of a ranking that another add-on publishes."""

    ranking: RankingItem
    path: FieldPath
    score: Score
    add_on: AddOnScore


class NamedScorer(NamedTuple):
    """A place with the name of a scorer: a score of a ranking, or a check of moves."""

    ranking: RankingItem
    path: FieldPath
    entry: Score | MoveCheck
    name: str


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Context:
    """Read-only input of every rule."""

    declared: Declared
    settings: FleetRepositorySpec
    """The settings; their defaults if there are none."""
    inventory: ClusterInventory
    scorers: Mapping[str, EffectiveScorer]
    """Every well-formed scorer by name. With source.ref, no variant is applied."""
    by_variant: Mapping[str, tuple[EffectiveScorer, ...]]
    """Every well-formed scorer by name, with each variant of its MetricSource.

    Without a MetricSource, the scorer alone.
    """
    variants: Mapping[str, tuple[EffectiveScorer, ...]]
    """Every well-formed scorer by name, with those variants of its source that its clusters use.

    All variants, if no target cluster uses any. Without source.ref, the scorer alone.
    """
    sources: Mapping[str, ResolvedSource]
    """Every well-formed MetricSource by name."""
    peers: tuple[Peer, ...]
    """Every base URL that agents and the hub scorer call."""
    complete: Mapping[str, EffectiveScorer]
    """Complete scorers by name."""
    masks: tuple[Mask, ...]
    target_clusters: Mapping[str, frozenset[str]]
    """The target clusters of each complete scorer: selected and not masked.

    Suspension is ignored.
    """
    shared_placements: Mapping[str, Item[ScoredPlacement]]
    """ScoredPlacements in the Argo CD namespace by name, which applications can follow."""
    external_scores: ExternalScores
    """The scores of other add-ons that the settings declare."""
    locks_are_final: bool = False
    """Whether scores that only a lock could add, which is not written yet, do not count."""

    @property
    def repository(self) -> Item[FleetRepository]:
        """The settings. Rules that ask for them need SETTINGS."""
        if self.declared.repository is None:
            raise AssertionError("this rule needs SETTINGS")
        return self.declared.repository

    @property
    def argocd_namespace(self) -> str:
        """The namespace of ApplicationSets, and of the Placements that they follow."""
        return self.settings.argocd.namespace

    def namespace_of(self, item: RankingItem | CarriedItem) -> str:
        """The namespace of what an object renders: Argo CD's if it names none."""
        return item.value.metadata.namespace or self.argocd_namespace

    def ranking_of(self, application: Item[ScoredApplication]) -> RankingItem | None:
        """The object whose decision an application follows: itself, or the one it refers to.

        None if that does not exist.
        """
        ref = application.value.spec.placement.ref
        return application if ref is None else self.shared_placements.get(ref)

    def source_of(self, scorer: EffectiveScorer) -> ResolvedSource | None:
        """The well-formed MetricSource that a scorer names."""
        return self.sources.get(scorer.spec.source.ref or "")

    @property
    def is_upstream(self) -> bool:
        """Whether the upstream controller creates the ManifestWorks, by delivery.mode."""
        return not self.settings.delivers_works

    @property
    def unmatched(self) -> Severity:
        """The severity of a scorer or an application that no cluster of the inventory matches."""
        return Severity.WARNING if self.settings.allow_unmatched_selectors else Severity.ERROR

    @property
    def each_variant(self) -> Iterator[EffectiveScorer]:
        """Every well-formed scorer with each variant of its source.

        For rules about type, path and host.
        """
        for variants in self.variants.values():
            yield from variants

    @property
    def each_type(self) -> Iterator[EffectiveScorer]:
        """Every well-formed scorer with each type of its source.

        For rules about queries: a query is then parsed once for many variants.
        """
        for variants in self.variants.values():
            yield from {scorer.spec.source.type: scorer for scorer in variants}.values()

    @property
    def source_variants(self) -> Iterator[Variant]:
        """Every variant of the MetricSources."""
        return _variants(self.sources)

    @property
    def ranked(self) -> Iterator[RankedScore]:
        """Every score of a ranking."""
        for ranking in self.declared.rankings:
            for index, score in enumerate(ranking.value.spec.scores):
                yield RankedScore(ranking, ("spec", "scores", index), score)

    @property
    def verified(self) -> Iterator[WrittenCheck]:
        """Every check by which an application verifies its moves."""
        for application in self.declared.applications:
            for index, check in enumerate(application.value.spec.moves.verify):
                yield WrittenCheck(application, ("spec", "moves", "verify", index), check)

    @property
    def ranked_by_add_ons(self) -> Iterator[RankedAddOnScore]:
        """Every score of a ranking that another add-on publishes."""
        for ranking, path, score in self.ranked:
            if score.add_on is not None:
                yield RankedAddOnScore(ranking, path, score, score.add_on)

    @property
    def named_scorers(self) -> Iterator[NamedScorer]:
        """Every name of a scorer, to rank clusters or to verify moves."""
        for ranking, path, score in self.ranked:
            if score.scorer is not None:
                yield NamedScorer(ranking, path, score, score.scorer)
        for application, path, check in self.verified:
            yield NamedScorer(application, path, check, check.scorer)

    def width_of(self, score: Score) -> int | None:
        """The points by which a score can differ between two clusters that both have it.

        It is None if its publisher is unknown.
        """
        if score.add_on is not None:
            declared = self.external_scores.of(score.add_on.resource, score.add_on.name)
            if declared is None:
                return None
            return declared.published.width
        if score.built_in is not None:
            return BUILT_IN_SPAN
        scorer = self.scorers.get(score.scorer or "")
        return None if scorer is None else scorer.width

    def waits_for_lock(self, scorer: EffectiveScorer) -> bool:
        """Whether required fields come from the scorer's /config, and no lock has them yet."""
        return any(variant.awaits_lock for variant in self.variants[scorer.name])

    def config_is_unseen(self, scorer: EffectiveScorer) -> bool:
        """Whether upstream may read an unknown /config, which may set any open field."""
        return self.is_upstream and scorer.spec.reads_config and scorer.lock is None


def context_of(declared: Declared, *, locks_are_final: bool = False) -> Context:
    """Derives what rules judge by from the declared objects."""
    settings = NO_SETTINGS if declared.repository is None else declared.repository.value.spec
    inventory = ClusterInventory(
        clusters={cluster.name: cluster.value for cluster in declared.clusters},
        sets={cluster_set.name: cluster_set.value for cluster_set in declared.cluster_sets},
    )
    sources: dict[str, ResolvedSource] = {}
    for metric_source in declared.metric_sources:
        sources[metric_source.name] = resolve_source(metric_source, inventory)
    locks = {lock.name: lock for lock in declared.locks}
    scorers: dict[str, EffectiveScorer] = {}
    by_variant: dict[str, tuple[EffectiveScorer, ...]] = {}
    for declared_scorer in declared.scorers:
        scorer = effective(declared_scorer, locks.get(declared_scorer.name))
        scorers[declared_scorer.name] = scorer
        source = sources.get(scorer.spec.source.ref or "")
        by_variant[declared_scorer.name] = _with_variants(scorer, source)
    configs = declared.scoring_configs
    # Agents and upstream's controller read one object of a fixed name; DSF207 names the others.
    masks = tuple(configs[0].value.spec.masks) if configs else ()
    targets = target_clusters(scorers.values(), masks, inventory)
    variants: dict[str, tuple[EffectiveScorer, ...]] = {}
    complete: dict[str, EffectiveScorer] = {}
    for name, scorer in scorers.items():
        # `targets` has no scorer without a score name, because masks name scores.
        variants[name] = _used(by_variant[name], targets.get(name, NO_CLUSTERS))
        # A scorer is complete only if it is so on all of its clusters: one variant may have the
        # host that another lacks.
        if not any(variant.missing for variant in variants[name]):
            complete[name] = scorer
    # Argo CD 3.6.1 looks decisions up in its own namespace alone.
    shared_placements: dict[str, Item[ScoredPlacement]] = {}
    for placement in declared.scored_placements:
        if placement.value.metadata.namespace in {None, settings.argocd.namespace}:
            shared_placements[placement.name] = placement
    return Context(
        declared=declared,
        settings=settings,
        inventory=inventory,
        scorers=scorers,
        by_variant=by_variant,
        variants=variants,
        sources=sources,
        peers=tuple(peers_of(scorers, _variants(sources))),
        complete=complete,
        masks=masks,
        target_clusters={name: targets[name] for name in complete},
        shared_placements=shared_placements,
        external_scores=ExternalScores(settings.external_scores),
        locks_are_final=locks_are_final,
    )


def _variants(sources: Mapping[str, ResolvedSource]) -> Iterator[Variant]:
    for source in sources.values():
        yield from source.variants


def _with_variants(
    scorer: EffectiveScorer, source: ResolvedSource | None
) -> tuple[EffectiveScorer, ...]:
    """The scorer with each variant of its MetricSource; the scorer alone without one."""
    if source is None:
        return (scorer,)
    return tuple(with_variant(scorer, variant) for variant in source.variants) or (scorer,)


def _used(
    forms: tuple[EffectiveScorer, ...], clusters: frozenset[str]
) -> tuple[EffectiveScorer, ...]:
    """The forms of a scorer, one for each variant, that its clusters use; all if they use none."""
    used: list[EffectiveScorer] = []
    for form in forms:
        if form.chosen and not form.chosen.clusters.isdisjoint(clusters):
            used.append(form)
    # A scorer that runs nowhere yet is judged by all of them, so that its mistakes show.
    return tuple(used) or forms
