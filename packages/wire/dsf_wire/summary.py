"""The scoring ConfigMap: a JSON array of flat objects, one per scorer that a cluster runs.

Unknown keys are ignored, missing ones have upstream's zero value. Upstream's sixteen keys come
first and in upstream's order; ours follow only when set.

Guaranteed: an entry that cannot be read is a problem with its reason, and the others are read
anyway. Not guaranteed: that a scorer can run. The agent reports credentials and hosts that it
cannot use.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

import msgspec

from dsf_wire.constants import RUNS_ON_HUB, SCORE_MAX, SCORE_MIN
from dsf_wire.headers import name_fault, value_fault

SCORED_BY_API: Final = "API"
"""The scoringType of a scorer with a scoring API. It is the default and is not written."""
SCORED_BY_QUERY: Final = "Query"
"""The scoringType of a scorer without a scoring API: the value of each series is its raw score."""

FAIL: Final = "Fail"
"""The sourceOnPartial of a scorer that takes no partial answer. The default, Publish, is not
written.
"""

NEEDS_NEWER_AGENT: Final = "(needs a newer agent)"
"""The key beside a credential that older agents would ignore: no Secret has it, so they send
nothing.
"""


class ScoreRange(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """spec.scoreRange with its output range written out.

    outputMin > outputMax means that a lower raw score is better.
    """

    min: float
    max: float
    output_min: int
    output_max: int

    def __post_init__(self) -> None:
        if self.min >= self.max:
            raise ValueError(f"scoreRange.min {self.min:g} must be below max {self.max:g}")


class PublishRule(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """spec.publish: deadband in score points, minIntervalSeconds in seconds."""

    deadband: Annotated[int, msgspec.Meta(ge=0)]
    min_interval_seconds: Annotated[int, msgspec.Meta(ge=0)]


class ConfigMapRef(msgspec.Struct, frozen=True, kw_only=True):
    """A key of a ConfigMap in the agent's namespace."""

    name: str
    key: str


