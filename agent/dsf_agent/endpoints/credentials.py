"""Credentials and CAs of endpoints, from Secrets and ConfigMaps of the agent's namespace, which are kept for
a minute and read again on demand. Messages name the Secret and the key, but never contain their values.
"""

import asyncio
import base64
import hashlib
import logging
import math
import ssl
import tempfile
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx

from dsf_agent.endpoints.apiserver import ApiServer
from dsf_agent.errors import AgentError, Reason
from dsf_runtime import clock
from dsf_runtime.oauth2 import AccessTokens, Client, TokenError
from dsf_wire import summary
from dsf_wire.secrettext import SecretFault, header_secret, line_secret, pem_secret
from dsf_wire.summary import ClientCertificate, ConfigMapRef, OAuth2, Summary

log = logging.getLogger(__name__)

KEEP_SECONDS: Final = 60.0
"""A Secret is read again after this time, so that a new token is used even if the old one still works."""
STALE_SECONDS: Final = 10.0
"""Pause between two reads while the API server does not answer. The old value is used meanwhile."""
FILE_SECONDS: Final = 5.0
"""Time limit for reading the token file. After it the cycle of the scorer fails."""
_GONE: Final = frozenset({Reason.NOT_FOUND, Reason.FORBIDDEN})
"""The object or the right to read it was removed. Other failures say nothing about the object."""


@dataclass(frozen=True, kw_only=True)
class Auth:
    """What one endpoint needs, all optional."""

    secret_name: str = ""
    secret_key: str = ""
    service_account_token: bool = False
    oauth2: OAuth2 | None = None
    ca: ConfigMapRef | None = None
    basic: summary.BasicAuth | None = None
    headers: tuple[summary.Header, ...] = ()
    certificate: ClientCertificate | None = None

    @property
    def objects(self) -> frozenset[tuple[str, str]]:
        """The kind and name of each object that is read for it."""
        secrets = {
            self.secret_name,
            *(each.secret_ref.name for each in self.headers if each.secret_ref),
        }
        maps = {self.ca.name} if self.ca is not None else set[str]()
        if self.basic is not None:
            secrets.add(self.basic.name)
        if self.certificate is not None:
            secrets.add(self.certificate.name)
        if self.oauth2 is not None:
            secrets.add(self.oauth2.client_secret_ref.name)
            maps |= (
                {self.oauth2.ca_config_map_ref.name}
                if self.oauth2.ca_config_map_ref is not None
                else set()
            )
        return frozenset(
            {("Secret", name) for name in secrets if name} | {("ConfigMap", name) for name in maps}
        )


@dataclass(frozen=True, kw_only=True)
class Sent:
    """What is added to each request, and the secrets in it, which messages must not contain."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    number: int = 0
    """How many objects had been read before."""


def source_auth(scorer: Summary) -> Auth:
    name, key = scorer.source_endpoint_auth_name, scorer.source_endpoint_auth_key
    auth = _auth(name, key, scorer.source_auth, scorer.source_client_certificate)
    return replace(auth, basic=scorer.source_basic_auth, headers=scorer.source_headers or ())


def scoring_auth(scorer: Summary) -> Auth:
    name, key = scorer.scoring_endpoint_auth_name, scorer.scoring_endpoint_auth_key
    return _auth(name, key, scorer.scoring_auth, scorer.scoring_client_certificate)


def _auth(
    name: str, key: str, extra: summary.EndpointAuth | None, certificate: ClientCertificate | None
) -> Auth:
    if key == summary.NEEDS_NEWER_AGENT:
        name, key = "", ""
    extra = extra or summary.EndpointAuth()
    return Auth(
        secret_name=name,
        secret_key=key,
        service_account_token=extra.service_account_token,
        oauth2=extra.oauth2,
        ca=extra.ca_config_map_ref,
        certificate=certificate,
    )


AskTokenServer = Callable[[Client, ssl.SSLContext | None], Awaitable[bytes]]
"""Sends a client's request, trusting these CAs. Returns the body of a good answer, or raises TokenError."""
Read = Callable[[str, str], Awaitable[dict[str, Any]]]
"""Reads an object by its kind (Secret or ConfigMap) and name. Raises AgentError."""


def reader(server: ApiServer | None, *, namespace: str) -> Read:
    """Reads (right ``get``) in one namespace of the managed cluster. A laptop may have no access."""

    async def read(kind: str, name: str) -> dict[str, Any]:
        if server is None:
            msg = (
                f"{kind} {name!r} is needed, but there is no access to the managed cluster's API; give"
                " --spoke-kubeconfig"
            )
            raise AgentError(msg, reason=Reason.NOT_FOUND)
        path = (
            f"/api/v1/namespaces/{quote(namespace, safe='')}/{kind.lower()}s/{quote(name, safe='')}"
        )
        return await server.call("GET", path)

    return read


