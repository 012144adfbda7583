"""Access tokens by OAuth2 client credentials (RFC 6749 section 4.4).

They are kept until shortly before their end. The caller sends the requests: one at a time for each
client, and after a failure none for a while.
"""

import asyncio
import base64
import logging
import math
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol, Self
from urllib.parse import quote_plus, urlencode

import msgspec

from dsf_runtime.backoff import Backoff
from dsf_runtime.calls import display, hide
from dsf_runtime.clock import monotonic
from dsf_wire.headers import value_fault
from dsf_wire.jsontext import without_mark

LOG: Final = logging.getLogger(__name__)

ANSWER_BYTES: Final = 64 * 1024
"""Most bytes of an answer. Tokens that name many groups have some 10 kB."""
TOKEN_CHARACTERS: Final = 16 * 1024
DEFAULT_SECONDS: Final = 300.0
"""The lifetime of a token whose answer does not say it."""
MIN_SECONDS: Final = 10.0
MAX_SECONDS: Final = 86_400.0
EARLY_SECONDS: Final = 60.0
"""A token is replaced this long before its end, or after three quarters of its time if that is
later.
"""
REFUSED_SECONDS: Final = 60.0
"""A refused token is replaced at this age: a server may refuse every token, in each cycle."""
BACKOFF: Final = Backoff(first=5.0, ceiling=60.0)
"""Callers wait longer after failures of their own. This is the most that all of them together ask.
"""


