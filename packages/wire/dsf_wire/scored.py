"""Reasons why a scorer gives no score on a cluster, and the condition that shows them on the hub.

An agent finds the reason, counts it in its metrics, and writes it into the condition `Scored` of
the AddOnPlacementScore. On the hub the same words are read, counted and explained. A message may
quote the answer of a peer, so it is untrusted text for the agent, and once more for the hub.

OCM 1.2.1 reads no conditions of an AddOnPlacementScore (pkg/placement/plugins/addon/addon.go).
"""

from enum import StrEnum
from typing import Final, Literal

from dsf_wire.text import printable

SCORED: Final = "Scored"
"""Type of the condition: whether the scorer gives scores on this cluster now."""
MAX_CONDITION_MESSAGE: Final = 256
"""Characters. A fleet has hundreds of thousands of these objects, and a line of a table should do.
"""
MAX_CONDITION_REASON: Final = 64
"""Characters of a reason that the hub reads. The API server allows 1024."""

Stage = Literal["fetch", "score", "publish"]
"""The part of a cycle in which a failure happened."""


class Reason(StrEnum):
    """The reason why a cycle or a write failed, in metrics, logs and /readyz of an agent.

    docs/operate/problems.md has them all.
    """

    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    """No complete answer within the time-out, even if bytes keep arriving slowly."""
    TLS = "tls"
    """One side did not accept the certificate or the handshake."""
    CONNECTION_LOST = "connection_lost"
    BAD_URL = "bad_url"
    REDIRECTED = "redirected"
    """The agent never follows a redirect, because it could send a token to another host."""
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    THROTTLED = "throttled"
    HTTP_ERROR = "http_error"
    SERVER_ERROR = "server_error"
    TOO_LARGE = "too_large"
    INVALID_BODY = "invalid_body"
    QUERY_ERROR = "query_error"
    QUERY_BAD_DATA = "query_bad_data"
    QUERY_EXECUTION = "query_execution"
    QUERY_TIMEOUT = "query_timeout"
    QUERY_UNAVAILABLE = "query_unavailable"
    QUERY_INTERNAL = "query_internal"
    PARTIAL_ANSWER = "partial_answer"
    """The source says that data is missing from its answer, and the scorer takes none that is
    partial.
    """
    NO_RESULTS = "no_results"
    """The scoring API answered without a usable result: the source has no data yet, or the API has
    a bug.
    """
    TOKEN_UNAVAILABLE = "token_unavailable"  # noqa: S105 - a reason, not a token
    """The reason for every kind of credential: tokens, passwords, headers and client certificates.
    """
    CA_UNAVAILABLE = "ca_unavailable"
    CONFLICT = "conflict"
    """409, or another program writes the scores."""
    INVALID_OBJECT = "invalid_object"
    """422 or 400 of an API server."""
    BAD_CREDENTIALS = "bad_credentials"
    WRITE_FAILED = "write_failed"
    INTERNAL = "internal"


class ScoredReason(StrEnum):
    """The reasons of the condition `Scored`, and of metrics about it.

    Coarser than `Reason`, because a person on the hub asks first who must do something: the author
    of the query, the owner of the metric source, the owner of the scoring API, or whoever puts
    Secrets on the cluster. The message has the rest. docs/operate/problems.md explains each.
    """

    SCORED = "Scored"
    """The only reason of status True."""
    QUERY_FAILED = "QueryFailed"
    """The source refused or stopped the query."""
    NO_SERIES = "NoSeries"
    """The source answered, and has no series for this cluster."""
    PARTIAL_ANSWER = "PartialAnswer"
    SOURCE_UNREACHABLE = "SourceUnreachable"
    SOURCE_FAILED = "SourceFailed"
    UNAUTHORIZED = "Unauthorized"
    """The source or the scoring API refused the credentials that were sent."""
    CREDENTIALS_MISSING = "CredentialsMissing"
    """A Secret, a CA or a token that the scorer needs is missing or cannot be used."""
    SCORING_API_UNREACHABLE = "ScoringApiUnreachable"
    SCORING_API_FAILED = "ScoringApiFailed"
    NO_RESULTS = "NoResults"
    """The scoring API answered without any result."""
    INVALID_RESULTS = "InvalidResults"
    """The scoring API answered, and nothing in its answer can be used."""
    TOO_LARGE = "TooLarge"
    PUBLISH_FAILED = "PublishFailed"
    """There are scores, and the hub refuses them."""
    INVALID_CONFIGURATION = "InvalidConfiguration"
    """The entry of the scorer in the configuration cannot run."""
    INTERNAL_ERROR = "InternalError"
    """A bug in the agent."""
    OTHER = "Other"
    """The reason on the hub for any other word, such as that of a newer agent."""


