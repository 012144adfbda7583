"""Access tokens and client certificates, with a real token server, TLS servers and agent."""

import asyncio
import base64
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dsf_wire.summary import NEEDS_NEWER_AGENT
from tests.support.agent.certificates import Authority
from tests.support.agent.http import (
    Answer,
    HttpFake,
    PeerFault,
    RecordedRequest,
    SentReply,
    prometheus,
    scores,
    series,
)
from tests.support.agent.hub import ScoreHub
from tests.support.agent.running import AgentFolder, entry
from tests.support.inmemory import InMemory
from tests.support.waiting import until

SECRET_REF = {"name": "client", "clientIDKey": "client-id", "clientSecretKey": "client-secret"}
GUARD = {"scoringEndpointAuthName": "client", "scoringEndpointAuthKey": NEEDS_NEWER_AGENT}


class TokenServer(HttpFake):
    """Knows one client, and issues issued-s3cret-1, issued-s3cret-2 and so on."""

    def __init__(self, *, seconds: int = 3600, **how: Any) -> None:
        super().__init__(self._answered, **how)
        self.secret = "client-s3cret-1"
        self.seconds = seconds
        self.issued: list[str] = []
        self.instead: Callable[[RecordedRequest], Answer] | None = None

    @property
    def valid(self) -> str:
        return f"Bearer {self.issued[-1]}" if self.issued else ""

    def _answered(self, seen: RecordedRequest) -> Answer:
        if self.instead is not None:
            return self.instead(seen)
        expected = base64.b64encode(f"agent:{self.secret}".encode()).decode()
        if seen.headers.get("authorization") != f"Basic {expected}":
            quoted = {
                "error": "invalid_client",
                "error_description": seen.headers.get("authorization"),
            }
            return SentReply.of(quoted, status=401)
        assert seen.form == {
            "grant_type": "client_credentials",
            "scope": "r w",
            "audience": "scores",
        }
        self.issued.append(f"issued-s3cret-{len(self.issued) + 1}")
        return SentReply.of(
            {"access_token": self.issued[-1], "token_type": "bearer", "expires_in": self.seconds}
        )

    def auth(self, **more: Any) -> dict[str, Any]:
        oauth2 = {
            "tokenURL": f"{self.url}/token",
            "clientSecretRef": SECRET_REF,
            "scopes": ["r", "w"],
            "audience": "scores",
            **more,
        }
        return {"oauth2": oauth2}


def client(secret_value: str) -> dict[str, str]:
    return {"client-id": "agent", "client-secret": f"{secret_value}\n"}


def gate(server: TokenServer) -> Callable[[RecordedRequest], Any]:
    """A scoring API that accepts the last token alone."""
    inner = scores(5.0)

    def answer(seen: RecordedRequest) -> Any:
        if seen.headers.get("authorization") != server.valid:
            return SentReply(
                status=401, body=f"what is {seen.headers.get('authorization')}?".encode()
            )
        return inner(seen)

    return answer


