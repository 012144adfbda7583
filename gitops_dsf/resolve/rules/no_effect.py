"""Fields that have no effect where they are written, as a table: in which objects, and what is said; and what
upstream cannot do with delivery.mode UpstreamController.

Upstream's agent splits a query at every `;`, sends start, end and step, and reads `values`. Its controller
skips a scorer whose source has no range or step. If /config names a scoring host, it sends scoring requests
to the host of the source.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from dsf_wire.measures import SOURCE_TYPE
from dsf_wire.query import split
from gitops_dsf.diagnostics import Diagnostic, Edit, codes
from gitops_dsf.hub.glob import is_glob
from gitops_dsf.hub.scorers import PUSHED
from gitops_dsf.hub.urls import QUERY_PATH, origin
from gitops_dsf.repository.load import Document, Path, value_at
from gitops_dsf.repository.model.mistake import dotted
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.resolve.scorer import EffectiveScorer

Place = tuple[Document, Path, str]
"""A document, the object in it that has the fields, and the name of what decides in their place."""


class Row(NamedTuple):
    """Fields that have no effect for one reason.

    In the texts `path` leads from the object to the field and `whole` from the document, `field` is
    the last part of it, and `of` what decides in its place.
    """

    code: codes.Code
    places: Callable[[Context], Iterator[Place]]
    fields: str
    message: str
    hint: str
    is_removed_by_fix: bool = False
    """Whether to remove the field is the only way, so that `validate --fix` may do it."""


def _scorers(chosen: Callable[[EffectiveScorer], bool]) -> Callable[[Context], Iterator[Place]]:
    def places(context: Context) -> Iterator[Place]:
        for scorer in filter(chosen, context.scorers.values()):
            yield scorer.declared.document, ("spec",), scorer.spec.source.ref or ""

    return places


def _sources(kind: str) -> Callable[[Context], Iterator[Place]]:
    """Where a source of this type is written: in scorers, and in variants of MetricSources."""

    def places(context: Context) -> Iterator[Place]:
        for scorer in context.scorers.values():
            if (PUSHED if scorer.is_pushed else scorer.source_type) == kind:
                yield scorer.declared.document, ("spec", "source"), ""
        for variant in context.source_variants:
            if variant.value.type == kind:
                yield variant.source.document, variant.path, ""

    return places


def _for_upstream(context: Context) -> Iterator[Place]:
    for item in context.declared.scorers if context.is_upstream else ():
        yield item.document, ("spec",), ""


def _followers(context: Context) -> Iterator[Place]:
    for item in context.declared.applications:
        if item.value.spec.placement.ref is not None:
            yield item.document, ("spec",), item.value.spec.placement.ref


_BY_QUERY: Final = _scorers(lambda scorer: scorer.spec.scored_by_query)
_NO_API: Final = "remove it, or remove scoring.type if a scoring API gives the scores"
_WITH_KUBERNETES: Final = {
    "host path": "the agent asks the API server of its own cluster",
    "auth basicAuth headers": "the agent uses the ServiceAccount of its pod",
    "dialect": "its queries are names of measures",
    "parameters onPartial": "it counts objects of its own cluster",
}
ROWS: Final = (
    Row(
        codes.UPSTREAM_ONLY,
        _for_upstream,
        "suspend clusterSelector scoreRange scoreAggregation scoreTTLSeconds publish defaultScore runsOn"
        " source.clusterLabel source.ref source.auth.caConfigMapRef source.auth.serviceAccountToken"
        " source.parameters source.onPartial"
        " scoring.arguments scoring.clustersPerRequest scoring.auth.caConfigMapRef"
        " scoring.auth.serviceAccountToken source.auth.oauth2 source.auth.clientCertificateSecretRef"
        " scoring.auth.oauth2 scoring.auth.clientCertificateSecretRef",
        "{field} has no effect with delivery.mode UpstreamController",
        "remove it, or write delivery.mode: ManifestWork in gitops-dsf.yaml",
    ),
    Row(
        codes.FIELD_OF_AN_API,
        _BY_QUERY,
        "configURL scoring.host scoring.path scoring.auth scoring.arguments",
        "{whole} has no meaning with scoring.type Query: there is no scoring API",
        _NO_API,
    ),
    Row(
        codes.FIELD_OF_AN_API,
        _scorers(
            lambda found: found.spec.scored_by_query and found.spec.config_sync_mode == "Full"
        ),
        "configSyncMode",
        "configSyncMode is Full, and with scoring.type Query there is no /config",
        _NO_API,
    ),
    Row(
        codes.FIELD_OF_AN_API,
        _BY_QUERY,
        "source.params.range source.params.step",
        "{whole} has no meaning with scoring.type Query: the present value of each series is its score",
        "remove it; for a value over time write it into the query, such as avg_over_time(...[1h])",
    ),
    Row(
        codes.SOURCE_BESIDE_REF,
        _scorers(lambda scorer: scorer.spec.source.ref is not None),
        "source.type source.host source.path source.auth",
        "{path} has no effect beside source.ref: MetricSource {of} says it",
        "remove {field}, or remove ref",
    ),
    *(
        Row(
            codes.SOURCE_FIELD,
            _sources(SOURCE_TYPE),
            fields,
            f"{{field}} has no effect with source type Kubernetes: {why}",
            "remove {field}",
            is_removed_by_fix=True,
        )
        for fields, why in _WITH_KUBERNETES.items()
    ),
    Row(
        codes.RECEIVER_FIELD,
        _sources(PUSHED),
        "host path auth basicAuth headers parameters onPartial",
        "{field} has no effect: the agent asks the receiver in its own pod",
        "remove it, or write type: Prometheus",
    ),
    Row(
        codes.WRONG_PLACE,
        _scorers(lambda scorer: not scorer.spec.on_hub),
        "source.clusterLabel scoring.clustersPerRequest",
        "{field} has no effect on a scorer that runs on the spokes",
        "write runsOn: Hub, or remove {field}",
    ),
    Row(
        codes.REFERENCE_AND_RANKING,
        _followers,
        "scores stickiness onMissingScore bindings placement.numberOfClusters placement.clusterSets"
        " placement.clusterSelector placement.tolerations",
        "{whole} has no effect: the ScoredPlacement {of} decides",
        "remove it here, or remove placement.ref",
    ),
)


@rule()
def fields_have_an_effect(context: Context) -> Iterator[Diagnostic]:
    """Reports each field of a row that is written, and holds more than an empty text or 0."""
    for row in ROWS:
        for document, base, of in row.places(context):
            for name in row.fields.split():
                path = (*base, *name.split("."))
                if value_at(document.data, path) in (None, "", 0):
                    continue
                words = {"field": path[-1], "path": name, "whole": dotted(path), "of": of}
                yield row.code.at(
                    document.key_at(path),
                    row.message.format(**words),
                    row.hint.format(**words),
                    edits=(Edit(path),) if row.is_removed_by_fix else (),
                )


_HINT: Final = "remove it, or write delivery.mode: ManifestWork in gitops-dsf.yaml"


@rule()
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
                    "of this scorer it would post the series to an empty URL, and publish nothing"
                )
                message = f"upstream's agent needs a scoring API: {message}"
            yield codes.UPSTREAM_ONLY.at(item.document.key_at(path), message, _HINT)
    for config in context.declared.scoring_configs:
        for index, mask in enumerate(config.value.spec.masks):
            where: Path = ("spec", "masks", index)
            if mask.cluster_selector is not None:
                position = config.document.key_at((*where, "clusterSelector"))
                yield codes.UPSTREAM_ONLY.at(
                    position, "upstream's masks have no clusterSelector", _HINT
                )
            for name, value in (
                ("clusterName", mask.cluster_name or ""),
                ("scoreName", mask.score_name),
            ):
                if is_glob(value):
                    message = f"upstream compares names exactly; {value} would match nothing"
                    yield codes.UPSTREAM_ONLY.at(config.document.at((*where, name)), message, _HINT)


@rule()
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
        within = any(part.offset <= end < part.offset + len(part.text) for part in parts)
        if within:
            yield codes.UPSTREAM_CANNOT_RUN.at(
                scorer.in_query(end),
                "upstream's agent cuts the query at this `;`, also inside of strings, brackets and comments",
                "in a string write \\x3b, which PromQL reads as `;` (\\\\x3b in YAML's double quotes);"
                " elsewhere leave it out",
            )
        if query.strip() and not piece.strip():
            at = min(end, len(query) - 1) if start < len(query) else len(query) - 1
            message = "upstream's agent sends an empty expression here, and Prometheus refuses the whole cycle"
            cut = end if end < len(query) else start - 1
            is_exact = not within and not scorer.is_locked("source.params.query")
            mend = Edit(("spec", "source", "params", "query"), value=query[:cut] + query[cut + 1 :])
            edits = (mend,) if is_exact else ()
            yield codes.UPSTREAM_CANNOT_RUN.at(
                scorer.in_query(at), message, "remove the `;`", edits=edits
            )
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
