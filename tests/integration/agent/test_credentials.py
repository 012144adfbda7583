"""Tokens, CAs and the hub's certificate: read by name, used, replaced in place, never shown."""

import base64
import logging
import ssl
from pathlib import Path

import pytest

from tests.support.agent.apis import prometheus, scores, series
from tests.support.agent.certificates import Authority
from tests.support.agent.configmap import ConfigMapVolume, entry
from tests.support.agent.http import HttpFake, Reply, Seen
from tests.support.agent.hub import HubFake, kubeconfig
from tests.support.agent.process import until
from tests.support.agent.running import play, running


def _secret(token: str) -> dict[str, str]:
    return {"token": base64.b64encode(token.encode()).decode()}


class Guard:
    """Asks for one of the accepted tokens before it answers."""

    def __init__(self) -> None:
        self.accepted: set[str] = set()
        self.inner = scores(5.0)

    def __call__(self, seen: Seen) -> Reply:
        if seen.headers.get("authorization", "").removeprefix("Bearer ") not in self.accepted:
            return Reply(status=401, body=b"who are you?")
        return self.inner(seen)


def test_a_replaced_token_is_used_after_one_401_within_the_same_cycle(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The Secret is read by its name in the agent's namespace; the next 401 reads it again, and the cycle succeeds."""

    async def story() -> None:
        spoke, guard = HubFake(), Guard()
        spoke.secrets["dynamic-scoring", "scoring-token"] = _secret("first-s3cret\n")
        guard.accepted = {"first-s3cret"}
        volume, out = ConfigMapVolume(tmp_path / "config"), tmp_path / "out"
        async with HttpFake(spoke) as api_server, HttpFake(guard) as scoring, HttpFake(prometheus(series(1))) as source:
            auth = {"scoringEndpointAuthName": "scoring-token", "scoringEndpointAuthKey": "token"}
            volume.put(entry("cpu", scoring=scoring.url, source=source.url, scoringInterval=1, **auth))
            config = kubeconfig(tmp_path / "spoke", server=api_server.url)
            flags = ["--config-dir", volume.directory, "--publish", f"dir:{out}", "--spoke-kubeconfig", config, "--log-level", "debug"]
            async with running(*flags) as agent:
                await until(lambda: out.exists() and list(out.glob("*.yaml")), what="published")
                assert all("authorization" not in seen.headers for seen in source.seen), "the token goes to the scoring API alone"
                guard.accepted = {"second-s3cret"}
                spoke.secrets["dynamic-scoring", "scoring-token"] = _secret("second-s3cret")
                calls = len(scoring.seen)
                await until(lambda: len(scoring.seen) >= calls + 3, what="more cycles")
                assert await agent.failures() == {}
                assert {seen.path for seen in api_server.seen} == {"/api/v1/namespaces/dynamic-scoring/secrets/scoring-token"}
                assert len(api_server.seen) == 2, "kept in between"
                guard.accepted = set()
                await until(lambda: agent.scorer()["reason"] == "unauthorized", what="a token nobody wants")
                everything = (await agent.get("/metrics")).text + (await agent.get("/readyz")).text + caplog.text
                assert "s3cret" not in everything

    with caplog.at_level(logging.DEBUG):
        play(story())


BROKEN = {
    "absent": None,
    "no such key": {"other": "eA=="},
    "not base64": {"token": "***"},
    "empty": {"token": ""},
    "control characters": {"token": base64.b64encode(b"a\r\nX-Evil: 1").decode()},
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_token_that_cannot_be_read_is_a_reason_of_its_own(tmp_path: Path, name: str) -> None:
    """No call is made without the token, and the message names Secret and key."""

    async def story() -> None:
        spoke = HubFake()
        if (data := BROKEN[name]) is not None:
            spoke.secrets["dynamic-scoring", "t"] = data
        volume = ConfigMapVolume(tmp_path / "config")
        async with HttpFake(spoke) as api_server, HttpFake(scores(1.0)) as scoring:
            volume.put(entry("cpu", scoring=scoring.url, scoringEndpointAuthName="t", scoringEndpointAuthKey="token"))
            config = kubeconfig(tmp_path / "spoke", server=api_server.url)
            flags = ["--config-dir", volume.directory, "--publish", f"dir:{tmp_path / 'out'}", "--spoke-kubeconfig", config]
            async with running(*flags) as agent:
                await until(lambda: agent.scorer()["reason"], what="it fails")
                scorer = agent.scorer()
                assert scorer["reason"] == "token_unavailable"
                assert "key 'token' of Secret 't'" in scorer["message"]
                assert scoring.seen == []

    play(story())


def test_a_private_ca_from_a_config_map_and_its_replacement(tmp_path: Path) -> None:
    """Only the named CA is trusted; when the server's CA changes, the ConfigMap is read again in the same cycle."""

    async def story() -> None:
        spoke, first, second = HubFake(), Authority("first"), Authority("second")
        spoke.config_maps["dynamic-scoring", "ca"] = {"ca.crt": first.pem}
        volume, out = ConfigMapVolume(tmp_path / "config"), tmp_path / "out"
        scoring = HttpFake(scores(5.0), tls=first.server(tmp_path / "first"))
        await scoring.start()
        async with HttpFake(spoke) as api_server:
            trusted = {"scoringAuth": {"caConfigMapRef": {"name": "ca", "key": "ca.crt"}}}
            one = entry("cpu", scoring=scoring.url, scoringInterval=1, **trusted)
            volume.put(one, entry("untrusting", scoring=scoring.url, scoringInterval=1))
            config = kubeconfig(tmp_path / "spoke", server=api_server.url)
            flags = ["--config-dir", volume.directory, "--publish", f"dir:{out}", "--spoke-kubeconfig", config]
            async with running(*flags) as agent:
                await until((out / "cpu-score.yaml").exists, what="published")
                await until(lambda: agent.agent.detail()[1]["scorers"][1]["reason"] == "tls", what="others do not trust it")
                await scoring.stop()
                spoke.config_maps["dynamic-scoring", "ca"] = {"ca.crt": second.pem}
                scoring.use_tls(second.server(tmp_path / "second"))
                await scoring.start()
                calls = len(scoring.seen)
                await until(lambda: len(scoring.seen) >= calls + 2, what="cycles with the second CA")
                assert "tls" not in (await agent.failures()).get("cpu-score", set())
                spoke.config_maps["dynamic-scoring", "ca"] = {"ca.crt": "garbage"}
                volume.put({**one, "scoringAuth": {"caConfigMapRef": {"name": "ca", "key": "nokey"}}})
                await until(lambda: agent.scorer()["reason"] == "ca_unavailable", what="no CA, no call")
        await scoring.stop()

    play(story())


def test_the_pods_own_token_is_read_for_every_call(tmp_path: Path) -> None:
    """Projected tokens are replaced in place every hour; a missing one is a reason of its own."""

    async def story() -> None:
        guard, token = Guard(), tmp_path / "token"
        token.write_text("one\n")
        guard.accepted = {"one"}
        volume, out = ConfigMapVolume(tmp_path / "config"), tmp_path / "out"
        async with HttpFake(guard) as scoring:
            volume.put(entry("cpu", scoring=scoring.url, scoringInterval=1, scoringAuth={"serviceAccountToken": True}))
            flags = ["--config-dir", volume.directory, "--publish", f"dir:{out}", "--service-account-token-file", token]
            async with running(*flags) as agent:
                await until(lambda: out.exists() and list(out.glob("*.yaml")), what="published")
                guard.accepted = {"two"}
                token.write_text("two")
                calls = len(scoring.seen)
                await until(lambda: len(scoring.seen) >= calls + 2, what="more cycles")
                assert await agent.failures() == {}
                token.unlink()
                await until(lambda: agent.scorer()["reason"] == "token_unavailable", what="no token, no call")

    play(story())


def test_the_hubs_token_and_address_are_read_again(tmp_path: Path) -> None:
    """After 401 the kubeconfig is read at once; when the file changes it is read without a 401."""

    async def story() -> None:
        hub, volume = HubFake(), ConfigMapVolume(tmp_path / "config")
        async with HttpFake(hub) as server, HttpFake(hub) as moved, HttpFake(scores(5.0)) as scoring:
            config = kubeconfig(tmp_path / "hub" / "kubeconfig", server=server.url)
            volume.put(entry("cpu", scoring=scoring.url, scoringInterval=1))
            flags = ["--config-dir", volume.directory, "--hub-kubeconfig", config, "--suspension-poll", "1"]
            async with running(*flags) as agent:
                await until(lambda: hub.values("cpu-score"), what="published")
                hub.token = "better"
                kubeconfig(config, server=server.url, token="better")
                await until(lambda: server.seen[-1].headers["authorization"] == "Bearer better", what="the new token is used")
                kubeconfig(config, server=moved.url, token="better")
                await until(lambda: moved.seen, what="the new address is used")
                config.write_text(": not yaml [")
                calls = len(moved.seen)
                await until(lambda: len(moved.seen) > calls + 1, what="a damaged file leaves the old credentials in use")
                assert await agent.failures() == {}

    play(story())


def test_a_replaced_client_certificate_is_used(tmp_path: Path) -> None:
    """OCM renews the hub certificate in place; the next connection shows the new one."""

    async def story() -> None:
        authority, clients = Authority(), Authority("clients")
        hub, volume = HubFake(token=""), ConfigMapVolume(tmp_path / "config")
        hub.before = lambda seen: None if seen.peer_certificate else Reply(status=401)
        folder = tmp_path / "hub-kubeconfig"
        clients.pair(folder, name="agent")
        context = authority.server(tmp_path / "server", client_authority=clients)
        async with HttpFake(_anyone(hub), tls=context) as server, HttpFake(scores(5.0)) as scoring:
            inline = base64.b64encode(authority.pem.encode()).decode()
            config = kubeconfig(folder / "kubeconfig", server=server.url, token="", **{"certificate-authority-data": inline})
            text = config.read_text().replace("user: {}", "user: {client-certificate: tls.crt, client-key: tls.key}")
            config.write_text(text)
            volume.put(entry("cpu", scoring=scoring.url, scoringInterval=1))
            flags = ["--config-dir", volume.directory, "--hub-kubeconfig", config, "--suspension-poll", "1"]
            async with running(*flags) as agent:
                await until(lambda: hub.values("cpu-score"), what="published with a certificate")
                first = _serial(server.seen[-1])
                clients.pair(folder, name="agent")
                await until(lambda: _serial(server.seen[-1]) != first, what="the new certificate is shown")
                assert await agent.failures() == {}

    play(story())


def _serial(seen: Seen) -> object:
    return (seen.peer_certificate or {}).get("serialNumber")


def _anyone(hub: HubFake) -> HubFake:
    """A hub that asks for a certificate instead of a token."""
    hub.token = ""
    return hub


def test_a_server_certificate_of_an_unknown_authority_is_refused(tmp_path: Path) -> None:
    """The hub's CA is what the kubeconfig says, not the system's."""

    async def story() -> None:
        volume = ConfigMapVolume(tmp_path / "config")
        context: ssl.SSLContext = Authority("real").server(tmp_path / "server")
        async with HttpFake(HubFake(), tls=context) as server, HttpFake(scores(5.0)) as scoring:
            inline = base64.b64encode(Authority("other").pem.encode()).decode()
            config = kubeconfig(tmp_path / "kubeconfig", server=server.url, **{"certificate-authority-data": inline})
            volume.put(entry("cpu", scoring=scoring.url, scoringInterval=1))
            async with running("--config-dir", volume.directory, "--hub-kubeconfig", config) as agent:
                await until(lambda: len(scoring.seen) >= 2, what="cycles go on")
                assert (await agent.failures())["cpu-score"] == {"tls"}
                assert server.seen == []

    play(story())
