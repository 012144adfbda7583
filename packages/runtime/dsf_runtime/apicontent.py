"""The content of requests to API servers and of their answers."""

from typing import Final, NamedTuple

import msgspec

from dsf_runtime.apierrors import ApiError
from dsf_runtime.calls import FailureKind

JSON: Final = "application/json"
ANSWER_BYTES: Final = 64 << 20
"""Largest answer that is not a page of a list. etcd stores objects up to 1.5 MB."""


class RequestContent(NamedTuple):
    """The content and the headers of a request, beside its method and path."""

    headers: dict[str, str]
    content: bytes | None


def encoded(body: object, *, content_type: str, accept: str = JSON) -> RequestContent:
    """The headers and the content of a request. A body that is not bytes is encoded as JSON."""
    if body is None:
        return RequestContent({"Accept": accept}, None)
    content = body if isinstance(body, bytes) else msgspec.json.encode(body)
    return RequestContent({"Accept": accept, "Content-Type": content_type}, content)


def whole(what: str, answer: bytes | None) -> bytes:
    """The answer to a request. None stands for one of more than ANSWER_BYTES. Raises ApiError."""
    if answer is None:
        raise ApiError(
            f"{what}: the answer has more than {ANSWER_BYTES} bytes", kind=FailureKind.INVALID_BODY
        )
    return bytes(answer)