_BY_REASON: Final = {
    Reason.UNAUTHORIZED: ScoredReason.UNAUTHORIZED,
    Reason.FORBIDDEN: ScoredReason.UNAUTHORIZED,
    Reason.TOO_LARGE: ScoredReason.TOO_LARGE,
    Reason.QUERY_ERROR: ScoredReason.QUERY_FAILED,
    Reason.QUERY_BAD_DATA: ScoredReason.QUERY_FAILED,
    Reason.QUERY_EXECUTION: ScoredReason.QUERY_FAILED,
    Reason.QUERY_TIMEOUT: ScoredReason.QUERY_FAILED,
    Reason.QUERY_UNAVAILABLE: ScoredReason.SOURCE_FAILED,
    Reason.QUERY_INTERNAL: ScoredReason.SOURCE_FAILED,
    Reason.PARTIAL_ANSWER: ScoredReason.PARTIAL_ANSWER,
    Reason.NO_RESULTS: ScoredReason.NO_RESULTS,
    Reason.TOKEN_UNAVAILABLE: ScoredReason.CREDENTIALS_MISSING,
    Reason.CA_UNAVAILABLE: ScoredReason.CREDENTIALS_MISSING,
    Reason.BAD_CREDENTIALS: ScoredReason.CREDENTIALS_MISSING,
    Reason.WRITE_FAILED: ScoredReason.PUBLISH_FAILED,
    Reason.INTERNAL: ScoredReason.INTERNAL_ERROR,
}
"""Reasons that say the same in both stages, source and scoring API."""
_UNREACHABLE: Final = frozenset(
    {Reason.UNREACHABLE, Reason.TIMEOUT, Reason.TLS, Reason.CONNECTION_LOST}
)


def scored_reason(reason: Reason, *, stage: Stage) -> ScoredReason:
    """The condition's reason for a failure of an agent."""
    # The same word means another thing in each stage: `unreachable` may be the source, the scoring
    # API or the hub, and each has another owner.
    if stage == "publish":
        too_large = reason is Reason.TOO_LARGE
        return ScoredReason.TOO_LARGE if too_large else ScoredReason.PUBLISH_FAILED
    shared = _BY_REASON.get(reason)
    if shared is not None:
        return shared
    if stage == "fetch":
        unreachable = reason in _UNREACHABLE
        return ScoredReason.SOURCE_UNREACHABLE if unreachable else ScoredReason.SOURCE_FAILED
    if reason is Reason.INVALID_BODY:
        return ScoredReason.INVALID_RESULTS
    unreachable = reason in _UNREACHABLE
    return ScoredReason.SCORING_API_UNREACHABLE if unreachable else ScoredReason.SCORING_API_FAILED


def condition_message(text: str) -> str:
    """A text as the message of the condition has it: printable, on one line, and bounded."""
    return printable(text, max_characters=MAX_CONDITION_MESSAGE)


def known_reason(text: str) -> ScoredReason:
    """The reason with this name; OTHER for a word that is not in the list."""
    try:
        return ScoredReason(text)
    except ValueError:
        # Reasons become values of a metric's label, so strangers' words must not multiply them.
        return ScoredReason.OTHER
