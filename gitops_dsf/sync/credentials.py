"""Credentials and private CAs for the pages of a scoring API.

They are those that scoring.auth of its scorer names, from the files of Secrets and ConfigMaps. The
files are read for each use, so a rotated Secret takes effect at once. No message holds a secret.
"""

import asyncio
import hashlib
import ssl
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import httpx
import msgspec

from dsf_runtime.oauth2 import AccessTokens, Client, TokenError
from dsf_wire.secrettext import SecretFault, certificates, header_secret, line_secret
from gitops_dsf.hub.scorers import Auth, CertificateSecret, KeyRef, OAuth2
from gitops_dsf.repository.model import scorer as model
from gitops_dsf.urls.hosts import may_get_credentials
from gitops_dsf.urls.parts import host_of

FILE_BYTES: Final = 1024 * 1024
"""The most that a Secret holds."""
_GIVE: Final = "give it to gitops-dsf sync with --credentials, to the reconciler with spec.reconciler.configCredentials"


AskTokenServer = Callable[[Client, ssl.SSLContext | None], Awaitable[bytes]]
"""Sends the request of a client, and returns the body of a good answer. Raises TokenError."""


class PageRequest(NamedTuple):
    url: str
    auth: Auth | None = None
    """Whose credentials are sent, where they are found, and which CA is trusted."""
    problem: str = "scoring.auth of the scorer names no Secret"
    """Why none are sent, without auth."""


def on_hub(auth: model.Auth | None) -> Auth | None:
    """What people wrote, as the hub has it."""
    return (
        None
        if auth is None
        else msgspec.convert(auth.model_dump(mode="json", exclude_none=True), Auth)
    )


def page_request(
    url: str,
    *,
    auth: Auth | None,
    scoring_url: str,
    allowed: Collection[str],
    title: str = "configURL",
    section: str = "scoring.auth",
) -> PageRequest:
    """The request for a page at configURL.

    Its host gets credentials only if `allowed`, which is spec.allowedTokenHosts, has it, or if it
    is the scoring API's in the cluster. `sync` asks before rules are checked.
    """
    if auth is None:
        return PageRequest(url)
    trusting = (
        Auth(ca_config_map_ref=auth.ca_config_map_ref)
        if auth.ca_config_map_ref is not None
        else None
    )
    if not auth.secrets:
        return PageRequest(url, trusting)
    places = [(title, url)]
    if auth.oauth2 is not None:
        places.append(("tokenURL", auth.oauth2.token_url))
    for name, place in places:
        host = host_of(place)
        own = name == "tokenURL" or host == host_of(scoring_url)
        if not may_get_credentials(host, allowed=allowed, own=own):
            why = f"{name} has a host that may not get the credentials of {section}"
            hint = f"add {host} to spec.allowedTokenHosts in gitops-dsf.yaml"
            return PageRequest(url, trusting, problem=f"{why}; {hint}")
    return PageRequest(url, auth)


@dataclass(frozen=True, kw_only=True)
class Shown:
    token: str = field(default="", repr=False)
    trust: ssl.SSLContext | None = None
    """With the client certificate and the private CA; None for the system's CAs alone."""
    problem: str = ""
    """What is missing, and where to give it."""
    lacks_tls: bool = False
    """Whether the client certificate or the CA that is named is missing."""

    @property
    def headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


class _MissingError(Exception):
    """A credential is not there. The message says what to give."""