@dataclass(kw_only=True)
class _Kept:
    """The data of an object, read after this number of reads; in an outage the old one. AgentError."""

    data: Mapping[str, Any]
    number: int
    """How many objects had been read before, to tell what was read after a refusal."""
    until: float
    stale: bool = False


Values = tuple[str, ...]
"""Values of keys of one Secret."""


class _Kind(Enum):
    """What a key of a Secret holds. The value is the word for it in messages."""

    TOKEN = "token"  # noqa: S105 - a word of messages, not a token
    HEADER = "value of a header"
    TEXT = "text"
    PEM = "PEM text"

    def read(self, encoded: object) -> str:
        """The value as it is used. Raises SecretFault."""
        if not isinstance(encoded, str):
            raise SecretFault("is missing")
        try:
            data = base64.b64decode(encoded, validate=True)
        except ValueError:
            raise SecretFault("is not Base64") from None
        return self.reader(data)

    @property
    def reader(self) -> Callable[[bytes], str]:
        """Reads the bytes of a key."""
        if self is _Kind.PEM:
            return pem_secret
        return line_secret if self is _Kind.TEXT else header_secret


@dataclass(kw_only=True, eq=False, repr=False)
class Credentials:
    """Caches what endpoints need. Objects are read, and token servers asked, once for all scorers."""

    read: Read
    token_file: Path
    ask: AskTokenServer
    wall: Callable[[], float] = time.time
    forgotten: Callable[[ssl.SSLContext], None] = lambda _context: None
    """Called with a TLS context that nobody needs any more, to close its connections."""
    _tokens: AccessTokens = field(init=False, default_factory=AccessTokens)
    _kept: dict[tuple[str, str], _Kept] = field(init=False, default_factory=dict)
    _locks: dict[tuple[str, str], asyncio.Lock] = field(init=False, default_factory=dict)
    _reads: int = field(init=False, default=0)
    _contexts: dict[
        tuple[ConfigMapRef | None, ClientCertificate | None], tuple[str, ssl.SSLContext]
    ] = field(init=False, default_factory=dict)
    _ends: dict[ClientCertificate, float] = field(init=False, default_factory=dict)
    """When client certificates expire (Unix time)."""

    def keep_only(self, auths: Collection[Auth]) -> None:
        """Forgets what none of these endpoints needs: Secrets of removed scorers must not stay in memory."""
        objects = {place for auth in auths for place in auth.objects}
        contexts = {(auth.ca, auth.certificate) for auth in auths}
        contexts |= {
            (auth.oauth2.ca_config_map_ref, None) for auth in auths if auth.oauth2 is not None
        }
        self._kept = {place: kept for place, kept in self._kept.items() if place in objects}
        self._locks = {
            place: lock for place, lock in self._locks.items() if place in objects or lock.locked()
        }
        for key in self._contexts.keys() - contexts:
            self.forgotten(self._contexts.pop(key)[1])
        certificates = {auth.certificate for auth in auths}
        self._ends = {key: end for key, end in self._ends.items() if key in certificates}
        self._tokens.keep_only({auth.oauth2 for auth in auths if auth.oauth2 is not None})

    async def sent(self, auth: Auth, *, refused: Sent | None = None) -> Sent:
        """What is added to each request. ``refused`` got 401: secrets are read again. Raises AgentError."""
        after = refused.number if refused is not None else -1
        headers: dict[str, str] = {}
        secrets: list[str] = []
        token = await self._token(auth, after=after, refused=refused)
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
            secrets.append(token)
        if auth.basic is not None:
            keys = auth.basic.username_key, auth.basic.password_key
            user, password = await self._values(auth.basic.name, keys, _Kind.TEXT, after=after)
            if ":" in user:
                where = _where(auth.basic.name, auth.basic.username_key)
                msg = (
                    f"{where} holds a colon, which a user name of basic authentication cannot have"
                )
                raise AgentError(msg, reason=Reason.TOKEN_UNAVAILABLE)
            encoded = base64.b64encode(f"{user}:{password}".encode()).decode()
            headers["Authorization"] = f"Basic {encoded}"
            secrets += [password, encoded]
        for header in auth.headers:
            if header.secret_ref is None:
                headers[header.name] = header.value or ""
                continue
            ref = header.secret_ref
            (value,) = await self._values(ref.name, (ref.key,), _Kind.HEADER, after=after)
            headers[header.name] = value
            secrets.append(value)
        return Sent(headers=headers, secrets=tuple(secrets), number=self._reads)

    async def _token(self, auth: Auth, *, after: int, refused: Sent | None) -> str | None:
        """The bearer token, or None if the endpoint needs none."""
        if auth.oauth2 is not None:
            old = refused.headers.get("Authorization", "") if refused is not None else ""
            return await self._access_token(
                auth.oauth2, after=after, refused=old.removeprefix("Bearer ")
            )
        if auth.secret_name:
            keys = (auth.secret_key,)
            (value,) = await self._values(auth.secret_name, keys, _Kind.TOKEN, after=after)
            return value
        if auth.service_account_token:
            try:
                async with asyncio.timeout(FILE_SECONDS):
                    return await asyncio.to_thread(self._own_token)
            except TimeoutError as error:
                msg = f"the pod's own token {self.token_file} could not be read within {FILE_SECONDS:g} s"
                raise AgentError(msg, reason=Reason.TOKEN_UNAVAILABLE) from error
        return None

    async def _access_token(self, oauth2: OAuth2, *, after: int, refused: str) -> str:
        """A token that the token server issued. If it refuses the client, the Secret is read again."""
        trust = await self.trust(Auth(ca=oauth2.ca_config_map_ref))

        async def ask(client: Client) -> bytes:
            return await self.ask(client, trust)

        client = await self._client(oauth2, after=after)
        try:
            try:
                return await self._tokens.get(oauth2, client, ask=ask, refused=refused)
            except TokenError as error:
                if not error.client_refused:
                    raise
                renewed = await self._client(oauth2, after=self._reads)
                if renewed == client:
                    raise
                return await self._tokens.get(oauth2, renewed, ask=ask)
        except TokenError as error:
            msg = f"no access token for the client in Secret {oauth2.client_secret_ref.name!r}: {error}"
            raise AgentError(msg, reason=Reason.TOKEN_UNAVAILABLE) from error

    async def _client(self, oauth2: OAuth2, *, after: int) -> Client:
        ref = oauth2.client_secret_ref
        keys = ref.client_id_key, ref.client_secret_key
        name, secret = await self._values(ref.name, keys, _Kind.TEXT, after=after)
        return Client.of(oauth2, name=name, secret=secret)

    async def _values(self, name: str, keys: Values, kind: _Kind, *, after: int) -> Values:
        """Values of keys of a Secret."""
        where = _where(name, *keys)
        data = await self._data(
            "Secret", name, where=where, reason=Reason.TOKEN_UNAVAILABLE, after=after
        )
        values = []
        for key in keys:
            try:
                values.append(kind.read(data.get(key)))
            except SecretFault as fault:
                msg = f"{_where(name, key)} holds no {kind.value}: it {fault}"
                raise AgentError(msg, reason=Reason.TOKEN_UNAVAILABLE) from None
        return tuple(values)

    async def trust(self, auth: Auth, *, fresh: bool = False) -> ssl.SSLContext | None:
        """A TLS context with private CA and client certificate; None without both. Raises AgentError."""
        if auth.ca is None and auth.certificate is None:
            return None
        after = self._reads if fresh else -1
        text, pair = "", Values()
        if auth.ca is not None:
            text = await self._ca_text(auth.ca, after=after)
        if auth.certificate is not None:
            keys = auth.certificate.certificate_key, auth.certificate.private_key_key
            pair = await self._values(auth.certificate.name, keys, _Kind.PEM, after=after)
        key = auth.ca, auth.certificate
        digest = hashlib.sha256("\0".join((text, *pair)).encode()).hexdigest()
        # Reuse the context of equal texts, because connections are pooled per context.
        kept, context = self._contexts.get(key, ("", None))
        if context is None or kept != digest:
            context = _context(auth.ca, text)
            if auth.certificate is not None:
                self._ends[auth.certificate] = _present(context, auth.certificate, pair)
            self._contexts[key] = digest, context
        return context

    def expired(self, auth: Auth) -> str:
        """Says that the client certificate is expired; empty if it is not, or not known."""
        end = (
            self._ends.get(auth.certificate, math.inf) if auth.certificate is not None else math.inf
        )
        if auth.certificate is None or self.wall() < end:
            return ""
        when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(end))
        return f"the client certificate in Secret {auth.certificate.name!r} expired on {when}"

    async def _ca_text(self, ref: ConfigMapRef, *, after: int) -> str:
        where = f"key {ref.key!r} of ConfigMap {ref.name!r}"
        data = await self._data(
            "ConfigMap", ref.name, where=where, reason=Reason.CA_UNAVAILABLE, after=after
        )
        text = data.get(ref.key)
        if not isinstance(text, str) or not text.strip():
            raise AgentError(f"{where} is empty or missing", reason=Reason.CA_UNAVAILABLE)
        return text

    async def _data(
        self, kind: str, name: str, *, where: str, reason: Reason, after: int
    ) -> Mapping[str, Any]:
        """The data of an object, read after this number of reads; the old data while the API server does not
        answer, so that its restart does not stop scorers. Raises AgentError.
        """
        key = kind, name
        async with self._locks.setdefault(key, asyncio.Lock()):
            kept = self._kept.get(key)
            if kept is not None and kept.number >= after and kept.until > clock.monotonic():
                return kept.data
            number, self._reads = self._reads, self._reads + 1
            try:
                data = (await self.read(kind, name)).get("data")
            except AgentError as error:
                if kept is None or kept.number < after or error.reason in _GONE:
                    raise AgentError(f"{where} cannot be read: {error}", reason=reason) from error
                if not kept.stale:
                    text = "%s cannot be read: %s; the old value is used"
                    log.warning(text, where, error, extra={"reason": reason.value})
                kept.stale, kept.until = True, clock.monotonic() + STALE_SECONDS
                return kept.data
            self._kept[key] = kept = _Kept(
                data=data if isinstance(data, dict) else {},
                number=number,
                until=clock.monotonic() + KEEP_SECONDS,
            )
            return kept.data

    def _own_token(self) -> str:
        try:
            return header_secret(self.token_file.read_bytes())
        except OSError as error:
            msg = f"the pod's own token {self.token_file} cannot be read: {type(error).__name__}"
            raise AgentError(msg, reason=Reason.TOKEN_UNAVAILABLE) from error
        except SecretFault as fault:
            msg = f"the pod's own token {self.token_file} {fault}"
            raise AgentError(msg, reason=Reason.TOKEN_UNAVAILABLE) from None


