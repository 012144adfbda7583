"""What agent, reconciler and reading verbs do in the same way, each through its own code."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from dsf_agent.endpoints.apiserver import ApiServer
from dsf_agent.errors import AgentError
from dsf_runtime.access import Kubeconfig
from dsf_runtime.apiserver import ApiError
from dsf_runtime.blocking import BlockingApiServer
from dsf_runtime.connections import RECHECK_SECONDS
from gitops_dsf.reconciler.hub.api import HubApi
from tests.support.agent.certificates import Authority
from tests.support.agent.http import HttpFake, Reply, Seen
from tests.support.agent.hub import kubeconfig

PATH = "/api/v1/namespaces/n/configmaps/c"


Get = Callable[[], Awaitable[object]]


@asynccontextmanager
async def agent(config: Path) -> AsyncIterator[Get]:
    server = ApiServer(load=Kubeconfig(path=config).load, timeout_seconds=20)
    try:
        yield lambda: server.call("GET", PATH)
    finally:
        await server.close()


@asynccontextmanager
async def reconciler(config: Path) -> AsyncIterator[Get]:
    async with HubApi(load=Kubeconfig(path=config).load, timeout_seconds=20) as api:
        yield lambda: api.get(PATH)


@asynccontextmanager
async def people(config: Path) -> AsyncIterator[Get]:
    with BlockingApiServer(
        load=Kubeconfig(path=config).load, user_agent="test", timeout_seconds=20
    ) as server:
        yield lambda: asyncio.to_thread(server.get, PATH)


Start = Callable[[Path], AbstractAsyncContextManager[Get]]
both = pytest.mark.parametrize("program", [agent, reconciler])
everybody = pytest.mark.parametrize("program", [agent, reconciler, people])


def nothing(_seen: Seen) -> Reply:
    return Reply.of({})


@everybody
@pytest.mark.parametrize("named", [True, False])
async def test_the_certificate_may_be_for_the_kubeconfigs_tls_server_name(
    program: Start, tmp_path: Path, *, named: bool
) -> None:
    authority = Authority()
    tls = authority.server(tmp_path / "server", host="hub.example")
    extra = {"tls-server-name": "hub.example"} if named else {}
    ca = base64.b64encode(authority.pem.encode()).decode()
    async with HttpFake(nothing, tls=tls) as server:
        config = kubeconfig(
            tmp_path / "config", server=server.url, **{"certificate-authority-data": ca}, **extra
        )
        async with program(config) as get:
            if named:
                await get()
                assert len(server.seen) == 1
            else:
                with pytest.raises((ApiError, AgentError), match="the certificate is not trusted"):
                    await get()


@everybody
async def test_a_token_that_the_api_server_quotes_is_hidden(program: Start, tmp_path: Path) -> None:
    token = "a-token-that-nobody-should-read"
    refusal = Reply.of({"kind": "Status", "message": f"who is {token}?"}, status=403)
    async with HttpFake(lambda _seen: refusal) as server:
        config = kubeconfig(tmp_path / "config", server=server.url, token=token)
        async with program(config) as get:
            with pytest.raises((ApiError, AgentError), match=r"403 who is \(token\)\?"):
                await get()


@everybody
async def test_a_refused_token_is_read_again(program: Start, tmp_path: Path) -> None:
    def answer(seen: Seen) -> Reply:
        return Reply.of({}) if seen.headers["authorization"] == "Bearer new" else Reply.of({}, status=401)

    async with HttpFake(answer) as server:
        config = kubeconfig(tmp_path / "config", server=server.url, token="new")
        text = config.read_text()
        kubeconfig(config, server=server.url, token="old")
        async with program(config) as get:
            with pytest.raises((ApiError, AgentError), match="401"):
                await get()
            config.write_text(text)
            await get()
        assert server.seen[-1].headers["authorization"] == "Bearer new"


@everybody
async def test_the_proxy_of_the_kubeconfig_is_used(program: Start, tmp_path: Path) -> None:
    """``proxy-url`` of the kubeconfig with its password. The server itself cannot be reached."""
    async with HttpFake(nothing) as proxy:
        address = proxy.url.replace("http://", "http://me:pass%21word@")
        config = kubeconfig(tmp_path / "config", server="http://hub.invalid:8080", **{"proxy-url": address})
        async with program(config) as get:
            await get()
        (seen,) = proxy.seen
        assert seen.target == f"http://hub.invalid:8080{PATH}"
        assert seen.headers["proxy-authorization"] == f"Basic {base64.b64encode(b'me:pass!word').decode()}"


@both
async def test_a_kubeconfig_that_changes_is_read_again(program: Start, tmp_path: Path) -> None:
    async with HttpFake(nothing) as server:
        config = kubeconfig(tmp_path / "config", server=server.url, token="old")
        async with program(config) as get:
            await get()
            kubeconfig(config, server=server.url, token="new")
            await asyncio.sleep(RECHECK_SECONDS)
            await get()
        assert [seen.headers["authorization"] for seen in server.seen] == ["Bearer old", "Bearer new"]
