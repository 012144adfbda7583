"""Fields that have no effect where they are written, as a table.

A row names the fields, the objects in which they have no effect, and what is reported.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from dsf_wire.measures import SOURCE_TYPE
from gitops_dsf.diagnostics import Diagnostic, Edit, Severity, codes
from gitops_dsf.hub.delivery import OUR_CRDS
from gitops_dsf.hub.scorers import PUSHED
from gitops_dsf.repository.load import Document, FieldPath, value_at
from gitops_dsf.repository.model.mistake import dotted
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.resolve.scorer import EffectiveScorer


class _FieldsOwner(NamedTuple):
    """An object that may have the fields."""

    document: Document
    path: FieldPath
    decides: str = ""
    """The name of what decides in place of the fields."""


class _IdleFields(NamedTuple):
    """Fields that have no effect for one reason.

    Message and hint may name the field: `{field}` is its last part, `{path}` leads from the object
    to it and `{whole}` from the document. `{decides}` is what decides in its place.
    """

    code: codes.FindingCode
    places: Callable[[Context], Iterator[_FieldsOwner]]
    fields: str
    message: str
    hint: str
    is_removed_by_fix: bool = False
    """Whether removing the field is the only way to mend it, so that `validate --fix` may do it."""
    severity: Severity | None = None
    """The severity; that of the code when absent."""


def _declared_scorers(context: Context) -> Iterator[_FieldsOwner]:
    """Every scorer, if the upstream controller reads them."""
    if context.is_upstream:
        for scorer in context.declared.scorers:
            yield _FieldsOwner(scorer.document, ("spec",))


def _settings_of_upstream(context: Context) -> Iterator[_FieldsOwner]:
    """The settings, if the upstream controller delivers."""
    if context.is_upstream:
        yield _FieldsOwner(context.repository.document, ("spec",))


def _our_crds_of_upstream(context: Context) -> Iterator[_FieldsOwner]:
    """The settings, if the upstream controller delivers, and they ask for our CRDs all the same."""
    if context.settings.delivery.crds == OUR_CRDS:
        yield from _settings_of_upstream(context)


def _applications_of_upstream(context: Context) -> Iterator[_FieldsOwner]:
    """Every application, if upstream's agents publish the scores."""
    if context.is_upstream:
        for application in context.declared.applications:
            yield _FieldsOwner(application.document, ("spec",))


def _scorers_where(
    chosen: Callable[[EffectiveScorer], bool],
) -> Callable[[Context], Iterator[_FieldsOwner]]:
    def places(context: Context) -> Iterator[_FieldsOwner]:
        for scorer in filter(chosen, context.scorers.values()):
            yield _FieldsOwner(scorer.declared.document, ("spec",), scorer.spec.source.ref or "")

    return places


def _sources_of_type(source_type: str) -> Callable[[Context], Iterator[_FieldsOwner]]:
    """The places with a source of this type: in scorers, and in variants of MetricSources."""

    def places(context: Context) -> Iterator[_FieldsOwner]:
        for scorer in context.scorers.values():
            if (PUSHED if scorer.is_pushed else scorer.source_type) == source_type:
                yield _FieldsOwner(scorer.declared.document, ("spec", "source"))
        for variant in context.source_variants:
            if variant.value.type == source_type:
                yield _FieldsOwner(variant.source.document, variant.path)

    return places


def _followers(context: Context) -> Iterator[_FieldsOwner]:
    """Applications that follow the decision of a ScoredPlacement."""
    for application in context.declared.applications:
        followed = application.value.spec.placement.ref
        if followed is not None:
            yield _FieldsOwner(application.document, ("spec",), followed)


def _unverified(context: Context) -> Iterator[_FieldsOwner]:
    """Applications whose moves are not verified."""
    for application in context.declared.applications:
        if not application.value.spec.moves.verify:
            yield _FieldsOwner(application.document, ("spec", "moves"))


_scorers_by_query = _scorers_where(lambda scorer: scorer.spec.scored_by_query)
_full_scorers_by_query = _scorers_where(
    lambda scorer: scorer.spec.scored_by_query and scorer.spec.config_sync_mode == "Full"
)
_scorers_with_reference = _scorers_where(lambda scorer: scorer.spec.source.ref is not None)
_scorers_on_spokes = _scorers_where(lambda scorer: not scorer.spec.on_hub)
_kubernetes_sources = _sources_of_type(SOURCE_TYPE)

