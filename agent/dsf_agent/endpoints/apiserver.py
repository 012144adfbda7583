"""The agent's client of an API server: JSON in and out.

Every failure is an AgentError with a reason.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from dsf_agent import __version__
from dsf_agent.errors import AgentError, kind_reason, status_reason
from dsf_runtime import apiserver
from dsf_runtime.access import Access
from dsf_runtime.apiserver import JSON, ApiError
from dsf_wire.scored import Reason

ETCD_TOO_LARGE: Final = (
    "etcdserver: request is too large",
    "trying to send message larger than max",
)
"""The answers of the API server, with status 500, for objects that are too large for etcd or its
client.
"""

T = TypeVar("T")


class AgentApiServer(apiserver.ApiServer):
    """Owns one connection pool."""

    def __init__(
        self,
        *,
        load: Callable[[], Access],
        timeout_seconds: float,
        wall: Callable[[], float] = time.time,
    ) -> None:
        agent = f"gitops-dsf-agent/{__version__}"
        super().__init__(load=load, user_agent=agent, timeout_seconds=timeout_seconds, wall=wall)

    async def call(
        self,
        method: str,
        path: str,
        *,
        shape: type[T] = dict[str, Any],  # type: ignore[assignment]
        params: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = JSON,
        accept: str = JSON,
    ) -> T:
        """Sends a body as JSON if it is not bytes.

        Returns ``shape`` of the answer. Raises AgentError.
        """
        try:
            answer = await self.request(
                method, path, params=params, body=body, content_type=content_type, accept=accept
            )
        except ApiError as error:
            raise AgentError(
                str(error), reason=reason_of(error), retry_after=error.retry_after
            ) from error
        try:
            return msgspec.json.decode(answer or b"{}", type=shape)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            msg = (
                f"{method} {path}: the API server did not answer with the expected JSON"
                f" object: {error}"
            )
            raise AgentError(msg, reason=Reason.INVALID_BODY) from error


def reason_of(error: ApiError) -> Reason:
    """The reason for a failed request to an API server."""
    if error.kind is not None:
        return kind_reason(error.kind)
    if error.status in {400, 422}:
        return Reason.INVALID_OBJECT
    # The text decides: the status is that of a failure of the server, which trying again would
    # mend.
    if any(text in str(error) for text in ETCD_TOO_LARGE):
        return Reason.TOO_LARGE
    return status_reason(error.status)