class ClientSecret(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A Secret in the agent's namespace with the identity of an OAuth2 client.

    The keys are those of its identifier and its secret.
    """

    name: str
    client_id_key: str = msgspec.field(name="clientIDKey")
    client_secret_key: str


class OAuth2(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How an access token is obtained: client credentials (RFC 6749 section 4.4)."""

    token_url: str = msgspec.field(name="tokenURL")
    client_secret_ref: ClientSecret
    scopes: tuple[str, ...] = ()
    audience: str = ""
    client_authentication: Literal["Header", "Body"] = "Header"
    """Where the client's secret is sent."""
    ca_config_map_ref: ConfigMapRef | None = None
    """The private CA of the token server."""


class EndpointAuth(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What upstream's name and key of a token Secret cannot say.

    This is a private CA, the pod's own token, or a token that a token server issues.
    """

    ca_config_map_ref: ConfigMapRef | None = None
    service_account_token: bool = False
    oauth2: OAuth2 | None = None


class SecretRef(msgspec.Struct, frozen=True, kw_only=True):
    """A key of a Secret in the agent's namespace."""

    name: str
    key: str


class Header(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A header of every request to the metric source: a plain value, or the value of a Secret."""

    name: str
    value: str | None = None
    secret_ref: SecretRef | None = None

    def __post_init__(self) -> None:
        # Lint checks the same in a repository. A ConfigMap may also be written by someone else.
        fault = name_fault(self.name)
        if not fault and self.value is not None:
            fault = value_fault(self.value)
        if not fault and (self.value is None) == (self.secret_ref is None):
            fault = f"the header {self.name} needs either value or secretRef"
        if fault:
            raise ValueError(fault)


class BasicAuth(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A Secret in the agent's namespace with a user name and a password, and their keys in it."""

    name: str
    username_key: str
    password_key: str


class ClientCertificate(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A Secret in the agent's namespace with a certificate and its private key.

    The keys are those of the two in the Secret.
    """

    name: str
    certificate_key: str
    private_key_key: str


class ClusterLabel(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The label of series that names their cluster.

    Its value is the cluster's name, or with ``claim`` or ``label`` the value of that claim or label
    of the ManagedCluster.
    """

    name: str
    claim: str = ""
    label: str = ""

    @property
    def identity(self) -> str:
        """The key of a cluster's value in the file of clusters.

        It is empty if the value is the cluster's name.
        """
        if self.claim:
            return f"claim:{self.claim}"
        return f"label:{self.label}" if self.label else ""


class ScorerSummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One scorer as one cluster runs it.

    Ranges, steps and intervals are seconds; endpoints are whole URLs.
    """

    name: str
    score_name: str
    source_type: str = ""
    source_endpoint: str = ""
    source_endpoint_auth_name: str = ""
    source_endpoint_auth_key: str = ""
    source_query: str = ""
    source_range: int = 0
    source_step: int = 0
    scoring_endpoint: str = ""
    scoring_interval: int = 0
    scoring_endpoint_auth_name: str = ""
    scoring_endpoint_auth_key: str = ""
    location: str = ""
    score_destination: str = ""
    score_dimension_format: str = ""
    # Upstream's fields end here. Its agent (f5844b9) ignores those below. None is not written, so a
    # scorer without our extras has upstream's keys alone.
    scoring_arguments: dict[str, Any] | None = None
    score_range: ScoreRange | None = None
    score_aggregation: str | None = None
    score_ttl_seconds: Annotated[int, msgspec.Meta(gt=0)] | None = msgspec.field(
        default=None, name="scoreTTLSeconds"
    )
    publish: PublishRule | None = None
    source_ref: str | None = None
    """Name of the MetricSource that the source's endpoint and credentials come from."""
    source_headers: tuple[Header, ...] | None = None
    source_basic_auth: BasicAuth | None = None
    source_client_certificate: ClientCertificate | None = None
    source_parameters: dict[str, str] | None = None
    """URL parameters of every query, such as those that choose a tenant."""
    source_on_partial: str | None = None
    """``Fail`` for scorers that take no answer in which the source says that data is missing."""
    source_auth: EndpointAuth | None = None
    scoring_auth: EndpointAuth | None = None
    scoring_client_certificate: ClientCertificate | None = None
    scoring_type: str | None = None
    default_score: Annotated[int, msgspec.Meta(ge=SCORE_MIN, le=SCORE_MAX)] | None = None
    runs_on: str | None = None
    """``Hub`` for scorers that run in the hub scorer. No agent runs them."""
    cluster_label: ClusterLabel | None = None
    clusters_per_request: Annotated[int, msgspec.Meta(gt=0)] | None = None

    @property
    def scored_by_query(self) -> bool:
        """Whether the value of each series is its raw score, and no scoring API is called."""
        return self.scoring_type == SCORED_BY_QUERY

    @property
    def fails_on_partial(self) -> bool:
        """Whether an answer in which the source says that data is missing is a failure."""
        return self.source_on_partial == FAIL

    @property
    def on_hub(self) -> bool:
        """Whether the hub scorer runs this entry."""
        return self.runs_on == RUNS_ON_HUB


UPSTREAM_KEYS: Final = ScorerSummary.__struct_encode_fields__[:16]
"""Upstream's sixteen keys, from name to scoreDimensionFormat. They are always written."""
_ALWAYS: Final = frozenset(UPSTREAM_KEYS)


@dataclass(frozen=True, kw_only=True)
class Problem:
    """The reason why an entry cannot be used, with its index and the name it gives itself."""

    index: int
    name: str
    reason: str
    entry: "NamedEntry | None" = None
    """The scores that the entry is for; None if it does not name them."""


@dataclass(frozen=True, kw_only=True)
class NamedEntry:
    """An entry, as far as it says which scores it is for and who runs it."""

    name: str
    score_name: str
    score_destination: str
    on_hub: bool


@dataclass(frozen=True, kw_only=True)
class Decoded:
    """The content of a ConfigMap: usable entries in order, and the problems of the others."""

    summaries: tuple[ScorerSummary, ...]
    problems: tuple[Problem, ...]


class SummariesError(ValueError):
    """The text as a whole is not a JSON array; nothing in it can be trusted."""


def to_object(summary: ScorerSummary) -> dict[str, Any]:
    """The JSON object of a summary: upstream's keys in order, then those of ours that are set."""
    plain: dict[str, Any] = msgspec.to_builtins(summary)
    return {key: value for key, value in plain.items() if key in _ALWAYS or value is not None}


def encode_one(summary: ScorerSummary) -> str:
    """One summary as indented JSON, non-ASCII characters as they are."""
    return msgspec.json.format(msgspec.json.encode(to_object(summary)), indent=2).decode()


def encode(summaries: list[ScorerSummary]) -> str:
    """The value of the ConfigMap key: indented, so that a diff shows which scorer changed."""
    plain = [to_object(summary) for summary in summaries]
    return msgspec.json.format(msgspec.json.encode(plain), indent=2).decode()


def decode(text: str | bytes) -> Decoded:
    """Reads the ConfigMap key; bad entries become problems.

    Raises SummariesError if it is not an array.
    """
    entries = _entries(text)
    summaries: list[ScorerSummary] = []
    problems: list[Problem] = []
    seen: dict[str, int] = {}
    for index, raw in enumerate(entries):
        entry: dict[str, Any] = {}
        try:
            entry = msgspec.json.decode(raw, type=dict[str, Any])
            # null means absent: Go writes it for a nil pointer.
            present = {key: value for key, value in entry.items() if value is not None}
            summary = msgspec.convert(present, ScorerSummary)
            reason = ""
            if not summary.name or not summary.score_name:
                reason = "name and scoreName must not be empty"
            # The first entry stays: a second one by mistake must not end a scorer that runs.
            if summary.name in seen:
                reason = f"entry {seen[summary.name]} already has the name {summary.name!r}"
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            reason = str(error)
        if reason:
            name = entry.get("name", "")
            problem = Problem(
                index=index,
                name=name if isinstance(name, str) else "",
                reason=reason,
                entry=_named(entry),
            )
            problems.append(problem)
        else:
            seen[summary.name] = index
            summaries.append(summary)
    return Decoded(summaries=tuple(summaries), problems=tuple(problems))


def named_entry(summary: ScorerSummary) -> NamedEntry:
    """The names of an entry that can be read and not be run."""
    return NamedEntry(
        name=summary.name,
        score_name=summary.score_name,
        score_destination=summary.score_destination,
        on_hub=summary.on_hub,
    )


def _named(entry: Mapping[str, Any]) -> NamedEntry | None:
    """The names of an entry that cannot be read; None if they cannot be read either."""
    keys = ("name", "scoreName", "scoreDestination", "runsOn")
    texts: dict[str, str] = {}
    for key in keys:
        text = entry.get(key)
        if text is not None and not isinstance(text, str):
            return None
        texts[key] = text or ""
    if not texts["scoreName"]:
        return None
    return NamedEntry(
        name=texts["name"],
        score_name=texts["scoreName"],
        score_destination=texts["scoreDestination"],
        on_hub=texts["runsOn"] == RUNS_ON_HUB,
    )


def _entries(text: str | bytes) -> list[msgspec.Raw]:
    """The elements as JSON text, so that a number like 1e999 in one spoils no other."""
    try:
        if isinstance(text, bytes):
            # Checked for the whole: what is left raw is not looked at.
            text = text.decode("utf-8")
        return msgspec.json.decode(text.removeprefix("\ufeff"), type=list[msgspec.Raw])
    except msgspec.ValidationError as error:
        raise SummariesError(f"not a JSON array of scorers: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SummariesError(f"not valid JSON: {error}") from error
