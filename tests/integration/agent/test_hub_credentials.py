"""The hub's credentials are read when they appear and again when they change, while the agent runs."""

import base64
import logging
import ssl
from pathlib import Path

import pytest

from tests.support.agent.apis import Scoring, scores
from tests.support.agent.certificates import Authority
from tests.support.agent.configmap import ConfigMapVolume, entry
from tests.support.agent.faults import EAGER
from tests.support.agent.http import HttpFake, Reply, Seen
from tests.support.agent.hub import HubFake, kubeconfig
from tests.support.agent.running import RunningAgent, running
from tests.support.waiting import until


async def test_the_hubs_token_and_address_are_read_again(tmp_path: Path) -> None:
    """After a 401 the kubeconfig is read at once. When the file changes, it is read without a 401."""
    hub, volume = HubFake(), ConfigMapVolume(tmp_path / "config")
    async with HttpFake(hub) as server, HttpFake(hub) as moved, HttpFake(scores(5.0)) as scoring:
        config = kubeconfig(tmp_path / "hub" / "kubeconfig", server=server.url)
        volume.put(entry("cpu", scoring=scoring.url, scoringInterval=1))
        flags = ["--config-dir", volume.directory, "--hub-kubeconfig", config]
        async with running(*flags) as agent:
            await until(lambda: hub.values("cpu-score"), what="published")
            hub.token = "better"
            kubeconfig(config, server=server.url, token="better")
            await until(
                lambda: server.seen[-1].headers["authorization"] == "Bearer better",
                what="the new token is used",
            )
            kubeconfig(config, server=moved.url, token="better")
            await until(lambda: moved.seen, what="the new address is used")
            config.write_text(": not yaml [")
            calls = len(moved.seen)
            await until(
                lambda: len(moved.seen) > calls + 1, what="a damaged file leaves the old credentials in use"
            )
            assert await agent.failures() == {}


async def test_a_replaced_client_certificate_is_used(tmp_path: Path) -> None:
    """OCM renews the client certificate in its file. The next connection uses the new one."""
    authority, clients = Authority(), Authority("clients")
    hub, volume = HubFake(token=""), ConfigMapVolume(tmp_path / "config")
    hub.before = lambda seen: None if seen.peer_certificate else Reply(status=401)
    folder = tmp_path / "hub-kubeconfig"
    clients.pair(folder, name="agent")
    context = authority.server(tmp_path / "server", client_authority=clients)
    async with HttpFake(_anyone(hub), tls=context) as server, HttpFake(scores(5.0)) as scoring:
        inline = base64.b64encode(authority.pem.encode()).decode()
        config = kubeconfig(
            folder / "kubeconfig", server=server.url, token="", **{"certificate-authority-data": inline}
        )
        text = config.read_text().replace(
            "user: {}", "user: {client-certificate: tls.crt, client-key: tls.key}"
        )
        config.write_text(text)
        volume.put(entry("cpu", scoring=scoring.url, scoringInterval=1))
        flags = ["--config-dir", volume.directory, "--hub-kubeconfig", config]
        async with running(*flags) as agent:
            await until(lambda: hub.values("cpu-score"), what="published with a certificate")
            first = _serial(server.seen[-1])
            clients.pair(folder, name="agent")
            await until(lambda: _serial(server.seen[-1]) != first, what="the new certificate is shown")
            assert await agent.failures() == {}


def _serial(seen: Seen) -> object:
    return (seen.peer_certificate or {}).get("serialNumber")


def _anyone(hub: HubFake) -> HubFake:
    """A hub that asks for a certificate instead of a token."""
    hub.token = ""
    return hub


async def test_a_server_certificate_of_an_unknown_authority_is_refused(tmp_path: Path) -> None:
    """The hub's CA is what the kubeconfig says, not the system's."""
    volume = ConfigMapVolume(tmp_path / "config")
    context: ssl.SSLContext = Authority("real").server(tmp_path / "server")
    async with HttpFake(HubFake(), tls=context) as server, HttpFake(scores(5.0)) as scoring:
        inline = base64.b64encode(Authority("other").pem.encode()).decode()
        config = kubeconfig(
            tmp_path / "kubeconfig", server=server.url, **{"certificate-authority-data": inline}
        )
        volume.put(entry("cpu", scoring=scoring.url, scoringInterval=1))
        async with running("--config-dir", volume.directory, "--hub-kubeconfig", config) as agent:
            await until(lambda: len(scoring.seen) >= 2, what="cycles go on")
            assert (await agent.failures())["cpu-score"] == {"tls"}
            assert server.seen == []


