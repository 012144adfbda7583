"""Checks MetricSources: scorers must name existing ones, and each variant must be used."""

from collections.abc import Iterator
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.metric_sources import ResolvedSource
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.wording import did_you_mean_one_of, names_text

MAX_NAMED: Final = 5
"""Clusters that a finding names."""


@rule()
def sources_exist(context: Context) -> Iterator[Diagnostic]:
    """Every MetricSource that a scorer names must exist."""
    for scorer in context.declared.scorers:
        name = scorer.value.spec.source.ref
        if name is None or name in context.sources:
            continue
        # A document that cannot be read may be the one that is meant.
        if context.declared.may_exist("MetricSource", name):
            continue
        yield codes.UNKNOWN_SOURCE.at(
            scorer.at("spec", "source", "ref"),
            f"there is no MetricSource {name}",
            did_you_mean_one_of(name, context.sources)
            if context.sources
            else "write it into config/, or write source.host",
        )


@rule(needs=("ManagedCluster", "DynamicScoringConfig"))
def sources_cover_their_clusters(context: Context) -> Iterator[Diagnostic]:
    """Every target cluster of a scorer needs a variant of its MetricSource."""
    for name, clusters in context.target_clusters.items():
        scorer = context.scorers[name]
        source = context.source_of(scorer)
        if source is None or scorer.spec.suspend:
            continue
        lacking = sorted(clusters & source.lacking)
        if lacking:
            these = "this cluster" if len(lacking) == 1 else "these clusters"
            yield codes.SOURCE_LACKING.at(
                scorer.declared.at("spec", "source", "ref"),
                f"{name} runs on {names_text(lacking, max_names=MAX_NAMED)}, and MetricSource"
                f" {source.name} has no variant for {these}",
                f"add a variant to {source.declared.document.file}; one without clusterSelector"
                " serves all other clusters",
            )


@rule(needs=("DynamicScorer",))
def sources_are_used(context: Context) -> Iterator[Diagnostic]:
    """One that no scorer names is left over. A name that does not exist may be a misspelt one."""
    used = {scorer.spec.source.ref for scorer in context.scorers.values()} - {None}
    # One that seems unused may be the one that a scorer misspells, which has a finding already.
    if not used <= context.sources.keys():
        return
    for source in context.sources.values():
        if source.name not in used:
            yield codes.UNUSED_SOURCE.at(
                source.declared.position,
                f"no scorer names MetricSource {source.name}",
                f"write source.ref: {source.name} into a scorer, or remove the MetricSource",
            )


@rule()
def variants_can_match(context: Context) -> Iterator[Diagnostic]:
    """A variant is never used behind one without selector, or with the same selector."""
    for source in context.sources.values():
        yield from _dead_variants(source)


def _dead_variants(source: ResolvedSource) -> Iterator[Diagnostic]:
    by_selector: dict[str, int] = {}
    catch_all: int | None = None
    for variant in source.variants:
        selector = variant.value.cluster_selector
        key = "" if selector is None else selector.model_dump_json()
        if catch_all is not None:
            yield codes.DEAD_VARIANT.at(
                source.declared.at(*variant.path),
                f"variants[{variant.index}] is never used: variants[{catch_all}] selects every"
                " cluster and comes first",
                "give it another clusterSelector, move it up, or remove it",
            )
        elif key in by_selector:
            yield codes.DEAD_VARIANT.at(
                source.declared.at(*variant.path),
                f"variants[{variant.index}] is never used: variants[{by_selector[key]}] has the"
                " same clusterSelector and comes first",
                "give it another clusterSelector, move it up, or remove it",
            )
        else:
            by_selector[key] = variant.index
            # An empty selector selects every cluster, as no selector does.
            if selector is None or not (selector.match_labels or selector.match_expressions):
                catch_all = variant.index
