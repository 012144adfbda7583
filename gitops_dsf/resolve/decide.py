"""Resolves declared objects."""

from collections.abc import Mapping
from typing import Any

from gitops_dsf.diagnostics import Diagnostic, has_errors, in_order
from gitops_dsf.repository.model.declared import Declared, RankingItem
from gitops_dsf.repository.model.ranking import ScoredPlacementSpec
from gitops_dsf.resolve.context import Context, context_of
from gitops_dsf.resolve.rules.registry import findings
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.resolve.stickiness import choose
from gitops_dsf.resolve.targets import clusters_with_agents, targets
from gitops_dsf.resolve.types import Resolved, ResolvedPlacement, ResolvedScore


def resolve(declared: Declared) -> tuple[Resolved | None, list[Diagnostic]]:
    """Returns the resolved repository and all findings in order of position. The repository is None when any
    finding is an error.
    """
    context = context_of(declared)
    diagnostics = in_order([*declared.diagnostics, *findings(context)])
    if has_errors(diagnostics):
        return None, diagnostics
    return _decide(context), diagnostics


def _decide(context: Context) -> Resolved:
    declared = context.declared
    repository = declared.repository
    placements = [
        _ranking(item, context.scorers, namespace=context.namespace_of(item)) for item in declared.rankings
    ]
    if repository is None or None in placements:
        raise AssertionError("a repository without errors must resolve; a rule is missing")
    scorers = tuple(context.complete[name] for name in sorted(context.complete))
    waiting = [found for _, found in sorted(context.scorers.items()) if context.waits_for_lock(found)]
    carried = sorted(
        declared.carried, key=lambda item: (item.document.kind, item.name, context.namespace_of(item))
    )
    return Resolved(
        repository=repository.value,
        scorers=scorers,
        open_scorers=tuple(waiting) if context.is_upstream else (),
        clusters=tuple(item.value for item in declared.clusters),
        cluster_sets=tuple(item.value for item in declared.cluster_sets),
        scoring_config=declared.scoring_configs[0].value if declared.scoring_configs else None,
        masks=context.masks,
        targets=targets(scorers, context.target_clusters, context.inventory),
        source_variants={
            name: {cluster: variant.index for variant in source.variants for cluster in variant.clusters}
            for name, source in context.sources.items()
        },
        agents=clusters_with_agents(context.scorers.values(), context.inventory),
        placements=tuple(
            sorted(
                (found for found in placements if found is not None),
                key=lambda found: (found.namespace, found.name),
            )
        ),
        applications=tuple(item.value for item in declared.applications),
        carried=tuple(_with_namespace(item.document.data, context.namespace_of(item)) for item in carried),
    )


def _ranking(
    item: RankingItem, scorers: Mapping[str, EffectiveScorer], *, namespace: str
) -> ResolvedPlacement | None:
    """Resolves a ranking to the Placement that it renders. Returns None when a reference or the stickiness is
    invalid, which a rule reports.
    """
    spec = item.value.spec
    scores: list[ResolvedScore] = []
    for score in spec.scores:
        scorer = scorers.get(score.scorer)
        if scorer is None or not scorer.score_name:
            return None
        dimension = score.dimension or scorer.only_item
        if dimension is None:
            return None
        scores.append(
            ResolvedScore(
                scorer=score.scorer,
                resource_name=scorer.resource_name,
                dimension=dimension,
                weight=score.weight,
            )
        )
    weights = choose(spec.stickiness, [score.weight for score in scores])
    if weights is None:
        return None
    return ResolvedPlacement(
        name=item.name,
        namespace=namespace,
        metadata=item.value.metadata,
        ranking=spec,
        renders_bindings=not isinstance(spec, ScoredPlacementSpec) or spec.bindings == "Rendered",
        written=item,
        scores=tuple(scores),
        score_factor=weights.factor,
        steady_weight=weights.steady,
    )


def _with_namespace(data: Mapping[str, Any], namespace: str) -> dict[str, Any]:
    return {**data, "metadata": {**data["metadata"], "namespace": namespace}}
