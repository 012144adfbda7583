"""Credentials and CAs of endpoints, from Secrets and ConfigMaps of the agent's namespace.

They are read by name, kept for a minute, and read again on demand. Messages name the Secret and the key, but
never contain their values.
"""

import asyncio
import base64
import binascii
import hashlib
import logging
import ssl
import tempfile
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeVar
from urllib.parse import quote

import httpx

from dsf_agent.endpoints.apiserver import ApiServer
from dsf_agent.errors import CallError, PublishError, Reason
from dsf_runtime.clock import Clock
from dsf_wire.headers import value_fault
from dsf_wire.summary import BasicAuth, ClientCertificate, ConfigMapRef, Header, Summary

log = logging.getLogger(__name__)

KEEP_SECONDS: Final = 60.0
"""A Secret is read again after this time, so that a new token is used even if the old one still works."""
STALE_SECONDS: Final = 10.0
"""Pause between two attempts to read a Secret while the API server does not answer. The old value is used
meanwhile.
"""
FILE_SECONDS: Final = 5.0
"""Time limit for reading the token file. After it the cycle of the scorer fails."""
_GONE: Final = frozenset({Reason.NOT_FOUND, Reason.FORBIDDEN})
"""Answers that mean that the object or the right to read it was removed. Other failures say nothing about the
object.
"""


@dataclass(frozen=True, kw_only=True)
class Auth:
    """What one endpoint needs, all optional: a token from a Secret, the pod's own token, or a user name and
    password; further headers; a client certificate; and a private CA.
    """

    secret_name: str = ""
    secret_key: str = ""
    service_account_token: bool = False
    ca: ConfigMapRef | None = None
    basic: BasicAuth | None = None
    headers: tuple[Header, ...] = ()
    certificate: ClientCertificate | None = None


@dataclass(frozen=True, kw_only=True)
class Sent:
    """What is added to each request, and the secrets in it, which messages must not contain."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)


def source_auth(scorer: Summary) -> Auth:
    extra = scorer.source_auth
    return Auth(
        secret_name=scorer.source_endpoint_auth_name,
        secret_key=scorer.source_endpoint_auth_key,
        service_account_token=extra is not None and extra.service_account_token,
        ca=extra.ca_config_map_ref if extra is not None else None,
        basic=scorer.source_basic_auth,
        headers=scorer.source_headers or (),
        certificate=scorer.source_client_certificate,
    )


def scoring_auth(scorer: Summary) -> Auth:
    extra = scorer.scoring_auth
    return Auth(
        secret_name=scorer.scoring_endpoint_auth_name,
        secret_key=scorer.scoring_endpoint_auth_key,
        service_account_token=extra is not None and extra.service_account_token,
        ca=extra.ca_config_map_ref if extra is not None else None,
    )


class SecretReader(Protocol):
    """Reads Secrets and ConfigMaps by name. Raises PublishError."""

    async def secret(self, name: str) -> dict[str, Any]: ...

    async def config_map(self, name: str) -> dict[str, Any]: ...


class SpokeSecretReader:
    """Reads from the managed cluster's API server, in one namespace. It needs only the right ``get``."""

    def __init__(self, *, server: ApiServer, namespace: str) -> None:
        self._server = server
        self._base = f"/api/v1/namespaces/{quote(namespace, safe='')}"

    async def secret(self, name: str) -> dict[str, Any]:
        return (await self._server.call("GET", f"{self._base}/secrets/{quote(name, safe='')}")).object

    async def config_map(self, name: str) -> dict[str, Any]:
        return (await self._server.call("GET", f"{self._base}/configmaps/{quote(name, safe='')}")).object


class NoSecretReader:
    """For a process that has no access to the managed cluster's API, for instance on a laptop."""

    async def secret(self, name: str) -> dict[str, Any]:
        msg = (
            f"Secret {name!r} is needed, but there is no access to the managed cluster's API; give"
            " --spoke-kubeconfig"
        )
        raise PublishError(msg, reason=Reason.TOKEN_UNAVAILABLE)

    async def config_map(self, name: str) -> dict[str, Any]:
        msg = (
            f"ConfigMap {name!r} is needed, but there is no access to the managed cluster's API; give"
            " --spoke-kubeconfig"
        )
        raise PublishError(msg, reason=Reason.CA_UNAVAILABLE)


_T = TypeVar("_T")


@dataclass(kw_only=True)
class _Kept(Generic[_T]):
    value: _T
    until: float
    stale: bool = False


class _NotReadError(CallError):
    """The API server gave no answer about the object, which may exist."""


Values = tuple[str, ...]
"""Values of keys of one Secret."""


