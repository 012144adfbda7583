"""The failures that a worker recovers from, with their reasons; and SettingsError at the start."""

from enum import StrEnum
from typing import Final, Literal

from dsf_runtime.calls import FailureKind

Stage = Literal["fetch", "score", "publish"]


class Reason(StrEnum):
    """Why a cycle or a write failed, in metrics, logs and alerts.

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
    """For every credential: tokens, passwords, headers and client certificates."""
    CA_UNAVAILABLE = "ca_unavailable"
    CONFLICT = "conflict"
    """409, or another program writes the scores."""
    INVALID_OBJECT = "invalid_object"
    """422 or 400 of an API server."""
    BAD_CREDENTIALS = "bad_credentials"
    WRITE_FAILED = "write_failed"
    INTERNAL = "internal"


_KINDS: Final = {FailureKind.UNKNOWN_HOST: Reason.UNREACHABLE, FailureKind.CERTIFICATE: Reason.TLS}
"""Other kinds have reasons with the same name."""
_STATUSES: Final = {
    401: Reason.UNAUTHORIZED,
    403: Reason.FORBIDDEN,
    404: Reason.NOT_FOUND,
    409: Reason.CONFLICT,
    413: Reason.TOO_LARGE,
    429: Reason.THROTTLED,
}


def kind_reason(kind: FailureKind) -> Reason:
    """The reason for a call without an answer."""
    return _KINDS.get(kind) or Reason(kind.value)


def status_reason(status: int) -> Reason:
    """The reason for a status that is not 2xx."""
    if 300 <= status < 400:
        return Reason.REDIRECTED
    return Reason.SERVER_ERROR if status >= 500 else _STATUSES.get(status, Reason.HTTP_ERROR)


class SettingsError(ValueError):
    """An invalid flag or environment variable. The message says what to write instead."""


class AgentError(Exception):
    """A failure with its reason and stage.

    ``retry_after``: seconds that the peer asked us to wait.
    """

    def __init__(
        self,
        message: str,
        *,
        reason: Reason,
        retry_after: float | None = None,
        stage: Stage = "score",
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.retry_after = retry_after
        self.stage = stage

    def without_traceback(self, message: str = "", *, stage: Stage | None = None) -> "AgentError":
        """The same failure without its traceback.

        The traceback would keep all that its functions had in memory, such as answers. Raise none
        that a variable of the same function holds: it would hold the function.
        """
        return AgentError(
            message or str(self),
            reason=self.reason,
            retry_after=self.retry_after,
            stage=stage or self.stage,
        )
