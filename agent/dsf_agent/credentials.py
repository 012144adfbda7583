"""Tokens and CAs of endpoints: Secrets and ConfigMaps of the agent's namespace, read by name, kept for a
minute, re-read on demand.

Nothing here is ever part of a message: errors name the Secret and the key, not what they hold.
"""

import asyncio
import base64
import binascii
import hashlib
import logging
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from dsf_agent.errors import CallError, PublishError
from dsf_agent.reasons import Reason
from dsf_agent.vault import Vault
from dsf_runtime.clock import Clock
from dsf_wire.summary import ConfigMapRef, Summary

log = logging.getLogger(__name__)

KEEP_SECONDS: Final = 60.0
"""A Secret is read again after this time, so that a replaced token is used even if the old one still works.
"""
STALE_SECONDS: Final = 10.0
"""Pause between two attempts to read it while the API server is away; what was read before is used meanwhile.
"""
FILE_SECONDS: Final = 5.0
"""A file that hangs longer is a failure of the scorers that need it."""
_GONE: Final = frozenset({Reason.NOT_FOUND, Reason.FORBIDDEN})
"""Answers by which somebody took a Secret away; any other failure says nothing about it."""


@dataclass(frozen=True, kw_only=True)
class Auth:
    """What one endpoint asks for: a token from a Secret or the pod's own, a private CA; all optional."""

    secret_name: str = ""
    secret_key: str = ""
    service_account_token: bool = False
    ca: ConfigMapRef | None = None

    @property
    def has_token(self) -> bool:
        return bool(self.secret_name) or self.service_account_token


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


_T = TypeVar("_T")


@dataclass(kw_only=True)
class _Kept(Generic[_T]):
    value: _T
    until: float
    stale: bool = False


class _AwayError(CallError):
    """The API server could not be asked; the object may well be there."""


class Credentials:
    """Reads and keeps what endpoints ask for. One Secret is read once for all scorers that name it."""

    def __init__(self, *, vault: Vault, clock: Clock, token_file: Path) -> None:
        self._vault = vault
        self._clock = clock
        self._token_file = token_file
        self._tokens: dict[tuple[str, str], _Kept[str]] = {}
        self._cas: dict[ConfigMapRef, _Kept[tuple[str, ssl.SSLContext]]] = {}
        self._locks: dict[object, asyncio.Lock] = {}

    async def token(self, auth: Auth, *, refused: str | None = None) -> str | None:
        """The bearer token, or None when the endpoint asks for none. ``refused`` is a token that got 401:
        never from memory.

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
                except _AwayError as error:
                    if kept is None or kept.value == refused:
                        raise
                    self._go_on(kept, error)
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
        """The private CA as a TLS context, or None for the system's CAs. Raises CallError with
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
            except _AwayError as error:
                if kept is None:
                    raise
                self._go_on(kept, error)
                return kept.value[1]
            digest = hashlib.sha256(text.encode()).hexdigest()
            # The same context for the same text: connections are pooled per context.
            context = kept.value[1] if kept is not None and kept.value[0] == digest else _context(ref, text)
            self._cas[ref] = _Kept(value=(digest, context), until=self._clock.monotonic() + KEEP_SECONDS)
            return context

    def _go_on(self, kept: _Kept[Any], error: _AwayError) -> None:
        """An API server that restarts must not stop the scorers whose peers are well."""
        if not kept.stale:
            log.warning("%s; what was read before is used", error, extra={"reason": error.reason.value})
        kept.stale = True
        kept.until = self._clock.monotonic() + STALE_SECONDS

    async def _secret_token(self, auth: Auth) -> str:
        where = f"key {auth.secret_key!r} of Secret {auth.secret_name!r}"
        try:
            found = await self._vault.secret(auth.secret_name)
        except PublishError as error:
            msg = f"{where} cannot be read: {error}"
            kind = CallError if error.reason in _GONE else _AwayError
            raise kind(msg, reason=Reason.TOKEN_UNAVAILABLE) from error
        data = found.get("data")
        encoded = data.get(auth.secret_key) if isinstance(data, dict) else None
        try:
            token = base64.b64decode(encoded or "", validate=True).decode("ascii").strip()
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
        try:
            found = await self._vault.config_map(ref.name)
        except PublishError as error:
            msg = f"{where} cannot be read: {error}"
            kind = CallError if error.reason in _GONE else _AwayError
            raise kind(msg, reason=Reason.CA_UNAVAILABLE) from error
        data = found.get("data")
        text = data.get(ref.key) if isinstance(data, dict) else None
        if not isinstance(text, str) or not text.strip():
            msg = f"{where} is empty or missing"
            raise CallError(msg, reason=Reason.CA_UNAVAILABLE)
        return text


def _context(ref: ConfigMapRef, text: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cadata=text)
    except (ssl.SSLError, ValueError) as error:
        msg = f"key {ref.key!r} of ConfigMap {ref.name!r} holds no PEM certificate"
        raise CallError(msg, reason=Reason.CA_UNAVAILABLE) from error