class _Kind(Enum):
    """What a key of a Secret holds. The value is the word for it in messages."""

    TOKEN = "token"  # noqa: S105 - a word of messages, not a token
    HEADER = "value of a header"
    TEXT = "text"
    PEM = "PEM text"

    def read(self, encoded: object) -> str:
        """The value as it is used; empty if it cannot be."""
        if not isinstance(encoded, str):
            return ""
        try:
            text = base64.b64decode(encoded, validate=True).decode()
        except (binascii.Error, ValueError):
            return ""
        if self is _Kind.PEM:
            return text
        text = text.strip() if self is _Kind.TOKEN else text.rstrip("\r\n")
        if self is _Kind.TEXT:
            return text if text.isprintable() else ""
        return "" if value_fault(text) else text


class Credentials:
    """Reads and caches what endpoints need. A Secret is read once for all scorers that name it."""

    def __init__(self, *, reader: SecretReader, clock: Clock, token_file: Path) -> None:
        self._reader = reader
        self._clock = clock
        self._token_file = token_file
        self._secrets: dict[tuple[str, Values, _Kind], _Kept[Values]] = {}
        self._contexts: dict[
            tuple[ConfigMapRef | None, ClientCertificate | None], _Kept[tuple[str, ssl.SSLContext]]
        ] = {}
        self._locks: dict[object, asyncio.Lock] = {}

    async def sent(self, auth: Auth, *, refused: Sent | None = None) -> Sent:
        """What is added to each request. ``refused`` got 401: its secrets are not taken from the cache.

        Raises CallError with TOKEN_UNAVAILABLE.
        """
        old = refused.secrets if refused is not None else ()
        headers: dict[str, str] = {}
        secrets: list[str] = []
        token = await self._token(auth, refused=old)
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
            secrets.append(token)
        if auth.basic is not None:
            keys = auth.basic.username_key, auth.basic.password_key
            user, password = await self._values(auth.basic.name, keys, _Kind.TEXT, refused=old)
            if ":" in user:
                msg = (
                    f"{_where(auth.basic.name, auth.basic.username_key)} holds a colon, which a user name of"
                )
                raise CallError(f"{msg} basic authentication cannot have", reason=Reason.TOKEN_UNAVAILABLE)
            encoded = base64.b64encode(f"{user}:{password}".encode()).decode()
            headers["Authorization"] = f"Basic {encoded}"
            secrets += [password, encoded]
        for header in auth.headers:
            if header.secret_ref is None:
                headers[header.name] = header.value or ""
                continue
            ref = header.secret_ref
            (value,) = await self._values(ref.name, (ref.key,), _Kind.HEADER, refused=old)
            headers[header.name] = value
            secrets.append(value)
        return Sent(headers=headers, secrets=tuple(secrets))

    async def _token(self, auth: Auth, *, refused: Values) -> str | None:
        """The bearer token, or None if the endpoint needs none."""
        if auth.secret_name:
            keys = (auth.secret_key,)
            (value,) = await self._values(auth.secret_name, keys, _Kind.TOKEN, refused=refused)
            return value
        if auth.service_account_token:
            try:
                async with asyncio.timeout(FILE_SECONDS):
                    return await asyncio.to_thread(self._own_token)
            except TimeoutError as error:
                msg = f"the pod's own token {self._token_file} could not be read within {FILE_SECONDS:g} s"
                raise CallError(msg, reason=Reason.TOKEN_UNAVAILABLE) from error
        return None

    async def _values(self, name: str, keys: Values, kind: _Kind, *, refused: Values) -> Values:
        """Values of keys of a Secret. It is read again if one of the kept values was refused."""
        key = (name, keys, kind)
        async with self._locks.setdefault(key, asyncio.Lock()):
            kept = self._secrets.get(key)
            if kept is not None and not set(refused).isdisjoint(kept.value):
                kept = None
            if kept is not None and kept.until > self._clock.monotonic():
                return kept.value
            try:
                values = await self._secret_values(name, keys, kind)
            except _NotReadError as error:
                if kept is None:
                    raise
                self._keep(kept, error)
                return kept.value
            self._secrets[key] = _Kept(value=values, until=self._clock.monotonic() + KEEP_SECONDS)
            return values

    async def trust(self, auth: Auth, *, fresh: bool = False) -> ssl.SSLContext | None:
        """A TLS context with the private CA and the client certificate; None for the system's CAs without a
        certificate. Raises CallError with CA_UNAVAILABLE or TOKEN_UNAVAILABLE.
        """
        if auth.ca is None and auth.certificate is None:
            return None
        key = auth.ca, auth.certificate
        async with self._locks.setdefault(key, asyncio.Lock()):
            kept = self._contexts.get(key)
            if kept is not None and not fresh and kept.until > self._clock.monotonic():
                return kept.value[1]
            try:
                text = await self._ca_text(auth.ca) if auth.ca is not None else ""
                pair = await self._pair(auth.certificate) if auth.certificate is not None else ()
            except _NotReadError as error:
                if kept is None:
                    raise
                self._keep(kept, error)
                return kept.value[1]
            digest = hashlib.sha256("\0".join((text, *pair)).encode()).hexdigest()
            # Reuse the context of equal texts, because connections are pooled per context.
            if kept is not None and kept.value[0] == digest:
                context = kept.value[1]
            else:
                context = _context(auth.ca, text)
                if auth.certificate is not None:
                    _present(context, auth.certificate, pair)
            self._contexts[key] = _Kept(value=(digest, context), until=self._clock.monotonic() + KEEP_SECONDS)
            return context

    def _keep(self, kept: _Kept[Any], error: _NotReadError) -> None:
        """Keeps using the old value, so that a restart of the API server does not stop scorers."""
        if not kept.stale:
            log.warning("%s; the old value is used", error, extra={"reason": error.reason.value})
        kept.stale = True
        kept.until = self._clock.monotonic() + STALE_SECONDS

    async def _secret_values(self, name: str, keys: Values, kind: _Kind) -> Values:
        where = _where(name, *keys)
        data = await _data(self._reader.secret(name), where=where, reason=Reason.TOKEN_UNAVAILABLE)
        values = tuple(kind.read(data.get(key)) for key in keys)
        for key, value in zip(keys, values, strict=True):
            if not value:
                msg = f"{_where(name, key)} holds no {kind.value}"
                raise CallError(msg, reason=Reason.TOKEN_UNAVAILABLE)
        return values

    async def _pair(self, certificate: ClientCertificate) -> Values:
        keys = certificate.certificate_key, certificate.private_key_key
        return await self._secret_values(certificate.name, keys, _Kind.PEM)

    def _own_token(self) -> str:
        try:
            token = self._token_file.read_text("ascii").strip()
        except (OSError, ValueError) as error:
            msg = f"the pod's own token {self._token_file} cannot be read: {type(error).__name__}"
            raise CallError(msg, reason=Reason.TOKEN_UNAVAILABLE) from error
        if not token or not token.isprintable():
            msg = f"the pod's own token {self._token_file} is empty"
            raise CallError(msg, reason=Reason.TOKEN_UNAVAILABLE)
        return token

    async def _ca_text(self, ref: ConfigMapRef) -> str:
        where = f"key {ref.key!r} of ConfigMap {ref.name!r}"
        read = self._reader.config_map(ref.name)
        text = (await _data(read, where=where, reason=Reason.CA_UNAVAILABLE)).get(ref.key)
        if not isinstance(text, str) or not text.strip():
            msg = f"{where} is empty or missing"
            raise CallError(msg, reason=Reason.CA_UNAVAILABLE)
        return text