class PageCredentials:
    """Reads Secrets and ConfigMaps below one folder."""

    def __init__(self, *, folder: Path | None, tokens: AccessTokens, ask: AskTokenServer) -> None:
        self._folder, self._tokens, self._ask = folder, tokens, ask
        self._contexts: dict[
            tuple[KeyRef | None, CertificateSecret | None], tuple[str, ssl.SSLContext]
        ] = {}

    def keep_only(self, auths: Collection[Auth]) -> None:
        """Forgets what none of these needs: Secrets of removed scorers must not stay in memory."""
        contexts = {(auth.ca_config_map_ref, auth.client_certificate_secret_ref) for auth in auths}
        clients = {auth.oauth2 for auth in auths if auth.oauth2 is not None}
        contexts |= {(oauth2.ca_config_map_ref, None) for oauth2 in clients}
        self._contexts = {
            key: context for key, context in self._contexts.items() if key in contexts
        }
        self._tokens.keep_only(clients)

    async def shown(self, request: PageRequest, *, refused: str = "") -> Shown:
        """`refused` is a token that got 401.

        What is missing is left out: the page may be public.
        """
        auth = request.auth
        if auth is None:
            return Shown(problem=request.problem)
        token, problems = "", [] if auth.secrets else [request.problem]
        try:
            token = await self._token(auth, refused=refused)
        except (_MissingError, TokenError) as error:
            problems.append(str(error))
        ca, certificate = auth.ca_config_map_ref, auth.client_certificate_secret_ref
        trust, missing = await asyncio.to_thread(self._trust, ca, certificate)
        return Shown(
            token=token,
            trust=trust,
            problem="; ".join([*problems, *missing]),
            lacks_tls=bool(missing),
        )

    async def _token(self, auth: Auth, *, refused: str) -> str:
        if auth.oauth2 is None:
            ref = auth.token_secret_ref
            if ref is None:
                return ""
            return await asyncio.to_thread(self._text, ref.name, ref.key, header_secret)
        client = await asyncio.to_thread(self._client, auth.oauth2)
        trust, missing = await asyncio.to_thread(self._trust, auth.oauth2.ca_config_map_ref, None)

        async def ask(client: Client) -> bytes:
            try:
                return await self._ask(client, trust)
            except TokenError as error:
                if not missing:
                    raise
                raise TokenError(
                    "; ".join((str(error), *missing)), retry_after=error.retry_after
                ) from None

        return await self._tokens.get(auth.oauth2, client, ask=ask, refused=refused)

    def _client(self, oauth2: OAuth2) -> Client:
        ref = oauth2.client_secret_ref
        if ref is None:
            raise _MissingError("oauth2 names no clientSecretRef")
        name, secret = (
            self._text(ref.name, key, line_secret)
            for key in (ref.client_id_key, ref.client_secret_key)
        )
        return Client.of(oauth2, name=name, secret=secret)

    def _text(self, name: str, key: str, read: Callable[[bytes], str]) -> str:
        try:
            return read(self._bytes(name, key))
        except SecretFault as fault:
            raise _MissingError(f"key {key!r} of Secret {name!r} {fault}") from None

    def _trust(
        self, ca: KeyRef | None, certificate: CertificateSecret | None
    ) -> tuple[ssl.SSLContext | None, list[str]]:
        """The context, and what is missing; None for the system's CAs alone.

        The same while the files are.
        """
        missing, texts = list[str](), list[bytes]()
        try:
            texts += [] if ca is None else [self._bytes(ca.name, ca.key, kind="ConfigMap")]
        except _MissingError as error:
            ca = None
            missing.append(str(error))
        try:
            if certificate is not None:
                keys = certificate.certificate_key, certificate.private_key_key
                texts += [self._bytes(certificate.name, key) for key in keys]
        except _MissingError as error:
            certificate = None
            missing.append(str(error))
        if ca is None and certificate is None:
            return None, missing
        digest = hashlib.sha256(b"\0".join(texts)).hexdigest()
        known, context = self._contexts.get((ca, certificate), ("", None))
        if context is None or known != digest:
            context = httpx.create_ssl_context()
            if ca is not None:
                try:
                    context.load_verify_locations(cadata=certificates(texts[0]))
                except (ssl.SSLError, ValueError):
                    missing.append(
                        f"key {ca.key!r} of ConfigMap {ca.name!r} holds no PEM certificate"
                    )
            if certificate is not None:
                missing += self._present(context, certificate)
            if not missing:
                self._contexts[ca, certificate] = digest, context
        return context, missing

    def _present(self, context: ssl.SSLContext, ref: CertificateSecret) -> list[str]:
        """Makes the context show a client certificate. Returns why it cannot."""
        try:
            # Without a password OpenSSL would ask for one on the terminal.
            certificate, private_key = (
                self._path(ref.name, key) for key in (ref.certificate_key, ref.private_key_key)
            )
            context.load_cert_chain(certificate, private_key, password="")
        except (ssl.SSLError, ValueError, OSError):
            return [f"Secret {ref.name!r} holds no certificate with its private key, in PEM"]
        return []

    def _bytes(self, name: str, key: str, *, kind: str = "Secret") -> bytes:
        where = f"key {key!r} of {kind} {name!r}"
        try:
            with self._path(name, key, kind=kind).open("rb") as file:
                data = file.read(FILE_BYTES + 1)
        except OSError as error:
            msg = f"{where} is needed and cannot be read ({error.strerror}); {_GIVE}"
            raise _MissingError(msg) from error
        if len(data) > FILE_BYTES:
            raise _MissingError(f"{where} has more than {FILE_BYTES} bytes")
        return data

    def _path(self, name: str, key: str, *, kind: str = "Secret") -> Path:
        if self._folder is None:
            raise _MissingError(f"key {key!r} of {kind} {name!r} is needed; {_GIVE}")
        if any(part in {"", ".", ".."} or "/" in part or "\0" in part for part in (name, key)):
            raise _MissingError(f"scoring.auth names a {kind} or key that cannot be a file")
        return self._folder / name / key
