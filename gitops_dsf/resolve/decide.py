"""Resolves declared objects."""

from collections.abc import Mapping
from typing import Any

from gitops_dsf.diagnostics import Diagnostic, has_errors, in_order
from gitops_dsf.repository.model.declared import Declared
from gitops_dsf.resolve.context import Context, context_of
from gitops_dsf.resolve.rankings import resolve_ranking
from gitops_dsf.resolve.rules.registry import findings
from gitops_dsf.resolve.targets import clusters_with_agents, targets
from gitops_dsf.resolve.template_parameters import cluster_parameters
from gitops_dsf.resolve.types import Resolved


def resolve(declared: Declared, *, locks_are_final: bool = False) -> tuple[Resolved | None, list[Diagnostic]]:
    """Returns the resolved repository and all findings in order of position. The repository is None when any
    finding is an error. With `locks_are_final`, so is a mask for a score that only a lock could add that is
    not written yet.
    """
    context = context_of(declared, locks_are_final=locks_are_final)
    diagnostics = in_order([*declared.diagnostics, *findings(context)])
    if has_errors(diagnostics):
        return None, diagnostics
    return _decide(context), diagnostics


def _decide(context: Context) -> Resolved:
    declared = context.declared
    repository = declared.repository
    placements = [
        resolve_ranking(
            item, context.scorers, namespace=context.namespace_of(item), settings=context.settings
        )
        for item in declared.rankings
    ]
    if repository is None or None in placements:
        raise AssertionError("a repository without errors must resolve; a rule is missing")
    scorers = tuple(context.complete[name] for name in sorted(context.complete))
    waiting = [found for _, found in sorted(context.scorers.items()) if context.waits_for_lock(found)]
    carried = sorted(
        declared.carried, key=lambda item: (item.document.kind, item.name, context.namespace_of(item))
    )
    runs_on = {
        scorer.name: frozenset[str]() if scorer.spec.suspend else context.target_clusters[scorer.name]
        for scorer in scorers
    }
    return Resolved(
        repository=repository.value,
        scorers=scorers,
        open_scorers=tuple(waiting) if context.is_upstream else (),
        clusters=tuple(item.value for item in declared.clusters),
        cluster_sets=tuple(item.value for item in declared.cluster_sets),
        scoring_config=declared.scoring_configs[0].value if declared.scoring_configs else None,
        masks=context.masks,
        maintenance=tuple(item.value for item in declared.maintenance),
        runs_on=runs_on,
        targets=targets(runs_on, context.inventory),
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
        cluster_parameters={
            item.name: found for item in declared.applications if (found := cluster_parameters(context, item))
        },
        carried=tuple(_with_namespace(item.document.data, context.namespace_of(item)) for item in carried),
    )


def _with_namespace(data: Mapping[str, Any], namespace: str) -> dict[str, Any]:
    return {**data, "metadata": {**data["metadata"], "namespace": namespace}}
