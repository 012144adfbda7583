"""Checks what the upstream controller and agent cannot do, with delivery.mode UpstreamController.

Upstream's agent splits a query at every `;`, sends start, end and step, and reads `values`. Its
controller skips a scorer whose source has no range or step. If /config names a scoring host, it
sends scoring requests to the host of the source.
"""

from collections.abc import Iterator
from typing import Final

from dsf_wire.measures import SOURCE_TYPE
from dsf_wire.query import split
from gitops_dsf.diagnostics import Diagnostic, Edit, codes
from gitops_dsf.globs import is_glob
from gitops_dsf.repository.load import FieldPath
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.scoring_config import DynamicScoringConfig
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.urls.parts import origin
from gitops_dsf.urls.query_apis import QUERY_PATH

_QUERY: Final[FieldPath] = ("spec", "source", "params", "query")
_HINT: Final = "remove it, or write delivery.mode: ManifestWork in gitops-dsf.yaml"


@rule()
def upstream_understands_it(context: Context) -> Iterator[Diagnostic]:
    """Upstream needs a scoring API, and compares the names of masks exactly."""
    if not context.is_upstream:
        return
    scoring_type: FieldPath = ("spec", "scoring", "type")
    for scorer in context.declared.scorers:
        # Upstream's summaries have no type of scoring (addon-contrib f5844b9), so its agent calls
        # an API in any case.
        if scorer.document.has(scoring_type):
            yield codes.UPSTREAM_ONLY.at(
                scorer.document.key_at(scoring_type),
                "upstream's agent needs a scoring API: of this scorer it would post the series to"
                " an empty URL, and publish nothing"
                if scorer.value.spec.scored_by_query
                else "scoring.type has no effect with delivery.mode UpstreamController",
                _HINT,
            )
    for config in context.declared.scoring_configs:
        yield from _masks(config)


@rule()
def upstream_can_run_it(context: Context) -> Iterator[Diagnostic]:
    """Reports scorers that upstream's agent cannot run, unless an unknown /config may help."""
    if not context.is_upstream:
        return
    for scorer in context.scorers.values():
        if scorer.spec.scored_by_query:
            continue  # it cannot run at all, which another rule reports
        if scorer.is_pushed:
            yield codes.UPSTREAM_CANNOT_RUN.at(
                scorer.at("source.type"),
                "upstream's add-on runs no receiver for OpenTelemetry metrics",
                "write type: Prometheus and a host, or delivery.mode: ManifestWork in"
                " gitops-dsf.yaml",
            )
        elif scorer.source_type == "Prometheus":
            yield from _separators(scorer)
            yield from _window(scorer, unseen=context.config_is_unseen(scorer))
        elif scorer.source_type == SOURCE_TYPE:
            yield codes.UPSTREAM_CANNOT_RUN.at(
                scorer.at("source.type"),
                "upstream's agent does not know source type Kubernetes: it sends the scoring API no"
                " series",
                "write delivery.mode: ManifestWork in gitops-dsf.yaml, or ask a Prometheus",
            )
        yield from _scoring_host(scorer)


def _masks(config: Item[DynamicScoringConfig]) -> Iterator[Diagnostic]:
    for index, mask in enumerate(config.value.spec.masks):
        path: FieldPath = ("spec", "masks", index)
        if mask.cluster_selector is not None:
            yield codes.UPSTREAM_ONLY.at(
                config.document.key_at((*path, "clusterSelector")),
                "upstream's masks have no clusterSelector",
                _HINT,
            )
        names = {"clusterName": mask.cluster_name or "", "scoreName": mask.score_name}
        for field, name in names.items():
            if is_glob(name):
                yield codes.UPSTREAM_ONLY.at(
                    config.document.at((*path, field)),
                    f"upstream compares names exactly; {name} would match nothing",
                    _HINT,
                )


def _separators(scorer: EffectiveScorer) -> Iterator[Diagnostic]:
    """Checks each `;` of a query."""
    query = scorer.spec.source.params.query
    parts = split(query)
    start = 0
    for piece in query.split(";"):
        end = start + len(piece)
        is_inside = any(part.offset <= end < part.offset + len(part.text) for part in parts)
        # The agent splits the text, and knows nothing of PromQL.
        if is_inside:
            yield codes.UPSTREAM_CANNOT_RUN.at(
                scorer.in_query(end),
                "upstream's agent cuts the query at this `;`, also inside of strings, brackets and"
                " comments",
                "in a string write \\x3b, which PromQL reads as `;` (\\\\x3b in YAML's double"
                " quotes); elsewhere leave it out",
            )
        if query.strip() and not piece.strip():
            yield _empty_expression(scorer, query, start, end, is_inside=is_inside)
        start = end + 1


def _empty_expression(
    scorer: EffectiveScorer, query: str, start: int, end: int, *, is_inside: bool
) -> Diagnostic:
    """The finding about nothing between two `;`, or before the first or behind the last one."""
    last = len(query) - 1
    separator = end if end < len(query) else start - 1
    without = query[:separator] + query[separator + 1 :]
    is_exact = not is_inside and not scorer.is_locked("source.params.query")
    return codes.UPSTREAM_CANNOT_RUN.at(
        scorer.in_query(min(end, last) if start < len(query) else last),
        "upstream's agent sends an empty expression here, and Prometheus refuses the whole cycle",
        "remove the `;`",
        edits=(Edit(_QUERY, value=without),) if is_exact else (),
    )


def _window(scorer: EffectiveScorer, *, unseen: bool) -> Iterator[Diagnostic]:
    """Checks that a range query is asked, with a range."""
    if scorer.is_instant:
        field = "source.path" if scorer.spec.source.path else "source.host"
        yield codes.UPSTREAM_CANNOT_RUN.at(
            scorer.at(field),
            "upstream's agent reads range queries only: from this path it gets series without"
            " values",
            f"write path: {QUERY_PATH}, with a range and a step",
        )
    elif scorer.spec.source.params.range == 0 and scorer.spec.source.params.query and not unseen:
        state = "0" if scorer.has("source.params.range") else "missing"
        yield codes.UPSTREAM_CANNOT_RUN.at(
            scorer.at("source.params.range"),
            f"range is {state}: upstream's controller silently skips the scorer",
            "write the seconds of history, such as range: 60",
        )


def _scoring_host(scorer: EffectiveScorer) -> Iterator[Diagnostic]:
    # addon-contrib f5844b9 takes the host of the source for both, where /config has a scoring host.
    if scorer.lock is None or not scorer.is_locked("scoring.host"):
        return
    source_host = scorer.lock.value.spec.config.source.host
    if origin(scorer.spec.scoring.host) != origin(source_host):
        yield codes.UPSTREAM_CANNOT_RUN.at(
            scorer.at("scoring.host"),
            "where /config names a scoring host, upstream's controller sends scoring requests to"
            f" its source host: {source_host or 'no host at all'}",
            "let /config leave scoring.host out; scoring.host of the scorer, or the origin of"
            " configURL, counts then",
        )