class TokenError(Exception):
    """No token was obtained. The message contains no secret."""

    def __init__(
        self, message: str, *, retry_after: float | None = None, client_refused: bool = False
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.client_refused = client_refused
        """Whether the server does not accept the client's identifier or secret."""


class Wanted(Protocol):
    """The settings that people write about an access token, in any of their shapes."""

    @property
    def token_url(self) -> str:
        """URL of the token endpoint."""

    @property
    def scopes(self) -> tuple[str, ...]:
        """Scopes that are asked for."""

    @property
    def audience(self) -> str:
        """The audience of the token."""

    @property
    def client_authentication(self) -> str:
        """Header or Body."""


@dataclass(frozen=True, kw_only=True)
class OAuth2Client:
    """The client that asks for a token, and the scope of the token."""

    token_url: str
    name: str
    secret: str = field(repr=False)
    scopes: tuple[str, ...] = ()
    audience: str = ""
    in_body: bool = False
    """Whether the secret is sent in the form, and not in a header."""

    @classmethod
    def of(cls, wanted: Wanted, *, name: str, secret: str) -> Self:
        """The client whose identifier and secret these are."""
        return cls(
            token_url=wanted.token_url,
            name=name,
            secret=secret,
            scopes=wanted.scopes,
            audience=wanted.audience,
            in_body=wanted.client_authentication == "Body",
        )

    def request(self) -> tuple[Mapping[str, str], bytes]:
        """Headers and body of the request for a token."""
        form = {"grant_type": "client_credentials"}
        if self.scopes:
            form["scope"] = " ".join(self.scopes)
        if self.audience:
            form["audience"] = self.audience
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        if self.in_body:
            form |= {"client_id": self.name, "client_secret": self.secret}
        else:
            headers["Authorization"] = f"Basic {self._basic}"
        return headers, urlencode(form).encode()

    def hide(self, text: str) -> str:
        """A message without the secret in any form in which it is sent."""
        return hide(text, self.secret, quote_plus(self.secret), self._basic)

    @property
    def _basic(self) -> str:
        # RFC 6749, section 2.3.1: both are form-encoded before they are joined.
        pair = f"{quote_plus(self.name)}:{quote_plus(self.secret)}"
        return base64.b64encode(pair.encode()).decode()


Ask = Callable[[OAuth2Client], Awaitable[bytes]]
"""Sends the request of a client and returns the body of an answer 200. Raises TokenError."""


class _Answer(msgspec.Struct, frozen=True):
    """The answer of a token server (RFC 6749 section 5.1)."""

    access_token: str
    token_type: str = "Bearer"  # noqa: S105 - a word
    expires_in: float | str | None = None


@dataclass(kw_only=True)
class _KeptToken:
    """The token of a client, and the failures of its requests."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    client: OAuth2Client | None = None
    token: str = field(default="", repr=False)
    since: float = 0.0
    renew: float = 0.0
    """The time when a new token is requested."""
    until: float = 0.0
    failures: int = 0
    fault: str = ""
    retry: float = 0.0
    """The time before which no request is sent."""


class AccessTokens:
    """The tokens of all clients of a process."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, _KeptToken] = {}

    def keep_only(self, keys: Collection[Hashable]) -> None:
        """Forgets the tokens and secrets of all other clients.

        One whose request is under way stays.
        """
        self._kept = {
            key: kept for key, kept in self._kept.items() if key in keys or kept.lock.locked()
        }

    async def get(self, key: Hashable, client: OAuth2Client, *, ask: Ask, refused: str = "") -> str:
        """The token that is kept for ``key``, or a new one.

        ``refused``: one that a server refused. TokenError.
        """
        async with self._kept.setdefault(key, _KeptToken()).lock:
            kept = self._kept[key]
            # A token of the old scopes, or of an old secret, is not what was asked for.
            if kept.client != client:
                self._kept[key] = kept = _KeptToken(lock=kept.lock, client=client)
            now = monotonic()
            # Another caller may have replaced the refused token already.
            if refused and kept.token == refused and now - kept.since >= REFUSED_SECONDS:
                kept.renew = kept.until = now
            if now < kept.renew:
                return kept.token
            # After a failure nothing is asked for a while. Until its end the old token still works.
            if now < kept.retry:
                if now < kept.until:
                    return kept.token
                wait = math.ceil(kept.retry - now)
                raise TokenError(f"{kept.fault}; it is asked again in {wait} s")
            try:
                body = await ask(client)
                token, seconds = _read(body, client)
            except TokenError as error:
                # The request may have taken its whole time-out.
                now = monotonic()
                kept.failures += 1
                kept.fault = client.hide(str(error))
                delay = BACKOFF.delay(kept.failures)
                kept.retry = now + max(delay, error.retry_after or 0.0)
                if now < kept.until:
                    LOG.warning("%s; the old access token is used until its end", kept.fault)
                    return kept.token
                # Without the cause, whose text may hold the secret.
                raise TokenError(kept.fault, client_refused=error.client_refused) from None
            early = min(EARLY_SECONDS, seconds / 4)
            self._kept[key] = _KeptToken(
                lock=kept.lock,
                client=client,
                token=token,
                since=now,
                renew=now + seconds - early,
                until=now + seconds,
            )
            return token


def _read(body: bytes, client: OAuth2Client) -> tuple[str, float]:
    """The token, and for how many seconds it is used. Nothing is quoted: it may hold a token."""
    url = display(client.token_url)
    try:
        answer = msgspec.json.decode(without_mark(body), type=_Answer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise TokenError(f"{url} did not answer with a JSON object that has access_token") from None
    # RFC 6749, section 5.1: upper and lower case do not matter here.
    if answer.token_type.lower() != "bearer":
        raise TokenError(f"{url} issued a token of another type than Bearer")
    token = answer.access_token
    if len(token) > TOKEN_CHARACTERS:
        raise TokenError(
            f"{url} issued a token of {len(token)} characters, more than {TOKEN_CHARACTERS}"
        )
    if value_fault(token) or " " in token:
        raise TokenError(
            f"{url} issued a token that is empty, or has characters that a header cannot have"
        )
    return token, _seconds(answer.expires_in)


def _seconds(said: float | str | None) -> float:
    """The lifetime of the token. Some servers write a number as text."""
    try:
        seconds = DEFAULT_SECONDS if said is None else float(said)
    except ValueError:
        seconds = DEFAULT_SECONDS
    if math.isnan(seconds):
        seconds = DEFAULT_SECONDS
    return min(max(seconds, MIN_SECONDS), MAX_SECONDS)
