"""What our programs use of an httpx client, for servers of tests that are in memory.

Most of the time of a request is spent in httpx, httpcore, h11 and sockets. A test whose subject is
not the wire does without them.
"""

from abc import abstractmethod
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

import httpx

from tests.support.agent.http import RecordedRequest

Trace = Callable[[str, Mapping[str, Any]], Awaitable[None]]
"""Called with each of httpcore's events, and a mapping."""


class LeanSeen(RecordedRequest):
    """A request that is known in parts, so that nobody writes a URL of them and reads that
    again.
    """

    def __init__(
        self,
        method: str,
        *,
        path: str,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        body: bytes,
        at: float,
    ) -> None:
        # A frozen dataclass takes no attributes, and its own constructor takes four times as long.
        self.__dict__.update(
            method=method, path=path, query=query, headers=headers, body=body, at=at
        )

    @property
    def target(self) -> str:
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path


class LeanHeaders(dict[str, str]):
    """With names in lower case, whatever case is asked for."""

    def get(self, key: str, default: Any = None) -> Any:
        return super().get(key.lower(), default)

    def __contains__(self, key: object) -> bool:
        return super().__contains__(str(key).lower())


class LeanStream(AsyncIterable[bytes]):
    """The content of an answer while it arrives."""

    @abstractmethod
    async def aclose(self) -> None:
        """The client reads no more of it."""


class LeanResponse:
    """What the programs use of httpx.Response.

    Building a real one takes three times as long as everything else that a request needs here.
    """

    extensions: Final[Mapping[str, Any]] = {}

    def __init__(
        self,
        status: int,
        headers: Mapping[str, str],
        content: bytes | LeanStream,
        *,
        reason: str = "",
    ) -> None:
        self.status_code = status
        self._reason = reason
        self.headers = LeanHeaders(in_lower_case(headers))
        self._content = content

    @property
    def is_success(self) -> bool:
        return 200 <= self.status_code < 300

    @property
    def is_redirect(self) -> bool:
        return 300 <= self.status_code < 400

    @property
    def reason_phrase(self) -> str:
        return self._reason or httpx.codes.get_reason_phrase(self.status_code)

    async def aiter_raw(self) -> AsyncIterator[bytes]:
        if isinstance(self._content, LeanStream):
            async for piece in self._content:
                yield piece
        elif self._content:
            yield self._content

    def iter_raw(self) -> Iterator[bytes]:
        """For clients that block. They read no stream."""
        assert isinstance(self._content, bytes)
        if self._content:
            yield self._content

    async def aclose(self) -> None:
        if isinstance(self._content, LeanStream):
            await self._content.aclose()


class LeanRequest:
    """The arguments of `client.stream(...)`, as a server reads them."""

    def __init__(
        self,
        client: httpx.AsyncClient | httpx.Client,
        method: str,
        url: str,
        *,
        params: Mapping[str, str] | None = None,
        content: bytes | AsyncIterator[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: httpx.Timeout | None = None,
        extensions: Mapping[str, Any] | None = None,
    ) -> None:
        self.client = client
        self._method, self._content, self._params = method, content, params
        self.host, self._path, self._query = _url_parts(url)
        self._headers = _own_headers(client)
        if headers:
            self._headers = self._headers | in_lower_case(headers)
        self.read_seconds = (timeout or client.timeout).read
        """How long the client waits for the next bytes of the answer; None means for ever."""
        self.trace: Trace | None = extensions.get("trace") if extensions else None

    async def asked(self, *, at: float) -> LeanSeen:
        """The request as a server sees it."""
        body = self._content
        if body is None or isinstance(body, bytes):
            return self.asked_at_once(at=at)
        return self._seen(b"".join([piece async for piece in body]), at=at)

    def asked_at_once(self, *, at: float) -> LeanSeen:
        """The same for content that needs no event loop."""
        assert self._content is None or isinstance(self._content, bytes)
        return self._seen(self._content or b"", at=at)

    def _seen(self, body: bytes, *, at: float) -> LeanSeen:
        query = self._query
        if self._params:
            # A server that reads a query does not see parameters without a value.
            query = {name: value for name, value in self._params.items() if value}
        return LeanSeen(
            self._method, path=self._path, query=query, headers=self._headers, body=body, at=at
        )


async def tell_sending(trace: Trace | None) -> None:
    """Traces what httpcore traces when it begins to send a request on a connection."""
    if trace is not None:
        await trace("http11.send_request_headers.started", {})
        await trace("http11.send_request_body.started", {})


def tell_sent(trace: Trace | None) -> None:
    """Traces what httpcore traces when a client that blocks has sent a request."""
    if trace is not None:
        trace("http11.send_request_body.complete", {})


def in_lower_case(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers with their names in lower case."""
    return {name.lower(): value for name, value in headers.items()}


@lru_cache(maxsize=10_000)
def _url_parts(url: str) -> tuple[str, str, dict[str, str]]:
    """The host, the path and the query of a URL."""
    parts = urlsplit(url)
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    return parts.hostname or "", unquote(parts.path) or "/", query


def _own_headers(client: httpx.AsyncClient | httpx.Client) -> dict[str, str]:
    """The headers of a client, with names in lower case. They are kept with the client."""
    kept: dict[str, str] | None = client.__dict__.get("lean_headers")
    if kept is None:
        kept = client.__dict__["lean_headers"] = in_lower_case(client.headers)
    return kept
