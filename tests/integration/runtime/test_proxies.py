"""Every client honours the proxies of the environment in the same way.

Address ranges in NO_PROXY are included.

Linux connects 0.0.0.0 to the machine itself, so it stands for an address that is not loopback.
"""

import contextlib
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
import yaml

from dsf_agent.endpoints.transport import Call, CallLimits, Transport
from dsf_agent.errors import AgentError
from dsf_runtime.access import AccessError, KubeconfigFile
from dsf_runtime.apierrors import ApiError
from dsf_runtime.apiserver import ApiServer
from dsf_runtime.blocking import BlockingApiServer
from gitops_dsf.ci.sender import Sender
from gitops_dsf.forge.sending import ForgeError
from gitops_dsf.metricstore.client import OpenStore
from gitops_dsf.metricstore.errors import StoreError
from gitops_dsf.reconciler.forge import send
from gitops_dsf.reconciler.git.credentials import GitCredentials
from gitops_dsf.sync.fetch import Fetcher
from gitops_dsf.sync.page import FetchedPage
from tests.support.commandline import gitops_dsf
from tests.support.pageserver import ConfigPageServer

pytestmark = pytest.mark.real_time  # the servers are threads

FAR = "http://far.example.com"
Ask = Callable[[str, Path], Awaitable[str]]
"""Sends a request to a URL, and returns why there was no answer."""


async def _agent(url: str, _folder: Path) -> str:
    transport = Transport(limits=CallLimits(total_seconds=10, answer_bytes=1000))
    try:
        await transport.call(Call(url=url))
    except AgentError as error:
        return str(error)
    finally:
        await transport.close()
    return ""


async def _page(url: str, _folder: Path) -> str:
    async with Fetcher() as fetcher:
        answer = await fetcher.get(f"{url}/config")
    return "" if isinstance(answer, FetchedPage) or answer.status == 404 else answer.message


async def _store(url: str, _folder: Path) -> str:
    try:
        async with OpenStore(url) as store:
            async for _ in store.pages("up", start=0, step=60, count=1):
                pass
    except StoreError as error:
        return str(error)
    return ""


def _sign(token: str) -> dict[str, str]:
    return {"Authorization": token}


async def _forge(url: str, folder: Path) -> str:
    (folder / "token").write_text("s3cret")
    try:
        await send("GET", url, sign=_sign, body=None, credentials=GitCredentials(folder=folder))
    except ForgeError as error:
        return str(error)
    return ""


async def _pipeline(url: str, _folder: Path) -> str:
    try:
        await Sender(token="s3cret")("GET", url, sign=_sign, body=None)
    except ForgeError as error:
        return str(error)
    return ""


def _kubeconfig(url: str, folder: Path) -> KubeconfigFile:
    path = folder / "kubeconfig"
    parts = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [],
    }
    path.write_text(yaml.safe_dump(parts))
    return KubeconfigFile(path=path)


async def _api_server(url: str, folder: Path) -> str:
    load = _kubeconfig(url, folder).load
    try:
        async with ApiServer(load=load, user_agent="test", timeout_seconds=10) as server:
            await server.get("/api")
    except ApiError as error:
        return "" if error.status == 404 else str(error)
    return ""


async def _people(url: str, folder: Path) -> str:
    load = _kubeconfig(url, folder).load
    try:
        with contextlib.closing(
            BlockingApiServer(load=load, user_agent="test", timeout_seconds=10)
        ) as server:
            server.get("/api")
    except AccessError as error:
        return str(error)
    except ApiError as error:
        return "" if error.status == 404 else str(error)
    return ""


CLIENTS: dict[str, Ask] = {
    "agent": _agent,
    "sync and probes": _page,
    "backtest": _store,
    "forge of the reconciler": _forge,
    "forge of a pipeline": _pipeline,
    "API server": _api_server,
    "API server of people": _people,
}


@pytest.fixture
def near() -> Iterator[ConfigPageServer]:
    with ConfigPageServer() as server:
        yield server


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[ConfigPageServer]:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with ConfigPageServer() as server:
        for name in ("HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, server.url)
        yield server


@pytest.mark.parametrize("client", CLIENTS)
async def test_ranges_in_no_proxy_are_called_directly(
    client: str,
    near: ConfigPageServer,
    proxy: ConfigPageServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_PROXY", "10.128.0.0/14,0.0.0.0/8,fd00::/8,.svc")
    address = near.url.replace("127.0.0.1", "0.0.0.0")
    await CLIENTS[client](address, tmp_path)
    assert (sum(near.asked.values()), sum(proxy.asked.values())) == (1, 0)
    await CLIENTS[client](FAR, tmp_path)
    assert sum(near.asked.values()) == 1
    assert [path.startswith(FAR) for path in proxy.asked] == [True]
    assert "s3cret" not in str(proxy.asked)


@pytest.mark.parametrize("client", CLIENTS)
async def test_the_machine_itself_is_called_directly(
    client: str, near: ConfigPageServer, proxy: ConfigPageServer, tmp_path: Path
) -> None:
    await CLIENTS[client](near.url, tmp_path)
    assert (sum(near.asked.values()), sum(proxy.asked.values())) == (1, 0)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    "value", ["socks5://me:s3cret@127.0.0.1:1080", "http://me:s3cret@127.0.0.1:99999"]
)
async def test_a_proxy_that_cannot_be_used_is_named(
    client: str,
    value: str,
    proxy: ConfigPageServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", value)
    told = ""
    try:
        told = await CLIENTS[client](FAR, tmp_path)
    except ApiError as error:
        told = str(error)
    assert (
        "HTTP_PROXY is not an http or https URL of a proxy, such as http://proxy.example.com:3128"
        in told
    )
    assert "s3cret" not in told


async def test_the_password_of_a_proxy_is_sent_to_it(
    proxy: ConfigPageServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy.url.replace("http://", "http://me:pass%21word@"))
    for client in CLIENTS.values():
        await client(FAR, tmp_path)
    # me:pass!word
    assert {headers.get("proxy-authorization") for headers in proxy.headers} == {
        "Basic bWU6cGFzcyF3b3Jk"
    }


def test_a_range_of_ipv6_ends_no_verb_as_a_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "fd00::/8")
    config = _kubeconfig("http://127.0.0.1:1", tmp_path)
    done = gitops_dsf("status", "--kubeconfig", config.path)
    assert done.returncode == 1, done.stderr
    assert "cannot be reached" in done.stderr


def test_the_proxy_of_a_kubeconfig_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    config = _kubeconfig("http://hub.example.com", tmp_path)
    text = config.path.read_text()
    config.path.write_text(
        text.replace("server:", "proxy-url: socks5://me:s3cret@h:1\n    server:")
    )
    with pytest.raises(
        AccessError, match="proxy-url is not an http or https URL of a proxy"
    ) as caught:
        config.load()
    assert "s3cret" not in str(caught.value)
