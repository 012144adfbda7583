"""Tokens and CAs of endpoints are read by name, replaced while the agent runs, and never shown."""

import logging
from pathlib import Path

import pytest

from tests.support.agent.certificates import Authority
from tests.support.agent.http import (
    HttpFake,
    Reply,
    Seen,
    matrix,
    prometheus,
    prometheus_error,
    scores,
    series,
)
from tests.support.agent.hub import ScoreHub
from tests.support.agent.running import Place, RunningAgent, entry
from tests.support.waiting import until

OWN = {"serviceAccountToken": True}
NAMED = {"scoringEndpointAuthName": "scoring-token", "scoringEndpointAuthKey": "token"}


def _reached(agent: RunningAgent, *, failing: int, well: int) -> bool:
    states = [scorer["state"] for scorer in agent.agent.detail()[1]["scorers"]]
    return (states.count("failing"), states.count("running")) == (failing, well)


class Guard:
    """Asks for one of the accepted tokens before it answers."""

    def __init__(self, *accepted: str) -> None:
        self.accepted = set(accepted)
        self.inner = scores(5.0)

    def __call__(self, seen: Seen) -> Reply:
        if seen.headers.get("authorization", "").removeprefix("Bearer ") not in self.accepted:
            return Reply(status=401, body=b"who are you?")
        return self.inner(seen)


async def test_a_replaced_token_is_used_after_one_401_within_the_same_cycle(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    spoke, guard = ScoreHub(), Guard("first-s3cret")
    spoke.secret("scoring-token", token="first-s3cret\n")
    async with spoke as api_server, HttpFake(guard) as scoring, HttpFake(prometheus(series(1))) as source:
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
            guard.accepted = set()
            await until(lambda: agent.scorer()["reason"] == "unauthorized", what="a token nobody wants")
            assert "s3cret" not in await agent.shown() + caplog.text


async def test_a_token_that_a_peer_quotes_is_hidden(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    def quoting(seen: Seen) -> Reply:
        token = seen.headers["authorization"].removeprefix("Bearer ")
        answers = {
            "page": Reply(status=400, body=f"you sent Bearer {token} and that is wrong".encode()),
            "elsewhere": Reply(status=302, headers={"Location": f"/login/{token}"}),
            "error": prometheus_error("bad_data", f"what is {token}?"),
            "odd": Reply(body=b"<html>" + b"x" * 180 + token.encode()),
            "warn": matrix(series(1), warnings=[f"{token} is old"]),
        }
        return answers[seen.path.split("/")[1]]

    caplog.set_level(logging.DEBUG, logger="dsf_agent")
    token_file = place.folder / "token"
    token_file.write_text("s3cret-of-the-pod-0123456789")
    async with HttpFake(quoting) as peer, HttpFake(scores(5.0)) as scoring:
        sources = ("page", "elsewhere", "error", "odd", "warn")
        place.put(
            *(entry(one, scoring=scoring.url, source=f"{peer.url}/{one}", sourceAuth=OWN) for one in sources),
            *(
                entry(f"api-{one}", scoring=f"{peer.url}/{one}", scoringAuth=OWN)
                for one in ("page", "elsewhere")
            ),
        )
        async with place.agent("--service-account-token-file", token_file) as agent:
            await until(lambda: _reached(agent, failing=6, well=1), what="all were called")
            everything = await agent.shown() + caplog.text
    assert "s3cret" not in everything
    for text in (
        "you sent Bearer (token) and that is wrong",
        "/login/(token)",
        "bad_data: what is (token)?",
        "(token) is old",
    ):
        assert text in everything


async def test_a_peer_that_quotes_the_token_that_it_refused_is_not_repeated(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    """After a 401 two tokens were sent to it: neither may be read anywhere."""
    spoke, refused = ScoreHub(), list[str]()

    def quoting(seen: Seen) -> Reply:
        token = seen.headers["authorization"].removeprefix("Bearer ")
        if not refused:
            refused.append(token)
            spoke.secret("scoring-token", token="another-s3cret-9876543210")
            return Reply(status=401, body=b"no")
        return Reply(status=400, body=f"first {refused[0]}, then {token}".encode())

    caplog.set_level(logging.DEBUG)
    spoke.secret("scoring-token", token="first-s3cret-0123456789")
    async with spoke as api_server, HttpFake(quoting) as scoring:
        place.put(entry("cpu", scoring=scoring.url, scoringInterval=60, **NAMED))
        async with place.agent(spoke=api_server) as agent:
            await until(lambda: _reached(agent, failing=1, well=0), what="the second answer came")
            everything = await agent.shown() + caplog.text
    assert "first (token), then (token)" in everything
    assert "s3cret" not in everything


async def test_a_private_ca_from_a_config_map_and_its_replacement(place: Place, tmp_path: Path) -> None:
    spoke, first, second = ScoreHub(), Authority("first"), Authority("second")
    spoke.config("ca", {"ca.crt": first.pem})
    scoring = HttpFake(scores(5.0), tls=first.server(tmp_path / "first"))
    await scoring.start()
    async with spoke as api_server:
        trusted = {"scoringAuth": {"caConfigMapRef": {"name": "ca", "key": "ca.crt"}}}
        one = entry("cpu", scoring=scoring.url, scoringInterval=1, **trusted)
        place.put(one, entry("untrusting", scoring=scoring.url, scoringInterval=1))
        async with place.agent(spoke=api_server) as agent:
            await until(place.items, what="published")
            await until(
                lambda: agent.agent.detail()[1]["scorers"][1]["reason"] == "tls",
                what="others do not trust it",
            )
            await scoring.stop()
            spoke.config("ca", {"ca.crt": second.pem})
            scoring.use_tls(second.server(tmp_path / "second"))
            await scoring.start()
            calls = len(scoring.seen)
            await until(lambda: len(scoring.seen) >= calls + 2, what="cycles with the second CA")
            assert "tls" not in (await agent.failures()).get("cpu-score", set())
            place.put({**one, "scoringAuth": {"caConfigMapRef": {"name": "ca", "key": "nokey"}}})
            await until(lambda: agent.scorer()["reason"] == "ca_unavailable", what="no CA, no call")
    await scoring.stop()


async def test_the_pods_own_token_is_read_for_every_call(place: Place) -> None:
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
            await until(lambda: agent.scorer()["reason"] == "token_unavailable", what="no token, no call")


async def test_a_redirect_sends_no_token_to_another_host(place: Place) -> None:
    """It is not followed: the other host gets no request, and the message says what to write."""
    token = place.folder / "token"
    token.write_text("pod-token")
    async with HttpFake(scores(5.0)) as elsewhere:
        away = Reply(status=308, headers={"Location": f"{elsewhere.url}/scoring?token=hunter2"})
        async with HttpFake(lambda _seen: away) as here:
            auth = {"sourceAuth": OWN, "scoringAuth": OWN}
            place.put(
                entry("source", scoring=here.url, source=here.url, **auth),
                entry("scoring", scoring=here.url, **auth),
            )
            async with place.agent("--service-account-token-file", token) as agent:
                await until(
                    lambda: {one["reason"] for one in agent.agent.detail()[1]["scorers"]} == {"redirected"},
                    what="refused",
                )
                assert f"points to {elsewhere.url}/scoring;" in agent.scorer()["message"]
                assert "hunter2" not in (await agent.get("/readyz")).text
        assert elsewhere.seen == []
