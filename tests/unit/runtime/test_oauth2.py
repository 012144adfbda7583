"""Access tokens.

How long they are kept, how often a token server is asked, and what is accepted of it.
"""

import asyncio
import base64
import json
import logging
from typing import Any
from urllib.parse import parse_qs

import pytest

from dsf_runtime.oauth2 import AccessTokens, OAuth2Client, TokenError

CLIENT = OAuth2Client(
    token_url="https://login.example.com/token", name="agent", secret="s3cret-0123456789"
)


class Server:
    """Issues token-1, token-2 and so on, or fails."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields
        self.fault: TokenError | None = None
        self.seen: list[OAuth2Client] = []
        self.tokens = AccessTokens()

    async def ask(self, client: OAuth2Client) -> bytes:
        self.seen.append(client)
        await asyncio.sleep(0)
        if self.fault is not None:
            raise self.fault
        return json.dumps({"access_token": f"token-{len(self.seen)}", **self.fields}).encode()

    async def get(self, client: OAuth2Client = CLIENT, *, refused: str = "") -> str:
        return await self.tokens.get("key", client, ask=self.ask, refused=refused)

    async def fails(self) -> str:
        with pytest.raises(TokenError) as caught:
            await self.get()
        return str(caught.value)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ({"expires_in": 3600}, 3540),
        ({"expires_in": "3600"}, 3540),
        ({"expires_in": 100}, 75),
        ({"expires_in": 1e300}, 86_340),
        ({"expires_in": 0}, 7.5),
        ({"expires_in": -5}, 7.5),
        ({"expires_in": "soon"}, 240),
        ({"expires_in": "nan"}, 240),
        ({}, 240),
    ],
    ids=str,
)
async def test_a_token_is_kept_until_shortly_before_its_end(
    said: dict[str, Any], kept: float
) -> None:
    server = Server(**said)
    assert await server.get() == "token-1"
    await asyncio.sleep(kept - 0.1)
    assert await server.get() == "token-1"
    await asyncio.sleep(0.2)
    assert await server.get() == "token-2"


async def test_an_answer_may_begin_with_a_byte_order_mark() -> None:
    async def ask(_client: OAuth2Client) -> bytes:
        return b'\xef\xbb\xbf{"access_token": "issued"}'

    assert await AccessTokens().get("key", CLIENT, ask=ask) == "issued"


async def test_one_request_is_sent_for_all_that_wait() -> None:
    server = Server(expires_in=3600)
    assert set(await asyncio.gather(*(server.get() for _ in range(50)))) == {"token-1"}
    assert len(server.seen) == 1
    await asyncio.sleep(3600)
    first = asyncio.create_task(server.get())
    others = [asyncio.create_task(server.get()) for _ in range(5)]
    await asyncio.sleep(0)
    first.cancel()
    assert set(await asyncio.gather(*others)) == {"token-3"}
    assert len(server.seen) == 3


async def test_a_server_that_is_down_is_asked_seldom(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("random.uniform", lambda low, high: (low + high) / 2)
    server = Server(expires_in=400)
    assert await server.get() == "token-1"
    server.fault = TokenError("https://login.example.com/token cannot be reached")
    await asyncio.sleep(345)
    assert [await server.get() for _ in range(3)] == ["token-1"] * 3
    assert len(server.seen) == 2
    assert [record.message for record in caplog.records] == [
        (
            "https://login.example.com/token cannot be reached; the old access token is used"
            " until its end"
        )
    ]
    await asyncio.sleep(60)
    assert await server.fails() == "https://login.example.com/token cannot be reached"
    assert await server.fails() == (
        "https://login.example.com/token cannot be reached; it is asked again in 10 s"
    )
    asked = len(server.seen)
    for _ in range(3600):
        await asyncio.sleep(1)
        await server.fails()
    assert 50 < len(server.seen) - asked < 80
    server.fault = None
    await asyncio.sleep(400)
    assert await server.get() == f"token-{len(server.seen)}"


async def test_a_server_says_when_it_wants_to_be_asked_again() -> None:
    server = Server()
    server.fault = TokenError("429", retry_after=1000.0)
    await server.fails()
    await asyncio.sleep(999)
    await server.fails()
    assert len(server.seen) == 1
    await asyncio.sleep(2)
    await server.fails()
    assert len(server.seen) == 2


async def test_a_refused_token_is_replaced_once_it_is_a_minute_old() -> None:
    """A scoring API that refuses every token does not make us ask for one in each cycle.

    Who refuses an older token than the one that is kept gets that one.
    """
    server = Server(expires_in=3600)
    assert await server.get() == "token-1"
    assert await server.get(refused="token-1") == "token-1"
    await asyncio.sleep(60)
    assert await server.get(refused="token-1") == "token-2"
    assert await server.get(refused="token-1") == "token-2"
    await asyncio.sleep(60)
    server.fault = TokenError("down")
    with pytest.raises(TokenError):
        await server.get(refused="token-2")


async def test_a_client_with_another_secret_gets_another_token() -> None:
    server = Server(expires_in=3600)
    renewed = OAuth2Client(token_url=CLIENT.token_url, name="agent", secret="another")
    assert [await server.get(), await server.get(renewed)] == ["token-1", "token-2"]
    server.fault = TokenError("no such client", client_refused=True)
    await server.fails()
    server.fault = None
    assert await server.get(renewed) == "token-4"


@pytest.mark.parametrize("in_body", [False, True])
def test_what_is_sent(in_body: bool) -> None:
    """In a header, both parts are encoded as in a form (RFC 6749 section 2.3.1)."""
    client = OAuth2Client(
        token_url="https://a",
        name="a b",
        secret="x:ü&",
        scopes=("r", "w"),
        audience="me",
        in_body=in_body,
    )
    headers, body = client.request()
    form = {name: value for name, [value] in parse_qs(body.decode()).items()}
    expected = {"grant_type": "client_credentials", "scope": "r w", "audience": "me"}
    assert headers["Content-Type"] == "application/x-www-form-urlencoded"
    if in_body:
        assert form == {**expected, "client_id": "a b", "client_secret": "x:ü&"}
        assert "Authorization" not in headers
    else:
        assert form == expected
        kind, _, encoded = headers["Authorization"].partition(" ")
        assert (kind, base64.b64decode(encoded)) == ("Basic", b"a+b:x%3A%C3%BC%26")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "did not answer with a JSON object that has access_token"),
        (b"<html>top-s3cret", "did not answer with a JSON object"),
        (b'{"access_token": 5}', "did not answer with a JSON object"),
        (b"[" * 10_000, "did not answer with a JSON object"),
        (b'{"token": "top-s3cret"}', "did not answer with a JSON object"),
        (b'{"access_token": "top-s3cret", "token_type": "mac"}', "another type than Bearer"),
        (b'{"access_token": ""}', "is empty, or has characters"),
        (b'{"access_token": "top-s3cret\\r\\nX-Evil: 1"}', "is empty, or has characters"),
        (b'{"access_token": "top s3cret"}', "is empty, or has characters"),
        (
            b'{"access_token": "' + b"s3cret" * 3000 + b'"}',
            "a token of 18000 characters, more than 16384",
        ),
    ],
)
async def test_an_answer_that_is_no_token_is_told_without_its_content(
    body: bytes, words: str
) -> None:
    server = Server()

    async def ask(_: OAuth2Client) -> bytes:
        return body

    with pytest.raises(TokenError) as caught:
        await server.tokens.get("key", CLIENT, ask=ask)
    assert words in str(caught.value)
    assert "https://login.example.com/token" in str(caught.value)
    assert "s3cret" not in str(caught.value)


async def test_a_server_that_quotes_the_secret_is_told_without_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    client = OAuth2Client(
        token_url="https://login.example.com/token", name="agent", secret="s3cret/0123456789 x"
    )
    encoded = base64.b64encode(b"agent:s3cret%2F0123456789+x").decode()
    server = Server(expires_in=10)
    await server.get(client)
    await asyncio.sleep(8)
    server.fault = TokenError(f"bad secret {client.secret}, s3cret%2F0123456789+x, {encoded}")
    await server.get(client)
    await asyncio.sleep(60)
    with pytest.raises(TokenError, match="bad secret") as caught:
        await server.get(client)
    everything = f"{caught.value} {caplog.text} {client!r}"
    assert "s3cret" not in everything
    assert encoded[:8] not in everything


async def test_the_tokens_of_clients_that_nobody_needs_are_forgotten() -> None:
    server = Server()
    assert await server.get() == "token-1"
    server.tokens.keep_only(["key"])
    assert await server.get() == "token-1"
    server.tokens.keep_only([])
    assert server.tokens._kept == {}
    assert await server.get() == "token-2"


async def test_a_client_whose_request_is_under_way_is_not_forgotten() -> None:
    server = Server()
    first = asyncio.create_task(server.get())
    await asyncio.sleep(0)
    server.tokens.keep_only([])
    assert await asyncio.gather(first, server.get()) == ["token-1", "token-1"]
