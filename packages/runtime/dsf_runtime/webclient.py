"""HTTP clients for untrusted peers.

These are metric sources, scoring APIs, token servers and forges. Their answers are limited
(``answers``), redirects are not followed, and the environment says which requests go through a
proxy (``dsf_wire.proxies``).
"""

import os
import ssl
from collections.abc import Mapping
from functools import cached_property
from typing import Final

import httpx

from dsf_runtime import answers
from dsf_wire.proxies import Proxies

DEFAULT_LIMITS: Final = httpx.Limits(max_connections=100, max_keepalive_connections=20)
"""The limits of httpx."""


class SystemTrust:
    """The CAs of the system.

    Reading them takes 20 ms of CPU, so they are read once, when a URL with https needs them.
    """

    def __init__(self) -> None:
        # For http, where a context is never used: one without CAs costs nothing.
        self._plain = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    def for_url(self, url: str) -> ssl.SSLContext:
        return self._authorities if url.lower().startswith("https:") else self._plain

    @cached_property
    def _authorities(self) -> ssl.SSLContext:
        return httpx.create_ssl_context()


class ProxyRoutes(httpx.AsyncBaseTransport):
    """Sends each request to its host, or through the proxy for its URL.

    httpx can choose a proxy only by patterns of hosts, which cannot express address ranges.
    """

    def __init__(self, *, verify: ssl.SSLContext, limits: httpx.Limits, proxies: Proxies) -> None:
        self._verify = verify
        self._limits = limits
        self._proxies = proxies
        self._transports: dict[str | None, httpx.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Raises ProxyFault, and the errors of httpx."""
        proxy = self._proxies.proxy_for(str(request.url))
        return await self.transport(proxy).handle_async_request(request)

    def transport(self, proxy: str | None) -> httpx.AsyncHTTPTransport:
        """The connections through one proxy, or without one."""
        if proxy not in self._transports:
            self._transports[proxy] = answers.limited(
                httpx.AsyncHTTPTransport(
                    verify=self._verify, limits=self._limits, proxy=proxy, trust_env=False
                )
            )
        return self._transports[proxy]

    async def aclose(self) -> None:
        transports = list(self._transports.values())
        self._transports.clear()
        for transport in transports:
            await transport.aclose()


def client(
    *,
    verify: ssl.SSLContext,
    timeout: httpx.Timeout,
    headers: Mapping[str, str] | None = None,
    limits: httpx.Limits = DEFAULT_LIMITS,
) -> httpx.AsyncClient:
    """A client that trusts these CAs. It reads the proxies of the environment now."""
    # trust_env is off, because httpx would read the proxies in its own way, and a .netrc.
    routes = ProxyRoutes(verify=verify, limits=limits, proxies=Proxies.of(os.environ))
    return httpx.AsyncClient(
        transport=routes, timeout=timeout, headers=headers, follow_redirects=False, trust_env=False
    )
