"""The hub's credentials are read when they appear and again when they change, while the agent runs."""

import base64
import logging
from pathlib import Path

import pytest

from tests.support.agent.certificates import Authority
from tests.support.agent.faults import EAGER
from tests.support.agent.http import HttpFake, Reply, Scoring, Seen, scores
from tests.support.agent.hub import ScoreHub, kubeconfig
from tests.support.agent.running import Place, RunningAgent, entry, running
from tests.support.waiting import until


async def _counted(agent: RunningAgent, reason: str) -> bool:
    return reason in (await agent.failures()).get("cpu-score", set())


def _trusting(path: Path, authority: Authority, server: HttpFake, **more: str) -> Path:
    inline = base64.b64encode(authority.pem.encode()).decode()
    return kubeconfig(path, server=server.url, **{"certificate-authority-data": inline}, **more)


async def test_the_hubs_token_and_address_are_read_again(place: Place) -> None:
    """OCM's registration may take minutes: until its file exists, cycles run and the reason is counted.
    After a 401 the kubeconfig is read at once. When the file changes, it is read without a 401.
    """
    hub, config = ScoreHub(), place.folder / "hub" / "kubeconfig"
    async with hub as server, HttpFake(hub.answer) as moved, HttpFake(scores(5.0)) as scoring:
        place.put(entry("cpu", scoring=scoring.url, scoringInterval=1))
        async with running("--config-dir", place.volume.directory, "--hub-kubeconfig", config) as agent:
            await until(lambda: _counted(agent, "bad_credentials"), what="the file is missed")
            await until(lambda: len(scoring.seen) >= 3, what="cycles go on")
            assert await agent.exposed() == {"cpu-score"}
            kubeconfig(config, server=server.url)
            await until(lambda: hub.values("cpu-score") == {"n0": 5}, what="published")
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
            assert await agent.failures() == {"cpu-score": {"bad_credentials"}}


async def test_a_replaced_client_certificate_is_used(place: Place, tmp_path: Path) -> None:
    """OCM renews the client certificate in its file. The next connection uses the new one."""
    authority, clients = Authority(), Authority("clients")
    hub, folder = ScoreHub(token=""), tmp_path / "hub-kubeconfig"
    hub.before = lambda seen: None if seen.peer_certificate else Reply(status=401)
    clients.pair(folder, name="agent")
    hub.use_tls(authority.server(tmp_path / "server", client_authority=clients))
    async with hub as server, HttpFake(scores(5.0)) as scoring:
        config = _trusting(folder / "kubeconfig", authority, server, token="")
        user = "user: {client-certificate: tls.crt, client-key: tls.key}"
        config.write_text(config.read_text().replace("user: {}", user))
        place.put(entry("cpu", scoring=scoring.url, scoringInterval=1))
        async with running("--config-dir", place.volume.directory, "--hub-kubeconfig", config) as agent:
            await until(lambda: hub.values("cpu-score"), what="published with a certificate")
            first = _serial(server.seen[-1])
            clients.pair(folder, name="agent")
            await until(lambda: _serial(server.seen[-1]) != first, what="the new certificate is shown")
            assert await agent.failures() == {}


def _serial(seen: Seen) -> object:
    return (seen.peer_certificate or {}).get("serialNumber")


async def test_the_hubs_ca_is_what_the_kubeconfig_says_now(place: Place, tmp_path: Path) -> None:
    """Not the system's. After a certificate of another authority nothing is sent until the new CA."""
    first, second = Authority("first"), Authority("second")
    hub, api = ScoreHub(tls=first.server(tmp_path / "one")), Scoring(5.0)
    server = hub
    await server.start()
    async with HttpFake(api) as scoring:
        config = _trusting(tmp_path / "kubeconfig", first, server)
        place.put(entry("cpu", scoring=scoring.url, scoringInterval=1, publish=EAGER))
        async with running("--config-dir", place.volume.directory, "--hub-kubeconfig", config) as agent:
            await until(lambda: hub.values("cpu-score") == {"n0": 5}, what="published")
            await server.stop()
            server.use_tls(second.server(tmp_path / "two"))
            await server.start()
            api.values, calls = (6.0,), len(server.seen)
            await until(lambda: _counted(agent, "tls"), what="the new certificate is not trusted")
            assert (hub.values("cpu-score"), len(server.seen)) == ({"n0": 5}, calls)
            _trusting(tmp_path / "kubeconfig", second, server)
            await until(lambda: hub.values("cpu-score") == {"n0": 6}, what="published again")
    await server.stop()


async def test_a_token_with_characters_not_allowed_in_a_header(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    """Two tokens, or one beyond ASCII: the reason names the file, and the token appears nowhere."""
    caplog.set_level(logging.DEBUG)
    config = place.folder / "kubeconfig"
    async with ScoreHub() as server, HttpFake(scores(5.0)) as scoring:
        place.put(entry("cpu", scoring=scoring.url, scoringInterval=1))
        for token in ("first-s3cret\nsecond-s3cret", "s3cret-ü"):
            kubeconfig(config, server=server.url, token=token)
            async with running("--config-dir", place.volume.directory, "--hub-kubeconfig", config) as agent:
                await until(
                    lambda running=agent: _counted(running, "bad_credentials"), what="the token is refused"
                )
                shown = (await agent.get("/metrics")).text + (await agent.get("/readyz")).text
            assert "s3cret" not in shown + caplog.text
            assert f"kubeconfig {config}: its token has a line break" in caplog.text
            caplog.clear()
        assert not server.seen
