"""Converts authored scorers to the wire format of a spoke's ConfigMap. No other module does."""

import msgspec

from dsf_wire import summary
from dsf_wire.constants import DEFAULT_CLUSTERS_PER_REQUEST, RUNS_ON_HUB, default_ttl_seconds
from dsf_wire.summary import (
    SCORED_BY_API,
    BasicAuth,
    ClientCertificate,
    EndpointAuth,
    Header,
    PublishRule,
    ScoreRange,
    Summary,
)
from gitops_dsf.repository.model.metric_source import MetricSourceVariant
from gitops_dsf.repository.model.scorer import Auth, ClusterLabel, Publish
from gitops_dsf.resolve.types import EffectiveScorer

_DEFAULT_PUBLISH = Publish()


def summarise(scorer: EffectiveScorer) -> Summary:
    """Returns a scorer's summary: always upstream's sixteen fields, and ours only if they differ from the
    agent's defaults.
    """
    spec = scorer.spec
    return Summary(
        name=scorer.name,
        score_name=scorer.score_name,
        source_type=scorer.source_type,
        source_endpoint=scorer.source_endpoint,
        source_endpoint_auth_name=_secret(scorer.source_auth)[0],
        source_endpoint_auth_key=_secret(scorer.source_auth)[1],
        source_query=scorer.query,
        source_range=scorer.range,
        source_step=scorer.step,
        scoring_endpoint=scorer.scoring_endpoint,
        scoring_interval=scorer.interval,
        scoring_endpoint_auth_name=_secret(spec.scoring.auth)[0],
        scoring_endpoint_auth_key=_secret(spec.scoring.auth)[1],
        location=spec.location,
        score_destination=spec.score_destination,
        score_dimension_format=scorer.dimension_format,
        scoring_arguments=dict(spec.scoring.arguments) if spec.scoring.arguments is not None else None,
        score_range=msgspec.convert(spec.score_range.model_dump(), ScoreRange) if spec.score_range else None,
        score_aggregation=spec.score_aggregation if spec.score_aggregation != "Last" else None,
        score_ttl_seconds=scorer.ttl_seconds
        if scorer.ttl_seconds != default_ttl_seconds(scorer.interval)
        else None,
        publish=msgspec.convert(spec.publish.model_dump(), PublishRule)
        if spec.publish != _DEFAULT_PUBLISH
        else None,
        source_headers=_headers(scorer.variant),
        source_basic_auth=_basic_auth(scorer.variant),
        source_client_certificate=_client_certificate(scorer.variant),
        source_ref=scorer.declared.spec.source.ref,
        source_auth=_extra(scorer.source_auth),
        scoring_auth=_extra(spec.scoring.auth),
        scoring_type=scorer.scoring_type if scorer.scoring_type != SCORED_BY_API else None,
        default_score=spec.default_score,
        runs_on=RUNS_ON_HUB if scorer.on_hub else None,
        cluster_label=cluster_label(spec.source.cluster_label)
        if scorer.on_hub and spec.source.cluster_label is not None
        else None,
        clusters_per_request=spec.scoring.clusters_per_request
        if scorer.on_hub and spec.scoring.clusters_per_request != DEFAULT_CLUSTERS_PER_REQUEST
        else None,
    )


def cluster_label(authored: ClusterLabel) -> summary.ClusterLabel:
    """A cluster label in the wire format."""
    return summary.ClusterLabel(name=authored.name, claim=authored.claim or "", label=authored.label or "")


def _secret(auth: Auth | None) -> tuple[str, str]:
    if auth is None or auth.token_secret_ref is None:
        return "", ""
    return auth.token_secret_ref.name, auth.token_secret_ref.key


def _headers(variant: MetricSourceVariant | None) -> tuple[Header, ...] | None:
    if variant is None or not variant.headers:
        return None
    return msgspec.convert([header.model_dump() for header in variant.headers], tuple[Header, ...])


def _basic_auth(variant: MetricSourceVariant | None) -> BasicAuth | None:
    if variant is None or variant.basic_auth is None:
        return None
    return msgspec.convert(variant.basic_auth.secret_ref.model_dump(), BasicAuth)


def _client_certificate(variant: MetricSourceVariant | None) -> ClientCertificate | None:
    if variant is None or variant.client_certificate is None:
        return None
    return msgspec.convert(variant.client_certificate.secret_ref.model_dump(), ClientCertificate)


def _extra(auth: Auth | None) -> EndpointAuth | None:
    if auth is None or (auth.ca_config_map_ref is None and not auth.service_account_token):
        return None
    return msgspec.convert(auth.model_dump(), EndpointAuth)
