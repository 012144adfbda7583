"""Tokens and CAs of endpoints, from Secrets and ConfigMaps of the agent's namespace.

They are read by name, kept for a minute, and read again on demand. Messages name the Secret and the key, but
never contain their values.
"""

import asyncio
import base64
import binascii
import hashlib
import logging
import ssl
from collections.abc import Awaitable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeVar
from urllib.parse import quote

from dsf_agent.endpoints.apiserver import ApiServer
from dsf_agent.errors import CallError, PublishError, Reason
from dsf_runtime.clock import Clock
from dsf_wire.summary import ConfigMapRef, Summary

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
    """What one endpoint needs, all optional: a token from a Secret or the pod's own token, and a
    private CA.
    """

    secret_name: str = ""
    secret_key: str = ""
    service_account_token: bool = False
    ca: ConfigMapRef | None = None


def source_auth(scorer: Summary) -> Auth:
    extra = scorer.source_auth
    return Auth(
        secret_name=scorer.source_endpoint_auth_name,
        secret_key=scorer.source_endpoint_auth_key,
        service_account_token=extra is not None and extra.service_account_token,
        ca=extra.ca_config_map_ref if extra is not None else None,
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


class Credentials:
    """Reads and caches tokens and CAs. A Secret is read once for all scorers that name it."""

    def __init__(self, *, reader: SecretReader, clock: Clock, token_file: Path) -> None:
        self._reader = reader
        self._clock = clock
        self._token_file = token_file
        self._tokens: dict[tuple[str, str], _Kept[str]] = {}
        self._cas: dict[ConfigMapRef, _Kept[tuple[str, ssl.SSLContext]]] = {}
        self._locks: dict[object, asyncio.Lock] = {}

    async def token(self, auth: Auth, *, refused: str | None = None) -> str | None:
        """The bearer token, or None if the endpoint needs none. ``refused`` is a token that got 401: it is
        not taken from the cache.

        Raises CallError with TOKEN_UNAVAILABLE.
        """
        if auth.secret_name:
            key = (auth.secret_name, auth.secret_key)
            async with self._locks.setdefault(key, asyncio.Lock()):
                kept = self._tokens.get(key)
                if kept is not None and kept.value != refused and kept.until > self._clock.monotonic():
                    return kept.value
                try:
                    value = await self._secret_token(auth)
                except _NotReadError as error:
                    if kept is None or kept.value == refused:
                        raise
                    self._keep(kept, error)
                    return kept.value
                self._tokens[key] = _Kept(value=value, until=self._clock.monotonic() + KEEP_SECONDS)
                return value
        if auth.service_account_token:
            try:
                async with asyncio.timeout(FILE_SECONDS):
                    return await asyncio.to_thread(self._own_token)
            except TimeoutError as error:
                msg = f"the pod's own token {self._token_file} could not be read within {FILE_SECONDS:g} s"
                raise CallError(msg, reason=Reason.TOKEN_UNAVAILABLE) from error
        return None

    async def trust(self, auth: Auth, *, fresh: bool = False) -> ssl.SSLContext | None:
        """A TLS context that trusts the private CA, or None for the system's CAs. Raises CallError with
        CA_UNAVAILABLE.
        """
        ref = auth.ca
        if ref is None:
            return None
        async with self._locks.setdefault(ref, asyncio.Lock()):
            kept = self._cas.get(ref)
            if kept is not None and not fresh and kept.until > self._clock.monotonic():
                return kept.value[1]
            try:
                text = await self._ca_text(ref)
            except _NotReadError as error:
                if kept is None:
                    raise
                self._keep(kept, error)
                return kept.value[1]
            digest = hashlib.sha256(text.encode()).hexdigest()
            # Reuse the context of an equal text, because connections are pooled per context.
            context = kept.value[1] if kept is not None and kept.value[0] == digest else _context(ref, text)
            self._cas[ref] = _Kept(value=(digest, context), until=self._clock.monotonic() + KEEP_SECONDS)
            return context

    def _keep(self, kept: _Kept[Any], error: _NotReadError) -> None:
        """Keeps using the old value, so that a restart of the API server does not stop scorers."""
        if not kept.stale:
            log.warning("%s; the old value is used", error, extra={"reason": error.reason.value})
        kept.stale = True
        kept.until = self._clock.monotonic() + STALE_SECONDS

    async def _secret_token(self, auth: Auth) -> str:
        where = f"key {auth.secret_key!r} of Secret {auth.secret_name!r}"
        read = self._reader.secret(auth.secret_name)
        encoded = await _value(read, auth.secret_key, where=where, reason=Reason.TOKEN_UNAVAILABLE)
        try:
            token = base64.b64decode(encoded, validate=True).decode("ascii").strip()
        except (binascii.Error, ValueError, TypeError):
            token = ""
        if not token or not token.isprintable():
            msg = f"{where} holds no token"
            raise CallError(msg, reason=Reason.TOKEN_UNAVAILABLE)
        return token

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
        text = await _value(read, ref.key, where=where, reason=Reason.CA_UNAVAILABLE)
        if not isinstance(text, str) or not text.strip():
            msg = f"{where} is empty or missing"
            raise CallError(msg, reason=Reason.CA_UNAVAILABLE)
        return text


async def _value(read: Awaitable[dict[str, Any]], key: str, *, where: str, reason: Reason) -> Any:  # noqa: ANN401 - JSON
    """The value of a key of the object that `read` returns; None without it.

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
    return data.get(key) if isinstance(data, dict) else None


def _context(ref: ConfigMapRef, text: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cadata=text)
    except (ssl.SSLError, ValueError) as error:
        msg = f"key {ref.key!r} of ConfigMap {ref.name!r} holds no PEM certificate"
        raise CallError(msg, reason=Reason.CA_UNAVAILABLE) from error
