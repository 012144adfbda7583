"""Runs field rules on the valid parts of malformed objects, so that one run reports every mistake."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.repository.model.declared import Declared, Item
from gitops_dsf.resolve.context import context_of
from gitops_dsf.resolve.rules.registry import FIELD_RULES, rules_for


def findings_in_valid_parts(declared: Declared, found: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    """Findings of FIELD_RULES in malformed objects.

    Skips positions that already have a finding: the invalid value there was removed or replaced by a
    placeholder.
    """
    if not declared.partial:
        return
    known = {item.position for item in found}
    for view in (_scorers(declared), _others(declared)):
        context = context_of(view)
        for rule in rules_for(context, FIELD_RULES):
            yield from (item for item in rule(context) if item.position not in known)


def _of(declared: Declared, kind: str) -> tuple[Item[Any], ...]:
    return tuple(item for item in declared.partial if item.document.kind == kind)


def _scorers(declared: Declared) -> Declared:
    """Only the scorers, and the sources that they name. References to malformed scorers are not reported
    anyway.
    """
    return replace(
        declared,
        repository=None,
        scorers=_of(declared, "DynamicScorer"),
        scoring_configs=(),
        clusters=(),
        cluster_sets=(),
        locks=(),
        applications=(),
        scored_placements=(),
        placements=(),
        application_sets=(),
    )


def _others(declared: Declared) -> Declared:
    """Applications, masks, sets and settings, together with the well-formed objects that they refer to."""
    repositories = _of(declared, "FleetRepository")
    return replace(
        declared,
        repository=repositories[0] if repositories else declared.repository,
        scoring_configs=_of(declared, "DynamicScoringConfig"),
        metric_sources=(*declared.metric_sources, *_of(declared, "MetricSource")),
        cluster_sets=(*declared.cluster_sets, *_of(declared, "ManagedClusterSet")),
        applications=_of(declared, "ScoredApplication"),
        scored_placements=(*declared.scored_placements, *_of(declared, "ScoredPlacement")),
        placements=(),
        application_sets=(),
    )
