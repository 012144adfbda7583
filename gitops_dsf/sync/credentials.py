"""Credentials and private CAs for the pages of a scoring API, from the files of Secrets.

They are those that scoring.auth of its scorer names. The files are read for each use, so a rotated
Secret takes effect at once. No message holds a secret.
"""

import asyncio
import hashlib
import ssl
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import httpx

from dsf_runtime.oauth2 import AccessTokens, OAuth2Client, TokenError
from dsf_wire.secrettext import SecretFault, certificates, header_secret, line_secret
from gitops_dsf.hub.scorers import Auth, CertificateSecret, KeyRef, OAuth2
from gitops_dsf.sync.requests import PageRequest

MAX_FILE_BYTES: Final = 1024 * 1024
"""The most that a Secret holds: MaxSecretSize of Kubernetes (pkg/apis/core/types.go)."""

AskTokenServer = Callable[[OAuth2Client, ssl.SSLContext | None], Awaitable[bytes]]
"""Sends the request of a client, and returns the body of a good answer. Raises TokenError."""


@dataclass(frozen=True, kw_only=True)
class Shown:
    """The credentials that a request shows to the server, and the servers that it trusts."""

    token: str = field(default="", repr=False)
    trust: ssl.SSLContext | None = None
    """The TLS settings with the client certificate and the private CA; None for the system's CAs
    alone.
    """
    problem: str = ""
    """The missing credential, and the place to give it."""
    lacks_tls: bool = False
    """Whether the client certificate or the CA that is named is missing."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of the request."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


class _Trust(NamedTuple):
    """The security of a connection."""

    context: ssl.SSLContext | None
    """None for the system's CAs alone."""
    missing: list[str]
    """The parts that are missing for it, in words."""


class _KeptContext(NamedTuple):
    digest: str
    """The digest of the files that the context was made from."""
    context: ssl.SSLContext


class _MissingError(Exception):
    """A credential is not there. The message says what to give."""