async def test_scorers_with_one_client_share_a_token(
    place: AgentFolder, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    spoke, server = ScoreHub(), TokenServer(seconds=600)
    spoke.secret("client", **client("client-s3cret-1"))
    async with spoke as api_server, server, InMemory(gate(server)) as scoring:

        def asks(seen: RecordedRequest) -> SentReply:
            wanted = seen.headers.get("authorization") == server.valid
            return prometheus(series(1))(seen) if wanted else SentReply(status=401)

        async with InMemory(asks) as source:
            more: dict[str, Any] = {"scoringAuth": server.auth(), **GUARD, "scoringInterval": 30}
            place.put(
                entry(
                    "cpu", scoring=scoring.url, source=source.url, sourceAuth=server.auth(), **more
                ),
                entry("gpu", scoring=scoring.url, **more),
            )
            async with place.agent("--log-level", "debug", spoke=api_server) as agent:
                await until(lambda: place.items("cpu") and place.items("gpu"), what="published")
                assert len(server.seen) == 1
                calls = len(scoring.seen)
                await asyncio.sleep(450)
                assert len(scoring.seen) >= calls + 20, "minutes of cycles"
                assert len(server.seen) == 1
                await asyncio.sleep(150)
                assert len(server.issued) == 2, "a new token before its end"
                assert server.seen[1].at - server.seen[0].at == pytest.approx(540, abs=40)
                await asyncio.sleep(90)
                # The server forgets what it issued: a token is refused, and replaced within the
                # cycle.
                server.issued.append("nobody-has-this")
                await until(lambda: len(server.issued) == 4, what="a token after a 401")
                await asyncio.sleep(90)
                assert await agent.failures() == {}
                server.secret = "client-s3cret-2"
                spoke.secret("client", **client(server.secret))
                await until(lambda: len(server.issued) == 5, what="a token for the new secret")
                await asyncio.sleep(90)
                assert await agent.failures() == {}
                server.secret = "nobody has this"
                spoke.secret("client", **client("client-s3cret-3"))
                await until(
                    lambda: agent.scorer()["reason"] == "token_unavailable", what="no such client"
                )
                ready = (await agent.get("/readyz")).text
                everything = (await agent.get("/metrics")).text + ready + caplog.text
    assert "no access token for the client in Secret 'client'" in ready
    assert "/token answered 401" in ready
    assert "invalid_client" in ready
    assert "s3cret" not in everything
    assert base64.b64encode(b"agent:client-s3cret-3").decode()[:8] not in everything
    assert all("agent" not in seen.headers.get("authorization", "") for seen in scoring.seen)


@pytest.mark.parametrize(
    ("instead", "words"),
    [
        (SentReply(status=503), "answered 503"),
        (
            SentReply(status=302, headers={"Location": "https://elsewhere.example.com/x"}),
            "redirects are not followed",
        ),
        (SentReply(body=b"{" + b" " * 70_000 + b"}"), "more than the limit of 65536 bytes"),
        (PeerFault(hang=True), "no complete answer within"),
    ],
    ids=["503", "redirect", "large", "hangs"],
)
async def test_a_token_server_that_fails_costs_its_scorers_alone(
    place: AgentFolder, instead: Answer, words: str
) -> None:
    spoke, server = ScoreHub(), TokenServer()
    server.instead = lambda _: instead
    spoke.secret("client", **client("client-s3cret-1"))
    async with (
        spoke as api_server,
        server,
        InMemory(gate(server)) as scoring,
        InMemory(scores(5.0)) as other,
    ):
        more: dict[str, Any] = {"scoringAuth": server.auth(), **GUARD, "scoringInterval": 10}
        place.put(
            entry("cpu", scoring=scoring.url, **more),
            entry("gpu", scoring=scoring.url, **more),
            entry("free", scoring=other.url, scoringInterval=10),
        )
        async with place.agent(spoke=api_server) as agent:
            await until(lambda: agent.scorer()["reason"] == "token_unavailable", what="no token")
            assert words in agent.scorer()["message"]
            await asyncio.sleep(60)
            asked, calls = len(server.seen), len(other.seen)
            await asyncio.sleep(120)
            assert 1 <= len(server.seen) - asked <= 4
            assert len(other.seen) - calls >= 11
            assert scoring.seen == []
            server.instead = None
            await asyncio.sleep(200)  # longer than a pause of a scorer
            await until(
                lambda: place.items("cpu") and place.items("gpu"), what="published", seconds=900
            )
    assert len(server.issued) == 1


async def test_the_private_ca_of_a_token_server_is_its_own(
    place: AgentFolder, tmp_path: Path
) -> None:
    spoke, logins = ScoreHub(), Authority("logins")
    spoke.secret("client", **client("client-s3cret-1"))
    spoke.config("logins", {"ca.crt": logins.pem})
    server = TokenServer(tls=logins.server(tmp_path / "server"))
    async with spoke as api_server, server, InMemory(gate(server)) as scoring:
        place.put(
            entry("cpu", scoring=scoring.url, scoringInterval=1, scoringAuth=server.auth(), **GUARD)
        )
        async with place.agent(spoke=api_server) as agent:
            await until(lambda: agent.scorer()["reason"] == "token_unavailable", what="not trusted")
            assert "the certificate is not trusted" in agent.scorer()["message"]
            assert (server.seen, scoring.seen) == ([], [])
            auth = server.auth(caConfigMapRef={"name": "logins", "key": "ca.crt"})
            place.put(
                entry("cpu", scoring=scoring.url, scoringInterval=1, scoringAuth=auth, **GUARD)
            )
            await until(place.items, what="published")
