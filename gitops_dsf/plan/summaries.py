"""Writes a scorer in the wire format that the agent and the hub scorer read.

No other module converts scorers to `dsf_wire.summary`. A field that equals the default of the agent
is left out, so that configurations stay small and older agents understand them.
"""

from typing import TypeVar

import msgspec

from dsf_wire import summary
from dsf_wire.constants import DEFAULT_CLUSTERS_PER_REQUEST, RUNS_ON_HUB, default_ttl_seconds
from dsf_wire.summary import (
    FAIL,
    NEEDS_NEWER_AGENT,
    SCORED_BY_API,
    BasicAuth,
    ClientCertificate,
    EndpointAuth,
    Header,
    PublishRule,
    ScoreRange,
    Summary,
)
from gitops_dsf.repository.model.base import Authored
from gitops_dsf.repository.model.scorer import Auth, ClusterLabel, Publish
from gitops_dsf.resolve.scorer import EffectiveScorer

_DEFAULT_PUBLISH = Publish()
WireT = TypeVar("WireT")


def summarise(scorer: EffectiveScorer) -> Summary:
    """A scorer's summary: upstream's sixteen fields, and ours where they are not the default."""
    spec, variant = scorer.spec, scorer.variant
    source, scoring, interval = spec.source, spec.scoring, spec.scoring.params.interval
    per_request = _unless(scoring.clusters_per_request, DEFAULT_CLUSTERS_PER_REQUEST)
    label = source.cluster_label if scorer.spec.on_hub else None
    asks = scorer.source_type == "Prometheus"
    basic = variant.basic_auth if variant is not None else None
    written = [header.model_dump() for header in variant.headers] if variant is not None else None
    return Summary(
        name=scorer.name,
        score_name=scorer.score_name,
        source_type=scorer.source_type,
        source_endpoint=scorer.source_endpoint,
        source_endpoint_auth_name=_secret(source.auth)[0],
        source_endpoint_auth_key=_secret(source.auth)[1],
        source_query=scorer.spec.source.params.query,
        source_range=scorer.spec.source.params.range,
        source_step=scorer.spec.source.params.step,
        scoring_endpoint=scorer.scoring_endpoint,
        scoring_interval=interval,
        scoring_endpoint_auth_name=_secret(scoring.auth, certificate=True)[0],
        scoring_endpoint_auth_key=_secret(scoring.auth, certificate=True)[1],
        location=spec.location,
        score_destination=spec.score_destination,
        score_dimension_format=scorer.dimension_format,
        scoring_arguments=dict(scoring.arguments) if scoring.arguments is not None else None,
        score_range=_wire(spec.score_range, ScoreRange),
        score_aggregation=_unless(spec.score_aggregation, "Last"),
        score_ttl_seconds=_unless(scorer.ttl_seconds, default_ttl_seconds(interval)),
        publish=_wire(_unless(spec.publish, _DEFAULT_PUBLISH), PublishRule),
        source_headers=msgspec.convert(written, tuple[Header, ...]) if written else None,
        source_basic_auth=_wire(basic.secret_ref, BasicAuth) if basic is not None else None,
        source_client_certificate=_certificate(source.auth),
        source_parameters=(scorer.source_parameters or None) if asks else None,
        source_on_partial=FAIL if asks and scorer.on_partial == FAIL else None,
        source_ref=source.ref,
        source_auth=_extra(source.auth),
        scoring_auth=_extra(scoring.auth),
        scoring_client_certificate=_certificate(scoring.auth),
        scoring_type=_unless(scorer.scoring_type, SCORED_BY_API),
        default_score=spec.default_score,
        runs_on=RUNS_ON_HUB if scorer.spec.on_hub else None,
        cluster_label=cluster_label(label) if label is not None else None,
        clusters_per_request=per_request if spec.on_hub else None,
    )


def cluster_label(authored: ClusterLabel) -> summary.ClusterLabel:
    return msgspec.convert(authored.model_dump(exclude_none=True), summary.ClusterLabel)


def _unless(value: WireT, default: WireT) -> WireT | None:
    return None if value == default else value


def _wire(authored: Authored | None, kind: type[WireT]) -> WireT | None:
    return None if authored is None else msgspec.convert(authored.model_dump(), kind)


def _secret(auth: Auth | None, *, certificate: bool = False) -> tuple[str, str]:
    """Name and key of the token Secret.

    ``certificate``: whether older agents know no certificate here.
    """
    if auth is None:
        return "", ""
    if auth.token_secret_ref is not None:
        return auth.token_secret_ref.name, auth.token_secret_ref.key
    if auth.oauth2 is not None:
        return auth.oauth2.client_secret_ref.name, NEEDS_NEWER_AGENT
    if (
        certificate
        and auth.client_certificate_secret_ref is not None
        and not auth.service_account_token
    ):
        return auth.client_certificate_secret_ref.name, NEEDS_NEWER_AGENT
    return "", ""


def _certificate(auth: Auth | None) -> ClientCertificate | None:
    return None if auth is None else _wire(auth.client_certificate_secret_ref, ClientCertificate)


def _extra(auth: Auth | None) -> EndpointAuth | None:
    found = _wire(auth, EndpointAuth)
    return None if found is None else _unless(found, EndpointAuth())
