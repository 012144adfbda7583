"""Credentials, certificates and proxies in a kubeconfig.

The client of all programs uses them.
"""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dsf_runtime.access import KubeconfigFile
from dsf_runtime.apiserver import ApiError, ApiServer
from dsf_runtime.blocking import BlockingApiServer
from tests.support.agent.certificates import Authority
from tests.support.agent.http import HttpFake, RecordedRequest, SentReply
from tests.support.agent.hub import kubeconfig

RECHECK_SECONDS = 1.0

PATH = "/api/v1/namespaces/n/configmaps/c"


Get = Callable[[str], Awaitable[bytes]]


@asynccontextmanager
async def loops(config: Path) -> AsyncIterator[Get]:
    async with ApiServer(
        load=KubeconfigFile(path=config).load, user_agent="test", timeout_seconds=20
    ) as server:
        yield server.get


@asynccontextmanager
async def waits(config: Path) -> AsyncIterator[Get]:
    load = KubeconfigFile(path=config).load
    with BlockingApiServer(load=load, user_agent="test", timeout_seconds=20) as server:
        yield partial(asyncio.to_thread, server.get)


@pytest.fixture(params=[loops, waits])
def client(request: pytest.FixtureRequest) -> Any:
    """The client of programs with an event loop, and that of commands."""
    return request.param


def nothing(_seen: RecordedRequest) -> SentReply:
    return SentReply.of({})


@pytest.mark.parametrize("named", [True, False])
async def test_the_certificate_may_be_for_the_kubeconfigs_tls_server_name(
    client: Any, tmp_path: Path, *, named: bool
) -> None:
    authority = Authority()
    tls = authority.server(tmp_path / "server", host="hub.example")
    extra = {"tls-server-name": "hub.example"} if named else {}
    ca = base64.b64encode(authority.pem.encode()).decode()
    async with HttpFake(nothing, tls=tls) as server:
        config = kubeconfig(
            tmp_path / "config", server=server.url, **{"certificate-authority-data": ca}, **extra
        )
        async with client(config) as get:
            if named:
                await get(PATH)
                assert len(server.seen) == 1
            else:
                with pytest.raises(ApiError, match="the certificate is not trusted"):
                    await get(PATH)


async def test_a_token_that_the_api_server_quotes_is_hidden(client: Any, tmp_path: Path) -> None:
    token = "a-token-that-nobody-should-read"
    refusal = SentReply.of({"kind": "Status", "message": f"who is {token}?"}, status=403)
    async with HttpFake(lambda _seen: refusal) as server:
        config = kubeconfig(tmp_path / "config", server=server.url, token=token)
        async with client(config) as get:
            with pytest.raises(ApiError, match=r"403 who is \(token\)\?"):
                await get(PATH)


async def test_a_refused_token_is_read_again(client: Any, tmp_path: Path) -> None:
    def answer(seen: RecordedRequest) -> SentReply:
        return (
            SentReply.of({})
            if seen.headers["authorization"] == "Bearer new"
            else SentReply.of({}, status=401)
        )

    async with HttpFake(answer) as server:
        config = kubeconfig(tmp_path / "config", server=server.url, token="new")
        text = config.read_text()
        kubeconfig(config, server=server.url, token="old")
        async with client(config) as get:
            with pytest.raises(ApiError, match="401"):
                await get(PATH)
            config.write_text(text)
            await get(PATH)
        assert server.seen[-1].headers["authorization"] == "Bearer new"


async def test_the_proxy_of_the_kubeconfig_is_used(client: Any, tmp_path: Path) -> None:
    """``proxy-url`` of the kubeconfig with its password. The server itself cannot be reached."""
    async with HttpFake(nothing) as proxy:
        address = proxy.url.replace("http://", "http://me:pass%21word@")
        config = kubeconfig(
            tmp_path / "config", server="http://hub.invalid:8080", **{"proxy-url": address}
        )
        async with client(config) as get:
            await get(PATH)
        (seen,) = proxy.seen
        assert seen.target == f"http://hub.invalid:8080{PATH}"
        assert (
            seen.headers["proxy-authorization"]
            == f"Basic {base64.b64encode(b'me:pass!word').decode()}"
        )


async def test_a_kubeconfig_that_changes_is_read_again(tmp_path: Path) -> None:
    async with HttpFake(nothing) as server:
        config = kubeconfig(tmp_path / "config", server=server.url, token="old")
        async with loops(config) as get:
            await get(PATH)
            kubeconfig(config, server=server.url, token="new")
            await asyncio.sleep(RECHECK_SECONDS)
            await get(PATH)
        assert [seen.headers["authorization"] for seen in server.seen] == [
            "Bearer old",
            "Bearer new",
        ]
