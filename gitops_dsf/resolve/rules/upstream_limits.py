"""With delivery.mode UpstreamController: what upstream's controller silently skips, and what its agent cannot
run.

The agent splits a query at every `;`, sends start, end and step, and reads `values`. The controller skips a
scorer whose source has no range or step. If /config names a scoring host, it sends scoring requests to the
host of the source.
"""

from collections.abc import Iterator
from typing import Final

from dsf_wire.measures import SOURCE_TYPE
from dsf_wire.query import split
from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.hub.glob import is_glob
from gitops_dsf.hub.urls import QUERY_PATH, origin
from gitops_dsf.repository.load import Path
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.scorer import EffectiveScorer

_HINT: Final = "remove it, or write delivery.mode: ManifestWork in gitops-dsf.yaml"


def upstream_understands_it(context: Context) -> Iterator[Diagnostic]:
    """Upstream needs a scoring API, and compares the names of masks exactly."""
    if not context.is_upstream:
        return
    path: Path = ("spec", "scoring", "type")
    for item in context.declared.scorers:
        if item.document.has(path):
            message = "scoring.type has no effect with delivery.mode UpstreamController"
            if item.value.spec.scored_by_query:
                message = (
                    "upstream's agent needs a scoring API: of this scorer it would post the series to an"
                    " empty URL, and publish nothing"
                )
            yield codes.UPSTREAM_ONLY.at(item.document.key_at(path), message, _HINT)
    for config in context.declared.scoring_configs:
        for index, mask in enumerate(config.value.spec.masks):
            where: Path = ("spec", "masks", index)
            if mask.cluster_selector is not None:
                position = config.document.key_at((*where, "clusterSelector"))
                yield codes.UPSTREAM_ONLY.at(position, "upstream's masks have no clusterSelector", _HINT)
            for name, value in (("clusterName", mask.cluster_name or ""), ("scoreName", mask.score_name)):
                if is_glob(value):
                    message = f"upstream compares names exactly; {value} would match nothing"
                    yield codes.UPSTREAM_ONLY.at(config.document.at((*where, name)), message, _HINT)


def upstream_can_run_it(context: Context) -> Iterator[Diagnostic]:
    """Reports scorers that upstream's agent cannot run, but for what an unknown /config sets."""
    if not context.is_upstream:
        return
    for scorer in context.scorers.values():
        if scorer.spec.scored_by_query:
            continue  # it cannot run at all, which another rule reports
        if scorer.is_pushed:
            message = "upstream's add-on runs no receiver for OpenTelemetry metrics"
            hint = "write type: Prometheus and a host, or delivery.mode: ManifestWork in gitops-dsf.yaml"
            yield codes.UPSTREAM_CANNOT_RUN.at(scorer.at("source.type"), message, hint)
        elif scorer.source_type == "Prometheus":
            yield from _separators(scorer)
            yield from _window(scorer, unseen=context.config_is_unseen(scorer))
        elif scorer.source_type == SOURCE_TYPE:
            yield codes.UPSTREAM_CANNOT_RUN.at(
                scorer.at("source.type"),
                "upstream's agent does not know source type Kubernetes: it sends the scoring API no series",
                "write delivery.mode: ManifestWork in gitops-dsf.yaml, or ask a Prometheus",
            )
        yield from _scoring_host(scorer)


def _separators(scorer: EffectiveScorer) -> Iterator[Diagnostic]:
    query = scorer.spec.source.params.query
    parts = split(query)
    start = 0
    for piece in query.split(";"):
        end = start + len(piece)
        if end < len(query) and any(part.offset <= end < part.offset + len(part.text) for part in parts):
            yield codes.UPSTREAM_CANNOT_RUN.at(
                scorer.in_query(end),
                "upstream's agent cuts the query at this `;`, also inside of strings, brackets and comments",
                "in a string write \\x3b, which PromQL reads as `;` (\\\\x3b in YAML's double quotes);"
                " elsewhere leave it out",
            )
        if query.strip() and not piece.strip():
            at = min(end, len(query) - 1) if start < len(query) else len(query) - 1
            message = (
                "upstream's agent sends an empty expression here, and Prometheus refuses the whole cycle"
            )
            yield codes.UPSTREAM_CANNOT_RUN.at(scorer.in_query(at), message, "remove the `;`")
        start = end + 1


def _window(scorer: EffectiveScorer, *, unseen: bool) -> Iterator[Diagnostic]:
    if scorer.is_instant:
        field = "source.path" if scorer.spec.source.path else "source.host"
        message = "upstream's agent reads range queries only: from this path it gets series without values"
        hint = f"write path: {QUERY_PATH}, with a range and a step"
        yield codes.UPSTREAM_CANNOT_RUN.at(scorer.at(field), message, hint)
    elif scorer.spec.source.params.range == 0 and scorer.spec.source.params.query and not unseen:
        written = "0" if scorer.has("source.params.range") else "missing"
        message = f"range is {written}: upstream's controller silently skips the scorer"
        hint = "write the seconds of history, such as range: 60"
        yield codes.UPSTREAM_CANNOT_RUN.at(scorer.at("source.params.range"), message, hint)


def _scoring_host(scorer: EffectiveScorer) -> Iterator[Diagnostic]:
    if scorer.lock is None or not scorer.is_locked("scoring.host"):
        return
    host = scorer.lock.value.spec.config.source.host
    if origin(scorer.spec.scoring.host) != origin(host):
        sent = host or "no host at all"
        yield codes.UPSTREAM_CANNOT_RUN.at(
            scorer.at("scoring.host"),
            "where /config names a scoring host, upstream's controller sends scoring requests to its source"
            f" host: {sent}",
            "let /config leave scoring.host out; scoring.host of the scorer, or the origin of configURL,"
            " counts then",
        )
