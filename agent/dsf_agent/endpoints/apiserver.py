"""The agent's client of an API server: JSON objects in and out, and a PublishError with a reason for every
failure.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import msgspec

from dsf_agent import __version__
from dsf_agent.errors import PublishError, Reason, kind_reason, status_reason
from dsf_runtime import apiserver
from dsf_runtime.access import Access
from dsf_runtime.apianswers import ApiFailure
from dsf_runtime.apiserver import JSON, ApiError
from dsf_runtime.calls import display
from dsf_runtime.clock import Clock

ETCD_TOO_LARGE: Final = ("etcdserver: request is too large", "trying to send message larger than max")
"""Messages that the API server answers with status 500 when an object is larger than etcd or its client
allows.
"""

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Reply:
    """The body of a successful answer. ``url`` is for messages."""

    url: str
    body: bytes

    @property
    def object(self) -> dict[str, Any]:
        """The whole object. Raises PublishError if the body is not a JSON object."""
        return self.read(dict[str, Any])

    def read(self, shape: type[T]) -> T:
        """The fields of ``shape``; other fields are skipped. Raises PublishError if the body does not fit."""
        try:
            return msgspec.json.decode(self.body or b"{}", type=shape)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            msg = f"{display(self.url)} did not answer with the expected JSON object: {error}"
            raise PublishError(msg, reason=Reason.INVALID_BODY) from error


class ApiServer(apiserver.ApiServer):
    """Owns one connection pool."""

    def __init__(self, *, load: Callable[[], Access], clock: Clock, timeout_seconds: float) -> None:
        agent = f"gitops-dsf-agent/{__version__}"
        super().__init__(load=load, user_agent=agent, timeout_seconds=timeout_seconds, clock=clock)

    async def call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = JSON,
        accept: str = JSON,
    ) -> Reply:
        """Sends one request. A body that is not bytes is encoded as JSON. Raises PublishError unless the
        status is 2xx.
        """
        try:
            found = await self.request(
                method, path, params=params, body=body, content_type=content_type, accept=accept
            )
        except ApiError as error:
            raise PublishError(str(error), reason=reason_of(error), retry_after=error.retry_after) from error
        if found.body and not found.body.lstrip().startswith(b"{"):
            msg = f"{display(found.url)} did not answer with a JSON object"
            raise PublishError(msg, reason=Reason.INVALID_BODY)
        return Reply(url=found.url, body=found.body)


def reason_of(error: ApiError | ApiFailure) -> Reason:
    """The reason for a failed request to an API server."""
    if error.kind is not None:
        return kind_reason(error.kind)
    if error.status in {400, 422}:
        return Reason.INVALID_OBJECT
    if any(text in str(error) for text in ETCD_TOO_LARGE):
        return Reason.TOO_LARGE
    return status_reason(error.status)