def _where(name: str, *keys: str) -> str:
    which = " and ".join(map(repr, keys))
    return f"{'key' if len(keys) == 1 else 'keys'} {which} of Secret {name!r}"


async def _data(read: Awaitable[dict[str, Any]], *, where: str, reason: Reason) -> dict[str, Any]:
    """The data of the object that `read` returns; empty if it has none.

    Raises CallError when the object or the right to read it is gone, _NotReadError when the API server does
    not say.
    """
    try:
        found = await read
    except PublishError as error:
        msg = f"{where} cannot be read: {error}"
        kind = CallError if error.reason in _GONE else _NotReadError
        raise kind(msg, reason=reason) from error
    data = found.get("data")
    return data if isinstance(data, dict) else {}


def _context(ref: ConfigMapRef | None, text: str) -> ssl.SSLContext:
    if ref is None:
        return httpx.create_ssl_context()
    try:
        return ssl.create_default_context(cadata=text)
    except (ssl.SSLError, ValueError) as error:
        msg = f"key {ref.key!r} of ConfigMap {ref.name!r} holds no PEM certificate"
        raise CallError(msg, reason=Reason.CA_UNAVAILABLE) from error


def _present(context: ssl.SSLContext, certificate: ClientCertificate, pair: Values) -> None:
    """Makes the context show a client certificate. OpenSSL reads it from files only, so the pair is in the
    temporary directory for a moment, readable by this user alone.
    """
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "pair.pem")
            path.touch(mode=0o600)
            path.write_text("\n".join(pair))
            # Without a password OpenSSL would ask for one on the terminal.
            context.load_cert_chain(path, password="")
    except (ssl.SSLError, ValueError) as error:
        where = _where(certificate.name, certificate.certificate_key, certificate.private_key_key)
        msg = f"{where} are not a PEM certificate and its private key without a password"
        raise CallError(msg, reason=Reason.TOKEN_UNAVAILABLE) from error
    except OSError as error:
        msg = f"the temporary directory cannot be written: {error.strerror}"
        raise CallError(msg, reason=Reason.TOKEN_UNAVAILABLE) from error
