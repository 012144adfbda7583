"""DynamicScorers as the hub has them.

Rendered ones have every default written out; others may not. Not guaranteed: that status and spec
are of one commit, or that the status is valid. A part of it that cannot be read counts as absent.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct

from dsf_wire import constants
from dsf_wire.scorename import sanitise
from gitops_dsf.hub.intervals import ScoreSpan
from gitops_dsf.hub.metadata import ObjectCondition, condition_of
from gitops_dsf.hub.objects import KubernetesObject, LabelSelector
from gitops_dsf.hub.selectors import lenient_selector

PUBLISHED = "AddOnPlacementScore"
"""The scoreDestination of a scorer that publishes AddOnPlacementScores."""
PUSHED = "OpenTelemetry"
"""The type of a metric source that collectors push to."""
ScoreKey = tuple[str, str]
"""Names of an AddOnPlacementScore and of an item in it."""


class Params(Struct, frozen=True):
    query: str = ""
    range: int = 0
    step: int = 0
    name: str = ""
    interval: int = 0


class SecretRef(Struct, frozen=True):
    """A Secret, or a ConfigMap with CAs."""

    name: str = ""


class KeyRef(SecretRef, frozen=True):
    key: str = ""


class ClientSecret(
    SecretRef,
    frozen=True,
    rename={"client_id_key": "clientIDKey", "client_secret_key": "clientSecretKey"},
):
    client_id_key: str = "client-id"
    client_secret_key: str = "client-secret"  # noqa: S105 - the name of a key


class CertificateSecret(SecretRef, frozen=True, rename="camel"):
    certificate_key: str = "tls.crt"
    private_key_key: str = "tls.key"


class OAuth2(
    Struct,
    frozen=True,
    rename={
        "client_secret_ref": "clientSecretRef",
        "token_url": "tokenURL",
        "client_authentication": "clientAuthentication",
        "ca_config_map_ref": "caConfigMapRef",
    },
):
    client_secret_ref: ClientSecret | None = None
    token_url: str = ""
    scopes: tuple[str, ...] = ()
    audience: str = ""
    client_authentication: str = ""
    ca_config_map_ref: KeyRef | None = None


class Auth(Struct, frozen=True, rename="camel"):
    token_secret_ref: KeyRef | None = None
    oauth2: OAuth2 | None = None
    client_certificate_secret_ref: CertificateSecret | None = None
    ca_config_map_ref: KeyRef | None = None

    @property
    def secrets(self) -> frozenset[str]:
        """Names of the Secrets that a client needs."""
        client = self.oauth2.client_secret_ref if self.oauth2 is not None else None
        refs = (self.token_secret_ref, client, self.client_certificate_secret_ref)
        return frozenset(ref.name for ref in refs if ref is not None)


class Named(Struct, frozen=True, rename="camel"):
    secret_ref: SecretRef | None = None


class SourceVariant(
    Struct, frozen=True, rename={"selector": "clusterSelector", "basic_auth": "basicAuth"}
):
    selector: LabelSelector | None = None
    """None means every cluster."""
    type: str = ""
    auth: Auth | None = None
    basic_auth: Named | None = None
    headers: tuple[Named, ...] = ()

    @property
    def secrets(self) -> frozenset[str]:
        """Names of the Secrets that agents need to ask the source."""
        secrets = _secrets(self.auth)
        for reference in (self.basic_auth, *self.headers):
            if reference is not None and reference.secret_ref is not None:
                secrets |= {reference.secret_ref.name}
        return secrets


class ScorerEndpoint(Struct, frozen=True):
    type: str = ""
    host: str = ""
    path: str = ""
    params: Params = Params()
    auth: Auth | None = None
    ref: str = ""
    """Name of a MetricSource. Its variants then have type, host, path and auth."""
    variants: tuple[SourceVariant, ...] = ()


class ScoreRange(Struct, frozen=True, rename="camel"):
    """Ends of the published scores. What the mapping does with raw scores only agents need."""

    output_min: int = constants.DEFAULT_OUTPUT_MIN
    output_max: int = constants.DEFAULT_OUTPUT_MAX


class ScorerSpec(
    Struct,
    frozen=True,
    rename={
        "config_url": "configURL",
        "mode": "configSyncMode",
        "runs_on": "runsOn",
        "destination": "scoreDestination",
        "ttl": "scoreTTLSeconds",
        "selector": "clusterSelector",
        "dimension": "scoreDimensionFormat",
        "score_range": "scoreRange",
        "default_score": "defaultScore",
    },
):
    config_url: str = ""
    mode: str = "None"
    runs_on: str = "Spokes"
    destination: str = PUBLISHED
    ttl: int = 0
    """0 means the default; see DynamicScorer.ttl."""
    suspend: bool = False
    selector: LabelSelector | None = None
    """A label selector over ManagedClusters; None means all of them."""
    dimension: str = ""
    score_range: ScoreRange | None = None
    default_score: int | None = None
    """Published where the metric source answers without series; if None, nothing is."""
    source: ScorerEndpoint = ScorerEndpoint()
    scoring: ScorerEndpoint = ScorerEndpoint()


def counted_span(published: ScoreSpan, default_score: int | None) -> ScoreSpan:
    """The scores that OCM can count."""
    # 0 is always possible: OCM 1.2.1 counts a missing or expired score as 0.
    values = (*published, default_score or 0, 0)
    return ScoreSpan(min(values), max(values))


class DynamicScorer(KubernetesObject, frozen=True):
    """A scorer.

    Its properties are effective: where the spec leaves a field open, /config sets it.
    """

    spec: ScorerSpec
    status: dict[str, Any] = {}
    """The raw status, for programs that patch it.

    Use `condition`, `health` and `last_synced` to read it.
    """

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def identity(self) -> str:
        """Another one after it was deleted and made again. Its name, if it has no object."""
        return self.metadata.uid or self.metadata.name

    @property
    def score_name(self) -> str:
        """The label ds_score_name of its metric."""
        return self.spec.scoring.params.name or self._synced.name or self.metadata.name

    @property
    def resource(self) -> str:
        """Name of its AddOnPlacementScores, by the rule of the wire contract."""
        return sanitise(self.score_name)

    @property
    def span(self) -> ScoreSpan:
        """The scores that OCM can count for it."""
        # Without a range the agent clamps raw scores to what OCM's CRD accepts.
        ends = self.spec.score_range or ScoreRange(constants.SCORE_MIN, constants.SCORE_MAX)
        return counted_span(ScoreSpan(ends.output_min, ends.output_max), self.spec.default_score)

    @property
    def interval(self) -> int:
        """Seconds between two runs."""
        return self.spec.scoring.params.interval or self._synced.interval

    @property
    def ttl(self) -> int:
        """Seconds for which a published score is valid: by default max(900, 10 x interval)."""
        return self.spec.ttl or constants.default_ttl_seconds(self.interval)

    @property
    def scored_by_query(self) -> bool:
        """Whether the value of each series is its raw score, without a scoring API."""
        return self.spec.scoring.type == "Query"

    @property
    def on_hub(self) -> bool:
        """Whether the hub scorer runs it, and no agent."""
        return self.spec.runs_on == constants.RUNS_ON_HUB

    @property
    def publishes(self) -> bool:
        """Whether its scores become AddOnPlacementScores."""
        return self.spec.destination == PUBLISHED

    @property
    def secrets(self) -> tuple[str, ...]:
        """Names of the Secrets that its agents need, on any cluster."""
        variants = [variant.secrets for variant in self.spec.source.variants]
        return tuple(sorted(self._own_secrets.union(*variants)))

    def secrets_on(self, labels: Mapping[str, str]) -> tuple[str, ...]:
        """Names of the Secrets that the agent of a cluster with these labels needs."""
        secrets = self._own_secrets
        for variant in self.spec.source.variants:
            # The first variant that matches is used, and no other.
            if variant.selector is None or lenient_selector(variant.selector).matches(labels):
                secrets |= variant.secrets
                break
        return tuple(sorted(secrets))

    @property
    def _own_secrets(self) -> frozenset[str]:
        return _secrets(self.spec.scoring.auth, self.spec.source.auth)

    @property
    def health(self) -> str:
        """Active, Inactive or Unknown; empty if it was not probed."""
        # The status is read without a schema: another program's CRD may allow anything here.
        health = self.status.get("healthStatus")
        return health if isinstance(health, str) else ""

    @property
    def conditions(self) -> tuple[ObjectCondition, ...]:
        """Conditions that can be decoded."""
        conditions: list[ObjectCondition] = []
        # Each condition is read on its own: one that is malformed must not hide the others.
        for condition in self.status.get("conditions") or ():
            with suppress(msgspec.ValidationError):
                conditions.append(msgspec.convert(condition, ObjectCondition))
        return tuple(conditions)

    def condition(self, kind: str) -> ObjectCondition:
        return condition_of(self.conditions, kind)

    @property
    def last_synced(self) -> dict[str, Any]:
        """The last /config that was read, with fields dropped since then; empty if not known."""
        config = self.status.get("lastSyncedConfig")
        return config if isinstance(config, dict) else {}

    @property
    def _synced(self) -> Params:
        """The values that /config sets where the spec leaves them open.

        Any account that may write the status can write anything, so a malformed value sets nothing.
        """
        scoring = self.last_synced.get("scoring")
        if not isinstance(scoring, dict):
            return Params()
        try:
            return msgspec.convert(scoring.get("params"), Params)
        except msgspec.ValidationError:
            return Params()


def _secrets(*auths: Auth | None) -> frozenset[str]:
    return frozenset().union(*(auth.secrets for auth in auths if auth is not None))