class PageCredentials:
    """Reads Secrets and ConfigMaps below one folder."""

    def __init__(self, *, folder: Path | None, tokens: AccessTokens, ask: AskTokenServer) -> None:
        """`folder` has the files `<name>/<key>`; None if none was given."""
        self._folder = folder
        self._tokens = tokens
        self._ask = ask
        self._contexts: dict[tuple[KeyRef | None, CertificateSecret | None], _KeptContext] = {}

    def keep_only(self, auths: Collection[Auth]) -> None:
        """Forgets what none of these needs: Secrets of removed scorers must not stay in memory."""
        contexts = set()
        clients = set()
        for auth in auths:
            contexts.add((auth.ca_config_map_ref, auth.client_certificate_secret_ref))
            if auth.oauth2 is not None:
                # The token server is not shown the client certificate, which is for the scoring
                # API.
                contexts.add((auth.oauth2.ca_config_map_ref, None))
                clients.add(auth.oauth2)
        for key in self._contexts.keys() - contexts:
            del self._contexts[key]
        self._tokens.keep_only(clients)

    async def shown(self, request: PageRequest, *, refused: str = "") -> Shown:
        """The credentials to show for a page. `refused` is a token that got 401.

        A missing one is left out, and no reason not to ask: the page may be public.
        """
        auth = request.auth
        if auth is None:
            return Shown(problem=request.problem)
        token = ""
        problems = [] if auth.secrets else [request.problem]
        try:
            token = await self._token(auth, refused=refused)
        except (_MissingError, TokenError) as error:
            problems.append(str(error))
        # Files are read in a thread: the reconciler has one loop for all its controllers.
        trust = await asyncio.to_thread(
            self._trust, auth.ca_config_map_ref, auth.client_certificate_secret_ref
        )
        return Shown(
            token=token,
            trust=trust.context,
            problem="; ".join([*problems, *trust.missing]),
            lacks_tls=bool(trust.missing),
        )

    async def _token(self, auth: Auth, *, refused: str) -> str:
        """The token, from its Secret or from the token server; empty if none is named."""
        if auth.oauth2 is None:
            ref = auth.token_secret_ref
            if ref is None:
                return ""
            return await asyncio.to_thread(self._text, ref.name, ref.key, header_secret)
        client = await asyncio.to_thread(self._client, auth.oauth2)
        trust = await asyncio.to_thread(self._trust, auth.oauth2.ca_config_map_ref, None)

        async def ask(client: OAuth2Client) -> bytes:
            try:
                return await self._ask(client, trust.context)
            except TokenError as error:
                # A CA that is missing is often the reason, and not seen in the error.
                if not trust.missing:
                    raise
                message = "; ".join([str(error), *trust.missing])
                raise TokenError(message, retry_after=error.retry_after) from None

        return await self._tokens.get(auth.oauth2, client, ask=ask, refused=refused)

    def _client(self, oauth2: OAuth2) -> OAuth2Client:
        ref = oauth2.client_secret_ref
        if ref is None:
            raise _MissingError("oauth2 names no clientSecretRef")
        name = self._text(ref.name, ref.client_id_key, line_secret)
        secret = self._text(ref.name, ref.client_secret_key, line_secret)
        return OAuth2Client.of(oauth2, name=name, secret=secret)

    def _text(self, name: str, key: str, read: Callable[[bytes], str]) -> str:
        try:
            return read(self._bytes(name, key))
        except SecretFault as fault:
            raise _MissingError(f"key {key!r} of Secret {name!r} {fault}") from None

    def _trust(self, ca: KeyRef | None, certificate: CertificateSecret | None) -> _Trust:
        """The security of a connection. The context is the same while the files are."""
        missing: list[str] = []
        authorities = b""
        pair: list[bytes] = []
        if ca is not None:
            try:
                authorities = self._bytes(ca.name, ca.key, kind="ConfigMap")
            except _MissingError as error:
                ca = None
                missing.append(str(error))
        if certificate is not None:
            try:
                pair.append(self._bytes(certificate.name, certificate.certificate_key))
                pair.append(self._bytes(certificate.name, certificate.private_key_key))
            except _MissingError as error:
                certificate = None
                missing.append(str(error))
        if ca is None and certificate is None:
            return _Trust(None, missing)
        # A rotated Secret has other bytes under the same name.
        digest = hashlib.sha256(b"\0".join([authorities, *pair])).hexdigest()
        kept = self._contexts.get((ca, certificate))
        if kept is not None and kept.digest == digest:
            return _Trust(kept.context, missing)
        # The private CA is trusted beside those of the system (docs/scores/locks.md).
        context = httpx.create_ssl_context()
        if ca is not None:
            try:
                context.load_verify_locations(cadata=certificates(authorities))
            except (ssl.SSLError, ValueError):
                missing.append(f"key {ca.key!r} of ConfigMap {ca.name!r} holds no PEM certificate")
        if certificate is not None and not self._is_loaded(context, certificate):
            missing.append(
                f"Secret {certificate.name!r} holds no certificate with its private key, in PEM"
            )
        # A context that lacks a part is made again, because the part may be given meanwhile.
        if not missing:
            self._contexts[ca, certificate] = _KeptContext(digest, context)
        return _Trust(context, missing)

    def _is_loaded(self, context: ssl.SSLContext, ref: CertificateSecret) -> bool:
        """Makes the context show a client certificate. False if the files hold none."""
        try:
            # Without a password OpenSSL would ask for one on the terminal.
            context.load_cert_chain(
                self._path(ref.name, ref.certificate_key),
                self._path(ref.name, ref.private_key_key),
                password="",
            )
        except (ssl.SSLError, ValueError, OSError):
            return False
        return True

    def _bytes(self, name: str, key: str, *, kind: str = "Secret") -> bytes:
        """The content of a key. Raises _MissingError."""
        try:
            with self._path(name, key, kind=kind).open("rb") as file:
                content = file.read(MAX_FILE_BYTES + 1)
        except OSError as error:
            raise _MissingError(
                f"key {key!r} of {kind} {name!r} is needed and cannot be read ({error.strerror});"
                " give it to gitops-dsf sync with --credentials, to the reconciler with"
                " spec.reconciler.configCredentials"
            ) from error
        if len(content) > MAX_FILE_BYTES:
            raise _MissingError(
                f"key {key!r} of {kind} {name!r} has more than {MAX_FILE_BYTES} bytes"
            )
        return content

    def _path(self, name: str, key: str, *, kind: str = "Secret") -> Path:
        """The file of a key. Raises _MissingError."""
        if self._folder is None:
            raise _MissingError(
                f"key {key!r} of {kind} {name!r} is needed; give it to gitops-dsf sync with"
                " --credentials, to the reconciler with spec.reconciler.configCredentials"
            )
        # A DynamicScorer of the hub may name anything, and must not read files beside the folder.
        for part in (name, key):
            if part in {"", ".", ".."} or "/" in part or "\0" in part:
                raise _MissingError(f"scoring.auth names a {kind} or key that cannot be a file")
        return self._folder / name / key
