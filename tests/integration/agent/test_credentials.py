"""Credentials and CAs of endpoints: read by name, sent to them alone, replaced, and never shown."""

import asyncio
import base64
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from dsf_wire.summary import NEEDS_NEWER_AGENT
from tests.support.agent.certificates import Authority
from tests.support.agent.http import (
    HttpFake,
    RecordedRequest,
    SentReply,
    matrix,
    prometheus,
    prometheus_error,
    scores,
    series,
)
from tests.support.agent.hub import ScoreHub
from tests.support.agent.running import AgentFolder, RunningAgent, entry
from tests.support.waiting import until

OWN = {"serviceAccountToken": True}
NAMED = {"scoringEndpointAuthName": "scoring-token", "scoringEndpointAuthKey": "token"}


def _reached(agent: RunningAgent, *, failing: int, well: int) -> bool:
    states = [scorer["state"] for scorer in agent.agent.ready().detail["scorers"]]
    return (states.count("failing"), states.count("running")) == (failing, well)


class Guard:
    def __init__(self, *accepted: str) -> None:
        self.accepted = set(accepted)
        self.inner = scores(5.0)

    def __call__(self, seen: RecordedRequest) -> SentReply:
        if seen.headers.get("authorization", "").removeprefix("Bearer ") not in self.accepted:
            return SentReply(status=401, body=b"who are you?")
        return self.inner(seen)


