"""The failure that a worker expects and recovers from, with its reasons. SettingsError is separate: the
process cannot start with these flags.
"""

from enum import StrEnum
from typing import Final, Literal

from dsf_runtime.calls import FailureKind

Stage = Literal["fetch", "score", "publish"]


class Reason(StrEnum):
    """Why a cycle or a write failed: the label ``reason`` of metrics, and the field of logs.

    Reasons are stable, because alerts use them. docs/operate/agent.md says what each means and what to do
    about it.
    """

    UNREACHABLE = "unreachable"
    """No connection: name not found, refused, no route."""
    TIMEOUT = "timeout"
    """No complete answer within the time-out, even if bytes keep arriving slowly."""
    TLS = "tls"
    """One side did not accept the certificate or the handshake."""
    CONNECTION_LOST = "connection_lost"
    """The peer closed or broke the connection before the answer was complete."""
    BAD_URL = "bad_url"
    """The endpoint is not a URL that can be called."""
    REDIRECTED = "redirected"
    """The answer is a redirect. The agent never follows one, because it could send a token to another host.
    """
    UNAUTHORIZED = "unauthorized"
    """401, even after the credentials were read again."""
    FORBIDDEN = "forbidden"
    """403."""
    NOT_FOUND = "not_found"
    """404: a wrong path, or on the hub a missing cluster namespace or CRD."""
    THROTTLED = "throttled"
    """429."""
    HTTP_ERROR = "http_error"
    """Another status that is not 2xx."""
    SERVER_ERROR = "server_error"
    """5xx."""
    TOO_LARGE = "too_large"
    """The answer or the object to publish is larger than the limit."""
    INVALID_BODY = "invalid_body"
    """The answer is not the JSON that the contract asks for."""
    QUERY_ERROR = "query_error"
    """The metric source reports an error of another type."""
    QUERY_BAD_DATA = "query_bad_data"
    """errorType bad_data: the expression or a parameter is wrong."""
    QUERY_EXECUTION = "query_execution"
    """errorType execution: the expression is valid but fails on this data (too many samples, many-to-many
    matching).
    """
    QUERY_TIMEOUT = "query_timeout"
    """errorType timeout: the source stopped the query."""
    QUERY_UNAVAILABLE = "query_unavailable"
    """errorType unavailable or canceled: the source is overloaded or starting."""
    QUERY_INTERNAL = "query_internal"
    """errorType internal."""
    NO_RESULTS = "no_results"
    """The scoring API answered without a usable result: the source has no data yet, or the API has a bug."""
    TOKEN_UNAVAILABLE = "token_unavailable"  # noqa: S105 - a reason, not a token
    """The pod's token, or a Secret with a token, password, header or client certificate, could not be read or
    used, or a token server issued no access token.
    """
    CA_UNAVAILABLE = "ca_unavailable"
    """The CA ConfigMap could not be read or contains no certificate."""
    CONFLICT = "conflict"
    """409, or another program writes the scores."""
    INVALID_OBJECT = "invalid_object"
    """422 or 400: the API server refused the object."""
    BAD_CREDENTIALS = "bad_credentials"
    """The kubeconfig or the in-cluster credentials cannot be used."""
    WRITE_FAILED = "write_failed"
    """The publish directory cannot be read or written."""
    INTERNAL = "internal"
    """A bug in the agent. The log has the traceback."""


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
    """A failure with its reason and, in a cycle, its stage. ``retry_after`` is the number of seconds that the
    peer asked us to wait, or None.
    """

    def __init__(
        self, message: str, *, reason: Reason, retry_after: float | None = None, stage: Stage = "score"
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.retry_after = retry_after
        self.stage = stage

    def anew(self, message: str = "", *, stage: Stage | None = None) -> "AgentError":
        """The same failure without its traceback, which would keep all that the functions in it had in
        memory, such as answers. The message and the stage may be others. Raise none that a variable of the
        same function holds: its traceback would hold the function, and so itself.
        """
        return AgentError(
            message or str(self),
            reason=self.reason,
            retry_after=self.retry_after,
            stage=stage or self.stage,
        )