async def test_a_new_ca_of_the_hub_is_used(tmp_path: Path) -> None:
    """The hub gets a certificate of another authority, and the kubeconfig its CA. Publishing fails for a
    moment and continues.
    """
    first, second = Authority("first"), Authority("second")
    hub, volume, api = HubFake(), ConfigMapVolume(tmp_path / "config"), Scoring(5.0)
    server = HttpFake(hub, tls=first.server(tmp_path / "one"))
    await server.start()
    async with HttpFake(api) as scoring:
        config = _trusting(tmp_path / "kubeconfig", first, server)
        volume.put(entry("cpu", scoring=scoring.url, scoringInterval=1, publish=EAGER))
        async with running("--config-dir", volume.directory, "--hub-kubeconfig", config) as agent:
            await until(lambda: hub.values("cpu-score") == {"n0": 5}, what="published")
            await server.stop()
            server.use_tls(second.server(tmp_path / "two"))
            await server.start()
            api.values = (6.0,)
            await until(lambda: _counted(agent, "tls"), what="the new certificate is not trusted")
            assert hub.values("cpu-score") == {"n0": 5}
            _trusting(tmp_path / "kubeconfig", second, server)
            await until(lambda: hub.values("cpu-score") == {"n0": 6}, what="published again")
    await server.stop()


async def test_a_kubeconfig_that_appears_late(tmp_path: Path) -> None:
    """OCM's registration may take minutes: cycles run, the reason is counted, and the scores are written
    once the file exists.
    """
    hub, volume, config = HubFake(), ConfigMapVolume(tmp_path / "config"), tmp_path / "hub" / "kubeconfig"
    async with HttpFake(hub) as server, HttpFake(scores(5.0)) as scoring:
        volume.put(entry("cpu", scoring=scoring.url, scoringInterval=1))
        async with running("--config-dir", volume.directory, "--hub-kubeconfig", config) as agent:
            await until(lambda: _counted(agent, "bad_credentials"), what="the file is missed")
            await until(lambda: len(scoring.seen) >= 3, what="cycles go on")
            assert await agent.exposed() == {"cpu-score"}
            kubeconfig(config, server=server.url)
            await until(lambda: hub.values("cpu-score") == {"n0": 5}, what="published")


async def test_a_token_with_characters_not_allowed_in_a_header(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Two tokens in one file, or a character beyond ASCII: the reason names the file, and the token
    appears nowhere.
    """
    caplog.set_level(logging.DEBUG)
    hub, volume, config = HubFake(), ConfigMapVolume(tmp_path / "config"), tmp_path / "hub" / "kubeconfig"
    async with HttpFake(hub) as server, HttpFake(scores(5.0)) as scoring:
        volume.put(entry("cpu", scoring=scoring.url, scoringInterval=1))
        for token in ("first-s3cret\nsecond-s3cret", "s3cret-ü"):
            kubeconfig(config, server=server.url, token=token)
            async with running("--config-dir", volume.directory, "--hub-kubeconfig", config) as agent:
                await until(
                    lambda running=agent: _counted(running, "bad_credentials"), what="the token is refused"
                )
                everything = (
                    (await agent.get("/metrics")).text + (await agent.get("/readyz")).text + caplog.text
                )
                assert "s3cret" not in everything
            assert f"kubeconfig {config}: its token has a line break" in caplog.text
            caplog.clear()
        assert not server.seen


def _trusting(path: Path, authority: Authority, server: HttpFake) -> Path:
    inline = base64.b64encode(authority.pem.encode()).decode()
    return kubeconfig(path, server=server.url, **{"certificate-authority-data": inline})


async def _counted(agent: RunningAgent, reason: str) -> bool:
    return reason in (await agent.failures()).get("cpu-score", set())