async def test_a_replaced_token_is_used_after_one_401_within_the_same_cycle(
    place: AgentFolder, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    spoke, guard = ScoreHub(), Guard("first-s3cret")
    spoke.secret("scoring-token", token="first-s3cret\n")
    async with (
        spoke as api_server,
        HttpFake(guard) as scoring,
        HttpFake(prometheus(series(1))) as source,
    ):
        place.put(entry("cpu", scoring=scoring.url, source=source.url, scoringInterval=1, **NAMED))
        async with place.agent("--log-level", "debug", spoke=api_server) as agent:
            await until(place.written, what="published")
            assert all("authorization" not in seen.headers for seen in source.seen)
            guard.accepted = {"second-s3cret"}
            spoke.secret("scoring-token", token="second-s3cret")
            calls = len(scoring.seen)
            await until(lambda: len(scoring.seen) >= calls + 3, what="more cycles")
            assert await agent.failures() == {}
            assert {seen.path for seen in api_server.seen} == {
                "/api/v1/namespaces/dynamic-scoring/secrets/scoring-token"
            }
            assert len(api_server.seen) == 2, "kept in between"
            # After another 401 two tokens were sent to the peer, which quotes them.
            refused = list[str]()

            def quoting(seen: RecordedRequest) -> SentReply:
                token = seen.headers["authorization"].removeprefix("Bearer ")
                if not refused:
                    refused.append(token)
                    spoke.secret("scoring-token", token="third-s3cret-9876543210")
                    return SentReply(status=401, body=b"no")
                return SentReply(status=400, body=f"first {refused[0]}, then {token}".encode())

            scoring.handler = quoting
            await until(lambda: _reached(agent, failing=1, well=0), what="the second answer came")
            everything = await agent.shown() + caplog.text
    assert "first (token), then (token)" in everything
    assert "s3cret" not in everything


async def test_the_pods_own_token_is_read_for_every_call(place: AgentFolder) -> None:
    """Projected tokens are replaced every hour. A missing one has its own reason."""
    guard, token = Guard("one"), place.folder / "token"
    token.write_text("one\n")
    async with HttpFake(guard) as scoring:
        place.put(entry("cpu", scoring=scoring.url, scoringInterval=1, scoringAuth=OWN))
        async with place.agent("--service-account-token-file", token) as agent:
            await until(place.written, what="published")
            guard.accepted = {"two"}
            token.write_text("two")
            calls = len(scoring.seen)
            await until(lambda: len(scoring.seen) >= calls + 2, what="more cycles")
            assert await agent.failures() == {}
            token.unlink()
            await until(
                lambda: agent.scorer()["reason"] == "token_unavailable", what="no token, no call"
            )


async def test_a_redirect_sends_no_token_to_another_host(place: AgentFolder) -> None:
    """It is not followed: the other host gets no request, and the message says what to write."""
    token = place.folder / "token"
    token.write_text("pod-token")
    async with HttpFake(scores(5.0)) as elsewhere:
        away = SentReply(status=308, headers={"Location": f"{elsewhere.url}/scoring?token=hunter2"})
        async with HttpFake(lambda _seen: away) as here:
            auth = {"sourceAuth": OWN, "scoringAuth": OWN}
            place.put(
                entry("source", scoring=here.url, source=here.url, **auth),
                entry("scoring", scoring=here.url, **auth),
            )
            async with place.agent("--service-account-token-file", token) as agent:
                await until(
                    lambda: (
                        {one["reason"] for one in agent.agent.ready().detail["scorers"]}
                        == {"redirected"}
                    ),
                    what="refused",
                )
                assert f"points to {elsewhere.url}/scoring;" in agent.scorer()["message"]
                assert "hunter2" not in (await agent.get("/readyz")).text
        assert elsewhere.seen == []


BASIC = {"name": "login", "usernameKey": "username", "passwordKey": "password"}
PAIR = {"name": "pair", "certificateKey": "tls.crt", "privateKeyKey": "tls.key"}
ORG = {"name": "X-Scope-OrgID", "value": "platform"}
API_KEY = {"name": "X-Api-Key", "secretRef": {"name": "api", "key": "k"}}


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


class Gate:
    def __init__(self, **wanted: str) -> None:
        self.wanted = wanted
        self.inner = prometheus(series(1))

    def __call__(self, seen: RecordedRequest) -> SentReply:
        if any(seen.headers.get(name.lower()) != value for name, value in self.wanted.items()):
            return SentReply(status=401, body=b"who are you?")
        return self.inner(seen)


async def test_headers_and_password_go_to_the_source_alone_and_are_replaced_after_a_401(
    place: AgentFolder, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    spoke = ScoreHub()
    spoke.secret("login", username="scorer", password="first-s3cret\n")
    spoke.secret("api", k="key-s3cret-1\n")
    gate = Gate(authorization=basic("scorer", "first-s3cret"))
    gate.wanted |= {"x-scope-orgid": "platform", "x-api-key": "key-s3cret-1"}
    async with spoke as api_server, HttpFake(scores(5.0)) as scoring, HttpFake(gate) as source:
        more: dict[str, Any] = {"sourceBasicAuth": BASIC, "sourceHeaders": [ORG, API_KEY]}
        bad: dict[str, Any] = {"sourceHeaders": [{"name": "Host", "value": "elsewhere"}]}
        place.put(
            entry("cpu", scoring=scoring.url, source=source.url, scoringInterval=1, **more),
            entry("bad", scoring=scoring.url, source=source.url, **bad),
        )
        async with place.agent("--log-level", "debug", spoke=api_server) as agent:
            await until(place.items, what="published")
            spoke.secret("login", username="other", password="second-s3cret")
            spoke.secret("api", k="key-s3cret-2")
            gate.wanted |= {
                "authorization": basic("other", "second-s3cret"),
                "x-api-key": "key-s3cret-2",
            }
            calls = len(scoring.seen)
            await until(lambda: len(scoring.seen) >= calls + 2, what="more cycles")
            assert await agent.failures() == {}
            gate.wanted["x-api-key"] = "nobody has this"
            await until(
                lambda: agent.scorer()["reason"] == "unauthorized", what="a key that nobody has"
            )
            ready = (await agent.get("/readyz")).text
            everything = (await agent.get("/metrics")).text + ready + caplog.text
    assert "the agent sets the header Host itself" in ready
    names = {"authorization", "x-scope-orgid", "x-api-key"}
    assert all(names.isdisjoint(seen.headers) for seen in scoring.seen)
    assert "s3cret" not in everything
    assert base64.b64encode(b"scorer:first-s3cret").decode()[:8] not in everything


async def test_the_condition_on_the_hub_has_nothing_of_a_secret_that_a_source_quotes(
    place: AgentFolder,
) -> None:
    """A token in an error of the source, as it was sent, cut, and escaped."""
    hub = ScoreHub()
    spoke = ScoreHub()
    spoke.secret("login", username="u", password='s3cret-"0123456789')
    spoke.secret("api", k="s3cret-key-0123456789")

    def quoting(seen: RecordedRequest) -> SentReply:
        key = seen.headers["x-api-key"]
        encoded = seen.headers["authorization"].split(" ")[1]
        password = base64.b64decode(encoded).decode().partition(":")[2]
        message = f"\x1b[31mno {key}, {encoded}, {json.dumps(password)} or {key[:14]}"
        return prometheus_error("bad_data", message)

    async with (
        hub as hub_server,
        spoke as spoke_server,
        HttpFake(quoting) as source,
        HttpFake(scores(5.0)) as scoring,
    ):
        login: dict[str, Any] = {"sourceBasicAuth": BASIC, "sourceHeaders": [API_KEY]}
        place.put(entry("cpu", scoring=scoring.url, source=source.url, **login))
        async with place.agent(spoke=spoke_server, hub=hub_server):
            await until(
                lambda: hub.scores.get(("c1", "cpu-score"), {}).get("status"), what="a condition"
            )
        [condition] = hub.scores["c1", "cpu-score"]["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("Scored", "False")
    assert condition["reason"] == "QueryFailed"
    assert condition["message"].endswith(
        'bad_data: \\x1b[31mno (token), (token), "(token)" or (token)'
    )
    assert "s3cret" not in condition["message"]


async def test_secrets_that_peers_quote_are_hidden_and_sent_nowhere_else(
    place: AgentFolder, caplog: pytest.LogCaptureFixture
) -> None:
    """User names, passwords and headers of a source, and the token of the pod."""

    def quoting(seen: RecordedRequest) -> SentReply:
        encoded = seen.headers["authorization"].split(" ")[1]
        password, key = encoded, seen.headers.get("x-api-key", "")
        if seen.headers["authorization"].startswith("Basic "):
            password = base64.b64decode(encoded).decode().partition(":")[2]
        location = f"{elsewhere.url}/login/{encoded}/{password}/{key}"
        answers = {
            "page": SentReply(status=400, body=f"you sent {encoded} with {key}".encode()),
            "elsewhere": SentReply(status=308, headers={"Location": location}),
            "error": prometheus_error("bad_data", f"what is {password} and {key}?"),
            "odd": SentReply(body=b"<html>" + b"x" * 180 + password.encode()),
            "warned": matrix(series(1), warnings=[f"{password} is old, and {key} too"]),
        }
        return answers[seen.path.split("/")[1]]

    caplog.set_level(logging.DEBUG, logger="dsf_agent")
    spoke = ScoreHub()
    spoke.secret("login", username="u", password="s3cret-0123456789")
    spoke.secret("api", k="s3cret-key-0123456789")
    encoded = base64.b64encode(b"u:s3cret-0123456789").decode()
    token_file = place.folder / "token"
    token_file.write_text("s3cret-of-the-pod-0123456789")
    async with (
        spoke as api_server,
        HttpFake(quoting) as peer,
        HttpFake(scores(5.0)) as scoring,
        HttpFake(prometheus(series(1))) as elsewhere,
    ):
        login: dict[str, Any] = {
            "sourceBasicAuth": BASIC,
            "sourceHeaders": [API_KEY],
            "sourceRef": "platform",
        }
        pod: dict[str, Any] = {"sourceAuth": OWN, "sourceRef": "platform"}
        names = ("page", "elsewhere", "error", "odd", "warned")
        place.put(
            *(
                entry(f"{kind}-{name}", scoring=scoring.url, source=f"{peer.url}/{name}", **more)
                for kind, more in (("login", login), ("pod", pod))
                for name in names
            ),
            *(
                entry(f"api-{one}", scoring=f"{peer.url}/{one}", scoringAuth=OWN)
                for one in ("page", "elsewhere")
            ),
        )
        async with place.agent(
            "--service-account-token-file", token_file, spoke=api_server
        ) as agent:
            await until(lambda: _reached(agent, failing=10, well=2), what="all were called")
            told = [one for one in agent.agent.ready().detail["scorers"] if one["reason"]]
            of_sources = [one["message"] for one in told if not one["name"].startswith("api-")]
            assert all(message.startswith("MetricSource platform: ") for message in of_sources)
            everything = await agent.shown() + caplog.text
    assert "s3cret" not in everything
    assert encoded[:8] not in everything
    assert elsewhere.seen == []
    for text in (
        "you sent (token) with (token)",
        "/login/(token)",
        "bad_data: what is (token) and",
        "(token) is old",
    ):
        assert text in everything


@pytest.mark.parametrize("side", ["source", "scoring"])
async def test_a_client_certificate_and_a_private_ca_are_used_and_replaced(
    place: AgentFolder, tmp_path: Path, caplog: pytest.LogCaptureFixture, side: str
) -> None:
    """The server asks for a certificate of one authority, then of another, and its own is of
    another CA, too. Both are read again in the cycle in which the old ones are refused. A scorer
    without gets nothing.
    """
    caplog.set_level(logging.DEBUG)
    spoke, first, second = ScoreHub(), Authority("first"), Authority("second")
    servers, others = Authority("servers"), Authority("others")
    spoke.config("ca", {"ca.crt": servers.pem})

    def pair(authority: Authority, name: str, *, days: float = 1.0) -> dict[str, str]:
        crt, key = authority.pair(tmp_path / name, name=name, days=days)
        return {"tls.crt": crt.read_text(), "tls.key": key.read_text()}

    spoke.secret("pair", **pair(first, "one"))
    tls = servers.server(tmp_path / "server-1", client_authority=first)
    guarded = HttpFake(prometheus(series(1)) if side == "source" else scores(5.0), tls=tls)
    await guarded.start()
    async with spoke as api_server, HttpFake(scores(5.0)) as scoring:
        urls = {"scoring": scoring.url, side: guarded.url}
        plain = entry("cpu", **urls, scoringInterval=5)
        plain[f"{side}Auth"] = {"caConfigMapRef": {"name": "ca", "key": "ca.crt"}}
        guard = {"scoringEndpointAuthName": "pair", "scoringEndpointAuthKey": NEEDS_NEWER_AGENT}
        shown = {f"{side}ClientCertificate": PAIR, **(guard if side == "scoring" else {})}
        refused = {"tls", "connection_lost"}
        untrusting = entry("untrusting", **urls, scoringInterval=5)
        place.put(plain, untrusting)
        async with place.agent(spoke=api_server) as agent:

            def reasons() -> list[str]:
                return [one["reason"] for one in agent.agent.ready().detail["scorers"]]

            await until(lambda: reasons()[0] in refused and reasons()[1] == "tls", what="refused")
            assert (guarded.seen, scoring.seen) == ([], [])
            place.put({**plain, **shown}, untrusting)
            await until(place.items, what="published")
            assert {common_name(seen) for seen in guarded.seen} == {"one"}
            counted = await _counted(agent, "tls")
            await guarded.refuse()
            spoke.secret("pair", **pair(second, "two"))
            spoke.config("ca", {"ca.crt": others.pem})
            guarded.use_tls(others.server(tmp_path / "server-2", client_authority=second))
            await guarded.start()
            await until(lambda: common_name(guarded.seen[-1]) == "two", what="the new certificates")
            assert await _counted(agent, "tls") == counted
            spoke.secret("pair", **pair(second, "three", days=-0.01))
            await until(lambda: agent.scorer()["reason"] in refused, what="an expired certificate")
            assert (
                "the client certificate in Secret 'pair' expired on 20" in agent.scorer()["message"]
            )
            spoke.secret("pair", **{"tls.crt": "no", "tls.key": "s3cret-key"})
            await until(
                lambda: agent.scorer()["reason"] == "token_unavailable", what="no pair, no call"
            )
            spoke.secret("pair", **pair(second, "four"))
            place.put(
                {
                    **plain,
                    **shown,
                    f"{side}Auth": {"caConfigMapRef": {"name": "ca", "key": "nokey"}},
                }
            )
            await until(lambda: agent.scorer()["reason"] == "ca_unavailable", what="no CA, no call")
            everything = await agent.shown() + caplog.text
    await guarded.stop()
    # Virtual time, longer than asyncio waits for the other side to end TLS. Until then the server
    # has its sockets.
    await asyncio.sleep(60)
    assert "Traceback" not in everything
    assert "PRIVATE KEY" not in everything
    assert "s3cret" not in everything


async def _counted(agent: RunningAgent, reason: str) -> dict[str, float]:
    """Failures of the scorer cpu with this reason."""
    start = f'gitops_dsf_agent_failures_total{{reason="{reason}",score_name="cpu-score"'
    return {
        name: value for name, value in (await agent.samples()).items() if name.startswith(start)
    }


def common_name(seen: RecordedRequest) -> str:
    subject = dict(pair[0] for pair in (seen.peer_certificate or {})["subject"])
    return str(subject["commonName"])


async def test_the_secret_of_a_removed_scorer_does_not_stay_in_memory(place: AgentFolder) -> None:
    spoke = ScoreHub()
    spoke.secret("scoring-token", token="first-s3cret")
    spoke.secret("other-token", token="other-s3cret")
    async with spoke as api_server, HttpFake(Guard("first-s3cret", "other-s3cret")) as scoring:
        cpu = entry("cpu", scoring=scoring.url, scoringInterval=1, **NAMED)
        other = {**NAMED, "scoringEndpointAuthName": "other-token"}
        mem = entry("mem", scoring=scoring.url, scoringInterval=1, **other)
        place.put(cpu, mem)
        async with place.agent(spoke=api_server) as agent:
            await until(lambda: place.items("cpu") and place.items("mem"), what="both published")
            kept = agent.agent._adapters.credentials._objects
            place.put(cpu)
            await until(lambda: ("Secret", "other-token") not in kept._kept, what="it is forgotten")
            assert set(kept._kept) == {("Secret", "scoring-token")}
            calls, reads = len(scoring.seen), len(api_server.seen)
            await until(lambda: len(scoring.seen) >= calls + 3, what="the other one goes on")
            assert len(api_server.seen) == reads, "with the token that is kept"
