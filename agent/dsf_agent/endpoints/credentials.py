"""The headers that an endpoint needs: tokens, basic authentication, and others.

The values come from Secrets, the pod's own token, or a token server (OAuth 2.0 client credentials).
They are kept for a while, and read or requested again when the endpoint refused them. Messages name
the Secret and the key, but never contain their values.
"""

import asyncio
import base64
import ssl
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dsf_agent.endpoints.auth import RequestAuth
from dsf_agent.endpoints.keptobjects import KeptObjects, ReadObject, SecretForm, where
from dsf_agent.endpoints.tlscontexts import TlsContexts
from dsf_agent.errors import AgentError
from dsf_runtime.oauth2 import AccessTokens, OAuth2Client, TokenError
from dsf_wire.scored import Reason
from dsf_wire.secrettext import SecretFault, header_secret
from dsf_wire.summary import BasicAuth, OAuth2

FILE_SECONDS: Final = 5.0
"""Time limit for reading the token file. After it the cycle of the scorer fails."""

AskTokenServer = Callable[[OAuth2Client, ssl.SSLContext | None], Awaitable[bytes]]
"""Sends a client's request, trusting these CAs.

Returns the body of a good answer, or raises TokenError.
"""


@dataclass(frozen=True, kw_only=True)
class SentCredentials:
    """The headers of each request, and the secrets in them, which messages must not contain."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    number: int = 0
    """The number of objects that had been read before."""


@dataclass(kw_only=True, eq=False, repr=False)
class EndpointCredentials:
    """Gives what endpoints need.

    Objects are read, and token servers asked, once for all scorers.
    """

    read: ReadObject
    token_file: Path
    ask: AskTokenServer
    wall: Callable[[], float] = time.time
    forgotten: Callable[[ssl.SSLContext], None] = lambda _context: None
    """A function that is called with a TLS context that is no longer needed, to close its
    connections.
    """
    _objects: KeptObjects = field(init=False)
    _contexts: TlsContexts = field(init=False)
    _tokens: AccessTokens = field(init=False, default_factory=AccessTokens)

    def __post_init__(self) -> None:
        self._objects = KeptObjects(self.read)
        self._contexts = TlsContexts(
            objects=self._objects, wall=self.wall, forgotten=self.forgotten
        )

    def keep_only(self, auths: Collection[RequestAuth]) -> None:
        """Forgets what none of these endpoints needs.

        Secrets of removed scorers must not stay in memory.
        """
        places: set[tuple[str, str]] = set()
        for auth in auths:
            places |= auth.objects
        self._objects.keep_only(places)
        self._contexts.keep_only(auths)
        self._tokens.keep_only({auth.oauth2 for auth in auths if auth.oauth2 is not None})

    async def sent(
        self, auth: RequestAuth, *, refused: SentCredentials | None = None
    ) -> SentCredentials:
        """The headers of each request. Raises AgentError.

        ``refused`` got 401: its secrets are read again, and a token server is asked for another
        token.
        """
        after = refused.number if refused is not None else -1
        headers: dict[str, str] = {}
        secrets: list[str] = []
        token = await self._token(auth, after=after, refused=refused)
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
            secrets.append(token)
        if auth.basic is not None:
            user, password = await self._login(auth.basic, after=after)
            encoded = base64.b64encode(f"{user}:{password}".encode()).decode()
            headers["Authorization"] = f"Basic {encoded}"
            # A peer may quote either form in its answer, which becomes part of a message.
            secrets += [password, encoded]
        for header in auth.headers:
            if header.secret_ref is None:
                headers[header.name] = header.value or ""
                continue
            ref = header.secret_ref
            (value,) = await self._objects.secret_values(
                ref.name, (ref.key,), SecretForm.HEADER, after=after
            )
            headers[header.name] = value
            secrets.append(value)
        return SentCredentials(headers=headers, secrets=tuple(secrets), number=self._objects.reads)

    async def trust(self, auth: RequestAuth, *, fresh: bool = False) -> ssl.SSLContext | None:
        """A TLS context with private CA and client certificate; None without both.

        Raises AgentError.
        """
        return await self._contexts.context(auth, fresh=fresh)

    def expired(self, auth: RequestAuth) -> str:
        """Says that the client certificate is expired; empty if it is not, or not known."""
        return self._contexts.expired(auth)

    async def _login(self, basic: BasicAuth, *, after: int) -> tuple[str, str]:
        """User name and password."""
        user, password = await self._objects.secret_values(
            basic.name, (basic.username_key, basic.password_key), SecretForm.TEXT, after=after
        )
        if ":" in user:
            # The colon separates the two on the wire (RFC 7617 section 2).
            key_text = where(basic.name, basic.username_key)
            msg = f"{key_text} holds a colon, which a user name of basic authentication cannot have"
            raise AgentError(msg, reason=Reason.TOKEN_UNAVAILABLE)
        return user, password

    async def _token(
        self, auth: RequestAuth, *, after: int, refused: SentCredentials | None
    ) -> str | None:
        """The bearer token, or None if the endpoint needs none."""
        if auth.oauth2 is not None:
            header = refused.headers.get("Authorization", "") if refused is not None else ""
            return await self._access_token(
                auth.oauth2, after=after, refused=header.removeprefix("Bearer ")
            )
        if auth.secret_name:
            (value,) = await self._objects.secret_values(
                auth.secret_name, (auth.secret_key,), SecretForm.TOKEN, after=after
            )
            return value
        if auth.service_account_token:
            try:
                # Read for each call, because the kubelet renews the token in the file.
                # In a thread, because a file of a hung volume would stop the event loop.
                async with asyncio.timeout(FILE_SECONDS):
                    return await asyncio.to_thread(self._own_token)
            except TimeoutError as error:
                raise AgentError(
                    f"the pod's own token {self.token_file} could not be read within"
                    f" {FILE_SECONDS:g} s",
                    reason=Reason.TOKEN_UNAVAILABLE,
                ) from error
        return None

    async def _access_token(self, oauth2: OAuth2, *, after: int, refused: str) -> str:
        """A token that the token server issued.

        If it refuses the client, the Secret is read again.
        """
        trust = await self.trust(RequestAuth(ca=oauth2.ca_config_map_ref))

        async def ask(client: OAuth2Client) -> bytes:
            return await self.ask(client, trust)

        client = await self._client(oauth2, after=after)
        try:
            try:
                return await self._tokens.get(oauth2, client, ask=ask, refused=refused)
            except TokenError as error:
                if not error.client_refused:
                    raise
                renewed = await self._client(oauth2, after=self._objects.reads)
                # Asking again with the same client would only burden the token server.
                if renewed == client:
                    raise
                return await self._tokens.get(oauth2, renewed, ask=ask)
        except TokenError as error:
            raise AgentError(
                f"no access token for the client in Secret {oauth2.client_secret_ref.name!r}:"
                f" {error}",
                reason=Reason.TOKEN_UNAVAILABLE,
            ) from error

    async def _client(self, oauth2: OAuth2, *, after: int) -> OAuth2Client:
        ref = oauth2.client_secret_ref
        keys = ref.client_id_key, ref.client_secret_key
        name, secret = await self._objects.secret_values(
            ref.name, keys, SecretForm.TEXT, after=after
        )
        return OAuth2Client.of(oauth2, name=name, secret=secret)

    def _own_token(self) -> str:
        try:
            return header_secret(self.token_file.read_bytes())
        except OSError as error:
            msg = f"the pod's own token {self.token_file} cannot be read: {type(error).__name__}"
            raise AgentError(msg, reason=Reason.TOKEN_UNAVAILABLE) from error
        except SecretFault as fault:
            msg = f"the pod's own token {self.token_file} {fault}"
            raise AgentError(msg, reason=Reason.TOKEN_UNAVAILABLE) from None
