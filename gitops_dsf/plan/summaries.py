"""Writes a scorer in the wire format that the agent and the hub scorer read.

No other module converts scorers to `dsf_wire.summary`. A field that equals the default of the agent
is left out, so that configurations stay small and older agents understand them.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

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
    ScorerSummary,
)
from gitops_dsf.repository.model.base import Authored
from gitops_dsf.repository.model.scorer import Auth, ClusterLabel, Publish
from gitops_dsf.resolve.scorer import EffectiveScorer

_DEFAULT_PUBLISH = Publish()
WireT = TypeVar("WireT")


class _TokenKey(NamedTuple):
    """The Secret with a token, and the key in it. Both are empty without one."""

    secret: str = ""
    key: str = ""


def summarise(scorer: EffectiveScorer) -> ScorerSummary:
    """A scorer's summary: upstream's sixteen fields, and ours where they are not the default."""
    spec = scorer.spec
    source = spec.source
    scoring = spec.scoring
    interval = scoring.params.interval
    source_token = _token_key(source.auth)
    scoring_token = _token_key(scoring.auth, certificate_is_new=True)
    return ScorerSummary(
        name=scorer.name,
        score_name=scorer.score_name,
        source_type=scorer.source_type,
        source_endpoint=scorer.source_endpoint,
        source_endpoint_auth_name=source_token.secret,
        source_endpoint_auth_key=source_token.key,
        source_query=source.params.query,
        source_range=source.params.range,
        source_step=source.params.step,
        scoring_endpoint=scorer.scoring_endpoint,
        scoring_interval=interval,
        scoring_endpoint_auth_name=scoring_token.secret,
        scoring_endpoint_auth_key=scoring_token.key,
        location=spec.location,
        score_destination=spec.score_destination,
        score_dimension_format=scorer.dimension_format,
        # Upstream's fields end here. Its agent ignores the others, and it rejects the whole list
        # when it cannot decode one entry: so these stay flat fields beside upstream's.
        scoring_arguments=_arguments(scoring.arguments),
        score_range=scorer.score_range,
        score_aggregation=_unless(spec.score_aggregation, "Last"),
        score_ttl_seconds=_unless(scorer.ttl_seconds, default_ttl_seconds(interval)),
        publish=_wire(_unless(spec.publish, _DEFAULT_PUBLISH), PublishRule),
        source_headers=_headers(scorer),
        source_basic_auth=_basic_auth(scorer),
        source_client_certificate=_certificate(source.auth),
        source_parameters=_parameters(scorer),
        source_on_partial=_on_partial(scorer),
        source_ref=source.ref,
        source_auth=_other_auth(source.auth),
        scoring_auth=_other_auth(scoring.auth),
        scoring_client_certificate=_certificate(scoring.auth),
        scoring_type=_unless(scorer.scoring_type, SCORED_BY_API),
        default_score=spec.default_score,
        runs_on=_runs_on(scorer),
        cluster_label=_cluster_label(scorer),
        clusters_per_request=_clusters_per_request(scorer),
    )


def cluster_label(authored: ClusterLabel) -> summary.ClusterLabel:
    """The label by which the answers of a source name clusters, in the wire format."""
    return msgspec.convert(authored.model_dump(exclude_none=True), summary.ClusterLabel)


def _unless(value: WireT, default: WireT) -> WireT | None:
    """The value; None if it is the default."""
    if value == default:
        return None
    return value


def _wire(authored: Authored | None, kind: type[WireT]) -> WireT | None:
    if authored is None:
        return None
    return msgspec.convert(authored.model_dump(), kind)


def _token_key(auth: Auth | None, *, certificate_is_new: bool = False) -> _TokenKey:
    """The Secret with the token of an endpoint.

    `certificate_is_new` says that older agents know no certificate for this endpoint.
    """
    if auth is None:
        return _TokenKey()
    if auth.token_secret_ref is not None:
        return _TokenKey(auth.token_secret_ref.name, auth.token_secret_ref.key)
    # An older agent ignores fields that it does not know, and would send requests without
    # credentials. A key that no Secret has makes it fail with a message instead.
    if auth.oauth2 is not None:
        return _TokenKey(auth.oauth2.client_secret_ref.name, NEEDS_NEWER_AGENT)
    certificate = auth.client_certificate_secret_ref
    if certificate_is_new and certificate is not None and not auth.service_account_token:
        return _TokenKey(certificate.name, NEEDS_NEWER_AGENT)
    return _TokenKey()


def _certificate(auth: Auth | None) -> ClientCertificate | None:
    if auth is None:
        return None
    return _wire(auth.client_certificate_secret_ref, ClientCertificate)


def _other_auth(auth: Auth | None) -> EndpointAuth | None:
    """Credentials other than a token in a Secret and a certificate; None if there are none."""
    endpoint_auth = _wire(auth, EndpointAuth)
    if endpoint_auth is None:
        return None
    return _unless(endpoint_auth, EndpointAuth())


def _arguments(arguments: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if arguments is None:
        return None
    return dict(arguments)


def _headers(scorer: EffectiveScorer) -> tuple[Header, ...] | None:
    if scorer.variant is None or not scorer.variant.headers:
        return None
    headers = [header.model_dump() for header in scorer.variant.headers]
    return msgspec.convert(headers, tuple[Header, ...])


def _basic_auth(scorer: EffectiveScorer) -> BasicAuth | None:
    if scorer.variant is None or scorer.variant.basic_auth is None:
        return None
    return _wire(scorer.variant.basic_auth.secret_ref, BasicAuth)


def _parameters(scorer: EffectiveScorer) -> dict[str, str] | None:
    # Only a source of metrics is asked by URL.
    if scorer.source_type != "Prometheus":
        return None
    return scorer.source_parameters or None


def _on_partial(scorer: EffectiveScorer) -> str | None:
    if scorer.source_type == "Prometheus" and scorer.on_partial == FAIL:
        return FAIL
    return None


def _runs_on(scorer: EffectiveScorer) -> str | None:
    if scorer.spec.on_hub:
        return RUNS_ON_HUB
    return None


def _cluster_label(scorer: EffectiveScorer) -> summary.ClusterLabel | None:
    # Only the hub scorer gets one answer about several clusters.
    if not scorer.spec.on_hub or scorer.spec.source.cluster_label is None:
        return None
    return cluster_label(scorer.spec.source.cluster_label)


def _clusters_per_request(scorer: EffectiveScorer) -> int | None:
    if not scorer.spec.on_hub:
        return None
    return _unless(scorer.spec.scoring.clusters_per_request, DEFAULT_CLUSTERS_PER_REQUEST)
