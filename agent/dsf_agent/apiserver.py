"""One Kubernetes API server as the agent needs it: a few verbs on JSON objects, credentials re-read on change and on 401."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import httpx
import msgspec

from dsf_agent import __version__, callfault, kubeaccess
from dsf_agent.errors import AgentError, PublishError
from dsf_agent.kubeaccess import Access, AccessLoader
from dsf_agent.reasons import Reason
from dsf_runtime.calls import Retirement, display, excerpt, hide
from dsf_runtime.clock import Clock, HubClock

log = logging.getLogger(__name__)

RECHECK_SECONDS: Final = 1.0
"""Credential files are read again at most this often."""

ETCD_TOO_LARGE: Final = ("etcdserver: request is too large", "trying to send message larger than max")
"""What the API server passes on, as a 500, when an object is more than etcd takes, or than etcd's client sends."""

JSON: Final = "application/json"
APPLY: Final = "application/apply-patch+yaml"
"""Content type of server-side apply; JSON is YAML."""


JSON_PATCH: Final = "application/json-patch+json"

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Reply:
    """The body of an answer that is a success. ``url`` is for messages."""

    url: str
    body: bytes

    @property
    def object(self) -> dict[str, Any]:
        """The whole object. Raises PublishError when the body is none."""
        return self.read(dict[str, Any])

    def read(self, shape: type[T]) -> T:
        """What ``shape`` names of the object; the rest is skipped. Raises PublishError when the body does not fit."""
        try:
            return msgspec.json.decode(self.body or b"{}", type=shape)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            msg = f"{display(self.url)} did not answer with the JSON object that was asked for: {error}"
            raise PublishError(msg, reason=Reason.INVALID_BODY) from error


class ApiServer:
    """Owns one connection pool. ``clock`` learns the server's time from the Date header (whole seconds) of every answer."""

    def __init__(self, *, loader: AccessLoader, clock: Clock, timeout_seconds: float) -> None:
        self._loader = loader
        self._clock = clock
        self._timeout = timeout_seconds
        self._access: Access | None = None
        self._client: httpx.AsyncClient | None = None
        self._retirement = Retirement(grace=timeout_seconds)
        self._checked = 0.0
        self._lock = asyncio.Lock()
        self.server_clock = HubClock(clock=clock)

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
        """One request, its body encoded unless it is bytes already, repeated once with fresh credentials after 401.

        Raises PublishError unless the status is 2xx.
        """
        content = body if body is None or isinstance(body, bytes) else msgspec.json.encode(body)
        client = await self._ready()
        response = await self._send(client, method, path, params=params, content=content, content_type=content_type, accept=accept)
        if response.status_code == 401:
            client = await self._renew(client)
            response = await self._send(client, method, path, params=params, content=content, content_type=content_type, accept=accept)
        return self._reply(response)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None
        await self._retirement.close()

    async def _send(
        self,
        client: httpx.AsyncClient,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None,
        content: bytes | None,
        content_type: str,
        accept: str,
    ) -> httpx.Response:
        access = self._access
        if access is None:
            msg = "the API server's credentials are being replaced"
            raise PublishError(msg, reason=Reason.BAD_CREDENTIALS)
        headers = {"Accept": accept, "User-Agent": f"gitops-dsf-agent/{__version__}"}
        if content is not None:
            headers["Content-Type"] = content_type
        if access.authorization is not None:
            headers["Authorization"] = access.authorization
        extensions = {"sni_hostname": access.server_name} if access.server_name else {}
        url = access.host + path
        sent = self._clock.monotonic()
        try:
            with callfault.named(url=url, seconds=self._timeout):
                async with asyncio.timeout(self._timeout):
                    response = await client.request(method, url, params=params, content=content, headers=headers, extensions=extensions)
        except AgentError as error:
            raise PublishError(hide(str(error), access.token), reason=error.reason) from error
        self.server_clock.learn(response.headers.get("Date"), sent=sent, received=self._clock.monotonic())
        return response

    def _reply(self, response: httpx.Response) -> Reply:
        if response.is_success:
            if response.content and not response.content.lstrip().startswith(b"{"):
                msg = f"{display(str(response.url))} did not answer with a JSON object"
                raise PublishError(msg, reason=Reason.INVALID_BODY)
            return Reply(url=str(response.url), body=response.content)
        try:
            decoded = msgspec.json.decode(response.content)
        except (msgspec.DecodeError, UnicodeDecodeError):
            decoded = None
        message = decoded.get("message") if isinstance(decoded, dict) else None
        words = excerpt(message if isinstance(message, str) else response.content)
        reason = callfault.status_reason(response.status_code)
        if response.status_code in {400, 422}:
            reason = Reason.INVALID_OBJECT
        elif any(text in words for text in ETCD_TOO_LARGE):
            reason = Reason.TOO_LARGE
        wait = callfault.retry_after(response.headers, now=self._clock.wall())
        words = hide(words, self._access.token if self._access is not None else None)
        msg = f"{response.request.method} {display(str(response.url))}: {response.status_code} {words}"
        raise PublishError(msg, reason=reason, retry_after=wait)

    async def _ready(self) -> httpx.AsyncClient:
        """The client, made anew when a credential file changed since the last look."""
        async with self._lock:
            if self._client is not None and self._access is not None:
                now = self._clock.monotonic()
                if now - self._checked < RECHECK_SECONDS:
                    return self._client
                self._checked = now
                if await asyncio.to_thread(kubeaccess.fingerprint, self._access.files) == self._access.fingerprint:
                    return self._client
                log.info("credentials of %s changed on disk, reading them again", self._access.host)
            return await self._load()

    async def _renew(self, used: httpx.AsyncClient) -> httpx.AsyncClient:
        async with self._lock:
            if self._client is not None and self._client is not used:
                return self._client
            return await self._load()

    async def _load(self) -> httpx.AsyncClient:
        try:
            access = await asyncio.to_thread(self._loader.load)
        except PublishError:
            if self._client is None:
                raise
            # A certificate and its key are replaced one after the other on some systems: keep the old pair until both fit.
            log.warning("credentials on disk cannot be used yet, keeping the old ones", exc_info=True)
            return self._client
        old = self._client
        self._client = httpx.AsyncClient(
            verify=access.trust,
            proxy=access.proxy,
            timeout=httpx.Timeout(self._timeout, pool=None),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=4, keepalive_expiry=60.0),
            follow_redirects=False,
        )
        self._access = access
        self._checked = self._clock.monotonic()
        if old is not None:
            self._retirement.add(old)
        return self._client
