"""Why a cycle, a publication or a configuration failed: one short word each, the ``reason`` label of logs and
metrics.

docs/agent.md says for every reason what it means and what to do about it.
"""

from enum import StrEnum


class Reason(StrEnum):
    """Reasons are stable: alerts are written against them."""

    UNREACHABLE = "unreachable"
    """No connection: name not found, refused, no route."""
    TIMEOUT = "timeout"
    """No complete answer within the request time-out; a slow drip counts too."""
    TLS = "tls"
    """The certificate or the handshake was not acceptable to one side."""
    CONNECTION_LOST = "connection_lost"
    """The peer closed or broke the connection before the answer was complete."""
    BAD_URL = "bad_url"
    """The endpoint is not a URL that can be called."""
    REDIRECTED = "redirected"
    """The answer points elsewhere; the agent never follows, a token could travel to another host."""
    UNAUTHORIZED = "unauthorized"
    """401, also after the credentials were read again."""
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
    """The answer, or the object to publish, is above the size limit."""
    INVALID_BODY = "invalid_body"
    """The answer is not the JSON that the contract asks for."""
    QUERY_ERROR = "query_error"
    """The metric source refused or failed the query and says why."""
    QUERY_BAD_DATA = "query_bad_data"
    """QUERY_ERROR with errorType bad_data: the expression or a parameter is wrong."""
    QUERY_EXECUTION = "query_execution"
    """errorType execution: the expression is well-formed and fails on this data (too many samples,
    many-to-many matching).
    """
    QUERY_TIMEOUT = "query_timeout"
    """errorType timeout: the source gave up on its own."""
    QUERY_UNAVAILABLE = "query_unavailable"
    """errorType unavailable or canceled: the source is overloaded or starting."""
    QUERY_INTERNAL = "query_internal"
    """errorType internal."""
    NO_RESULTS = "no_results"
    """The scoring API answered, and no result or not one that could be used: a source without data yet, or a
    fault of the API.
    """
    TOKEN_UNAVAILABLE = "token_unavailable"  # noqa: S105 - a reason, not a token
    """The token Secret or the pod's own token could not be read."""
    CA_UNAVAILABLE = "ca_unavailable"
    """The CA ConfigMap could not be read or holds no certificate."""
    CONFLICT = "conflict"
    """409: another writer owns the scores."""
    INVALID_OBJECT = "invalid_object"
    """422 or 400: the API server refused the object."""
    BAD_CREDENTIALS = "bad_credentials"
    """The kubeconfig or the in-cluster credentials cannot be used."""
    WRITE_FAILED = "write_failed"
    """The publish directory cannot be read or written."""
    INTERNAL = "internal"
    """A fault of the agent itself; the log has the traceback."""
