"""What API servers answer: errors, pages of lists, and events of watches."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final

import httpx
import msgspec

from dsf_runtime.access import Access
from dsf_runtime.calls import CallFault, FailureKind, as_call_faults, excerpt, hide
from dsf_wire.retryafter import retry_after

PAGE: Final = 500
"""Most objects in a first page, whose size nobody knows yet."""
MOST_PAGE: Final = 2000
"""Most objects in a page. Each request costs about a millisecond of CPU, as much as 500 scores."""
PAGE_BYTES: Final = 4 << 20
"""Intended size of a page. The API's limit, a number of objects, is adapted to what was read."""
MOST_PAGE_BYTES: Final = 4 * PAGE_BYTES
"""A larger page is not read to its end. It is requested again with fewer objects."""
ANSWER_BYTES: Final = 64 << 20
"""Largest other answer. etcd stores objects up to 1.5 MB."""


class ApiError(Exception):
    """The server answered with an error status, or, if ``status`` is 0, did not answer (``kind``)."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        kind: FailureKind | None = None,
        wait: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.kind = status, kind
        self.retry_after = wait
        """Seconds that the server asked us to wait."""

    def without_traceback(self) -> "ApiError":
        """The same error without its traceback, which would keep the answer in memory."""
        return ApiError(str(self), status=self.status, kind=self.kind, wait=self.retry_after)


def refusal(
    what: str, access: Access, response: httpx.Response, content: bytes | None, *, now: float
) -> ApiError:
    """The error for an error status. ``now``: the server's time."""
    try:
        decoded = msgspec.json.decode(content or b"")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        decoded = None
    message = decoded.get("message") if isinstance(decoded, dict) else bytes(content or b"")
    words = excerpt(message if isinstance(message, str | bytes) else "") or response.reason_phrase
    status = response.status_code
    return ApiError(
        f"{what}: {status} {hide(words, access.token)}",
        status=status,
        wait=retry_after(response.headers, now=now),
    )


JSON: Final = "application/json"


def encoded(
    body: object, *, content_type: str, accept: str = JSON
) -> tuple[dict[str, str], bytes | None]:
    """The headers and the content of a request. A body that is not bytes is encoded as JSON."""
    if body is None:
        return {"Accept": accept}, None
    content = body if isinstance(body, bytes) else msgspec.json.encode(body)
    return {"Accept": accept, "Content-Type": content_type}, content


def whole(what: str, answer: bytes | None) -> bytes:
    """The answer to a request. None stands for one of more than ANSWER_BYTES. Raises ApiError."""
    if answer is None:
        raise ApiError(
            f"{what}: the answer has more than {ANSWER_BYTES} bytes", kind=FailureKind.INVALID_BODY
        )
    return bytes(answer)


@contextmanager
def as_api_errors(what: str, access: Access, path: str, *, seconds: float) -> Iterator[None]:
    """Turns a call without an answer into ApiError."""
    try:
        with as_call_faults(url=access.host + path, seconds=seconds):
            yield
    except CallFault as fault:
        msg = f"{what}: the API server does not answer: {hide(str(fault), access.token)}"
        raise ApiError(msg, kind=fault.kind) from fault


BUSY_RETRIES: Final = 10
BUSY_SECONDS: Final = 10.0
"""A command asks a busy server again this often, as client-go does, if each wait is no longer."""


class Paging:
    """The parameters of a paged list. Pages have about PAGE_BYTES, whatever the size of the objects."""

    def __init__(self, selector: Mapping[str, str]) -> None:
        self._selector = selector
        self._limit = PAGE
        self._more: str | None = ""
        """Continue token of the next page; None after the last one."""

    def params(self) -> dict[str, str] | None:
        """Parameters of the next request; None after the last page."""
        if self._more is None:
            return None
        return {
            "limit": str(self._limit),
            **self._selector,
            **({"continue": self._more} if self._more else {}),
        }

    @property
    def most(self) -> int:
        """Largest page that is read. A single object cannot be requested in parts."""
        return ANSWER_BYTES if self._limit == 1 else MOST_PAGE_BYTES

    def too_large(self, path: str) -> None:
        """The page was too large: the next request asks for fewer objects. Raises ApiError for one object."""
        if self._limit == 1:
            msg = f"GET {path}: one object has more than {ANSWER_BYTES} bytes"
            raise ApiError(msg, kind=FailureKind.INVALID_BODY)
        self._limit = max(1, self._limit // 4)

    def arrived(self, content: bytes, *, more: str | None = None) -> None:
        """A page is there. One that is not the last has as many objects as were asked for. ``more`` is its
        continue token, if the caller has decoded it.
        """
        self._more = (_more(content) if more is None else more) or None
        if self._more is not None:
            fitting = PAGE_BYTES * self._limit // len(content)
            self._limit = max(1, min(MOST_PAGE, self._limit * 2, fitting))


class WatchEvent(msgspec.Struct, frozen=True):
    """One event of a watch."""

    type: str
    object: msgspec.Raw


class ListMetadata(
    msgspec.Struct,
    frozen=True,
    rename={
        "resource_version": "resourceVersion",
        "more": "continue",
        "remaining": "remainingItemCount",
    },
):
    """Metadata of a list."""

    resource_version: str = ""
    more: str = ""
    """Continue token of the next page; empty on the last one."""
    remaining: int | None = None
    """Objects of the pages that follow, if the server says it."""


class _Ends(msgspec.Struct, frozen=True):
    """A list without its items."""

    metadata: ListMetadata


def _more(content: bytes) -> str:
    """The continue token of a page; empty on the last one, and if this is no page. It is after the items of
    custom resources, and before those of typed lists; else the whole page is read.
    """
    before = content[: content.find(b'"items":')].rstrip(b", \n") + b"}"
    after = b"{" + content[content.rfind(b"]") + 1 :].lstrip(b", \n")
    for part in (before, after, content):
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            return msgspec.json.decode(part, type=_Ends).metadata.more
    return ""


class ListPage(msgspec.Struct, frozen=True):
    """One page of a list. Its items are not decoded."""

    metadata: ListMetadata
    items: list[msgspec.Raw] | None = None