def _where(name: str, *keys: str) -> str:
    which = " and ".join(map(repr, keys))
    return f"{'key' if len(keys) == 1 else 'keys'} {which} of Secret {name!r}"


def _context(ref: ConfigMapRef | None, text: str) -> ssl.SSLContext:
    if ref is None:
        return httpx.create_ssl_context()
    try:
        return ssl.create_default_context(cadata=text)
    except (ssl.SSLError, ValueError) as error:
        msg = f"key {ref.key!r} of ConfigMap {ref.name!r} holds no PEM certificate"
        raise AgentError(msg, reason=Reason.CA_UNAVAILABLE) from error


def _present(context: ssl.SSLContext, certificate: ClientCertificate, pair: Values) -> float:
    """Makes the context show a client certificate, and returns when it expires. OpenSSL reads it from files
    only, so the pair is in the temporary directory for a moment, readable by this user alone.
    """
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "pair.pem")
            path.touch(mode=0o600)
            path.write_text("\n".join(pair))
            # Without a password OpenSSL would ask for one on the terminal.
            context.load_cert_chain(path, password="")
            return _end(path)
    except (ssl.SSLError, ValueError) as error:
        raise AgentError(
            _pair_fault(certificate, pair, error), reason=Reason.TOKEN_UNAVAILABLE
        ) from error
    except OSError as error:
        msg = f"the temporary directory cannot be written: {error.strerror}"
        raise AgentError(msg, reason=Reason.TOKEN_UNAVAILABLE) from error


def _end(path: Path) -> float:
    """When the certificate in a file expires; infinity if that is not known."""
    try:
        # The name is private, and nothing public reads a certificate. Without it messages say less.
        decoded = ssl._ssl._test_decode_cert(str(path))  # type: ignore[attr-defined]  # noqa: SLF001
        return float(ssl.cert_time_to_seconds(decoded["notAfter"]))
    except (AttributeError, KeyError, ValueError, OSError):
        return math.inf


def _pair_fault(certificate: ClientCertificate, pair: Values, error: Exception) -> str:
    """Why a certificate and its private key cannot be used."""
    crt, key = certificate.certificate_key, certificate.private_key_key
    if getattr(error, "reason", None) == "KEY_VALUES_MISMATCH":
        where = _where(certificate.name, crt, key)
        return f"{where} do not belong together: the private key is that of another certificate"
    try:
        ssl.create_default_context(cadata=pair[0])
    except (ssl.SSLError, ValueError):
        return f"{_where(certificate.name, crt)} holds no PEM certificate"
    if "ENCRYPTED" in pair[1]:
        return f"{_where(certificate.name, key)} is a private key with a password; write it without one"
    return f"{_where(certificate.name, key)} holds no PEM private key"