_ROWS: Final = (
    _IdleFields(
        # Upstream's controller (addon-contrib f5844b9) copies none of these into what its agent
        # reads.
        codes.UPSTREAM_ONLY,
        _declared_scorers,
        "suspend clusterSelector scoreRange scoreAggregation scoreTTLSeconds publish defaultScore"
        " runsOn source.clusterLabel source.ref source.auth.caConfigMapRef"
        " source.auth.serviceAccountToken source.parameters source.onPartial scoring.arguments"
        " scoring.clustersPerRequest scoring.auth.caConfigMapRef scoring.auth.serviceAccountToken"
        " source.auth.oauth2 source.auth.clientCertificateSecretRef scoring.auth.oauth2"
        " scoring.auth.clientCertificateSecretRef",
        "{field} has no effect with delivery.mode UpstreamController",
        "remove it, or write delivery.mode: ManifestWork in gitops-dsf.yaml",
    ),
    _IdleFields(
        # Upstream's installation brings the CRDs, so none are rendered. `Existing` says the same.
        codes.UPSTREAM_ONLY,
        _our_crds_of_upstream,
        "delivery.crds",
        "{whole} Rendered has no effect with delivery.mode UpstreamController: the CRDs are"
        " upstream's, and none are rendered",
        "remove it, or write delivery.mode: ManifestWork",
    ),
    _IdleFields(
        # A check counts a score from when it was written, and only validUntil says when that was.
        codes.UPSTREAM_ONLY,
        _applications_of_upstream,
        "moves.verify",
        "upstream's agent writes no validUntil, so no score says when it was measured: no move"
        " could be verified",
        "remove it, or write delivery.mode: ManifestWork in gitops-dsf.yaml",
    ),
    _IdleFields(
        codes.UPSTREAM_ONLY,
        _settings_of_upstream,
        "agent.remoteWrite",
        "upstream's add-on sends no raw scores: remoteWrite has no effect with delivery.mode"
        " UpstreamController",
        "remove it, or write delivery.mode: ManifestWork in gitops-dsf.yaml",
    ),
    _IdleFields(
        # A fleet that tries upstream's add-on may keep them until it comes back.
        codes.UPSTREAM_ONLY,
        _settings_of_upstream,
        "agent hubScorer",
        "{whole} has no effect with delivery.mode UpstreamController: upstream's add-on brings the"
        " agents, with settings of its own",
        "remove it, or write delivery.mode: ManifestWork",
        severity=Severity.WARNING,
    ),
    _IdleFields(
        codes.FIELD_OF_AN_API,
        _scorers_by_query,
        "configURL scoring.host scoring.path scoring.auth scoring.arguments",
        "{whole} has no meaning with scoring.type Query: there is no scoring API",
        "remove it, or remove scoring.type if a scoring API gives the scores",
    ),
    _IdleFields(
        codes.FIELD_OF_AN_API,
        _full_scorers_by_query,
        "configSyncMode",
        "configSyncMode is Full, and with scoring.type Query there is no /config",
        "remove it, or remove scoring.type if a scoring API gives the scores",
    ),
    _IdleFields(
        codes.FIELD_OF_AN_API,
        _scorers_by_query,
        "source.params.range source.params.step",
        "{whole} has no meaning with scoring.type Query: the present value of each series is its"
        " score",
        "remove it; for a value over time write it into the query, such as avg_over_time(...[1h])",
    ),
    _IdleFields(
        codes.SOURCE_BESIDE_REF,
        _scorers_with_reference,
        "source.type source.host source.path source.auth",
        "{path} has no effect beside source.ref: MetricSource {decides} says it",
        "remove {field}, or remove ref",
    ),
    _IdleFields(
        codes.SOURCE_FIELD,
        _kubernetes_sources,
        "host path",
        "{field} has no effect with source type Kubernetes: the agent asks the API server of its"
        " own"
        " cluster",
        "remove {field}",
        is_removed_by_fix=True,
    ),
    _IdleFields(
        codes.SOURCE_FIELD,
        _kubernetes_sources,
        "auth basicAuth headers",
        "{field} has no effect with source type Kubernetes: the agent uses the ServiceAccount of"
        " its"
        " pod",
        "remove {field}",
        is_removed_by_fix=True,
    ),
    _IdleFields(
        codes.SOURCE_FIELD,
        _kubernetes_sources,
        "dialect",
        "{field} has no effect with source type Kubernetes: its queries are names of measures",
        "remove {field}",
        is_removed_by_fix=True,
    ),
    _IdleFields(
        codes.SOURCE_FIELD,
        _kubernetes_sources,
        "parameters onPartial",
        "{field} has no effect with source type Kubernetes: it counts objects of its own cluster",
        "remove {field}",
        is_removed_by_fix=True,
    ),
    _IdleFields(
        codes.RECEIVER_FIELD,
        _sources_of_type(PUSHED),
        "host path auth basicAuth headers parameters onPartial",
        "{field} has no effect: the agent asks the receiver in its own pod",
        "remove it, or write type: Prometheus",
    ),
    _IdleFields(
        codes.WRONG_PLACE,
        _scorers_on_spokes,
        "source.clusterLabel scoring.clustersPerRequest",
        "{field} has no effect on a scorer that runs on the spokes",
        "write runsOn: Hub, or remove {field}",
    ),
    _IdleFields(
        codes.REFERENCE_AND_RANKING,
        _followers,
        "scores stickiness onMissingScore bindings placement.numberOfClusters placement.clusterSets"
        " placement.clusterSelector placement.tolerations",
        "{whole} has no effect: the ScoredPlacement {decides} decides",
        "remove it here, or remove placement.ref",
    ),
    _IdleFields(
        codes.VERIFICATION_FIELD,
        _unverified,
        "verifySeconds onUnknown holdSeconds",
        "{whole} has no effect without moves.verify",
        "write verify, or remove it",
    ),
)


@rule()
def fields_have_an_effect(context: Context) -> Iterator[Diagnostic]:
    """Reports each field of a row that is written, and holds more than an empty text or 0."""
    for row in _ROWS:
        for holder in row.places(context):
            for name in row.fields.split():
                yield from _reported(row, holder, name)


def _reported(row: _IdleFields, holder: _FieldsOwner, name: str) -> Iterator[Diagnostic]:
    path = (*holder.path, *name.split("."))
    # An empty field asks for nothing, so nothing is lost.
    if value_at(holder.document.data, path) in (None, "", 0):
        return
    words = {"field": path[-1], "path": name, "whole": dotted(path), "decides": holder.decides}
    yield row.code.at(
        holder.document.key_at(path),
        row.message.format(**words),
        row.hint.format(**words),
        edits=(Edit(path),) if row.is_removed_by_fix else (),
        severity=row.severity,
    )
