"""Credentials for the pages of a scoring API: those that scoring.auth of its scorer names, from the files of
Secrets. The files are read for each use, so a rotated Secret takes effect at once. No message holds a secret.
"""

import asyncio
import hashlib
import ssl
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import httpx

from dsf_runtime.oauth2 import AccessTokens, Ask, Client, TokenError
from dsf_wire.headers import value_fault
from gitops_dsf.hub.glob import matches
from gitops_dsf.hub.hosts import is_in_cluster, is_metadata
from gitops_dsf.hub.scorers import Auth, CertificateSecret, OAuth2
from gitops_dsf.hub.urls import host_of

FILE_BYTES: Final = 1024 * 1024
"""The most that a Secret holds."""
_GIVE: Final = (
    "give it to gitops-dsf sync with --credentials, to the reconciler with spec.reconciler.configCredentials"
)


class Request(NamedTuple):
    """A page to ask."""

    url: str
    auth: Auth | None = None
    """Whose credentials are sent, where they are found."""
    problem: str = "scoring.auth of the scorer names no Secret"
    """Why none are sent, without auth."""


def page_request(url: str, *, auth: Auth | None, scoring_url: str, allowed: Collection[str]) -> Request:
    """The request for a page at configURL. Its host gets credentials only if `allowed`, which is
    spec.allowedTokenHosts, has it, or if it is the scoring API's in the cluster. The rules of `validate` do
    not know configURL, and `sync` asks before they are checked.
    """
    if auth is None or not auth.secrets:
        return Request(url)
    places = [("configURL", url)]
    if auth.oauth2 is not None:
        places.append(("tokenURL", auth.oauth2.token_url))
    for title, place in places:
        host = host_of(place)
        own = title == "tokenURL" or host == host_of(scoring_url)
        may = any(matches(host, pattern) for pattern in allowed) or (own and is_in_cluster(host))
        if not host or is_metadata(host) or not may:
            why = f"{title} has a host that may not get the credentials of scoring.auth"
            return Request(url, problem=f"{why}; add {host} to spec.allowedTokenHosts in gitops-dsf.yaml")
    return Request(url, auth)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What is added to a request."""

    token: str = field(default="", repr=False)
    trust: ssl.SSLContext | None = None
    """With the client certificate."""
    problem: str = ""
    """What is missing, and where to give it."""
    without_certificate: bool = False
    """Whether the client certificate that is named is missing."""

    @property
    def headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


class _MissingError(Exception):
    """A credential is not there. The message says what to give."""


class Credentials:
    """Reads Secrets below one folder."""

    def __init__(self, *, folder: Path | None, tokens: AccessTokens, ask: Ask) -> None:
        self._folder, self._tokens, self._ask = folder, tokens, ask
        self._contexts: dict[CertificateSecret, tuple[str, ssl.SSLContext]] = {}

    async def shown(self, request: Request, *, refused: str = "") -> Shown:
        """What is sent with a request. `refused` is a token that got 401. A credential that is not found is
        left out, because the page may be public.
        """
        auth = request.auth
        if auth is None:
            return Shown(problem=request.problem)
        token, trust, problems = "", None, []
        try:
            token = await self._token(auth, refused=refused)
        except (_MissingError, TokenError) as error:
            problems.append(str(error))
        certificate = auth.client_certificate_secret_ref
        if certificate is not None:
            try:
                trust = await asyncio.to_thread(self._context, certificate)
            except _MissingError as error:
                problems.append(str(error))
        return Shown(
            token=token,
            trust=trust,
            problem="; ".join(problems),
            without_certificate=certificate is not None and trust is None,
        )

    async def _token(self, auth: Auth, *, refused: str) -> str:
        if auth.oauth2 is not None:
            client = await asyncio.to_thread(self._client, auth.oauth2)
            return await self._tokens.get(auth.oauth2, client, ask=self._ask, refused=refused)
        ref = auth.token_secret_ref
        return "" if ref is None else await asyncio.to_thread(self._header, ref.name, ref.key)

    def _client(self, oauth2: OAuth2) -> Client:
        ref = oauth2.client_secret_ref
        if ref is None:
            raise _MissingError("oauth2 names no clientSecretRef")
        return Client(
            token_url=oauth2.token_url,
            name=self._text(ref.name, ref.client_id_key),
            secret=self._text(ref.name, ref.client_secret_key),
            scopes=oauth2.scopes,
            audience=oauth2.audience,
            in_body=oauth2.client_authentication == "Body",
        )

    def _header(self, name: str, key: str) -> str:
        value = self._text(name, key).strip()
        if value_fault(value):
            raise _MissingError(f"key {key!r} of Secret {name!r} holds no value for a header")
        return value

    def _text(self, name: str, key: str) -> str:
        try:
            value = self._bytes(name, key).decode().rstrip("\r\n")
        except UnicodeDecodeError:
            value = ""
        if not value or not value.isprintable():
            raise _MissingError(f"key {key!r} of Secret {name!r} holds no text of one line")
        return value

    def _context(self, ref: CertificateSecret) -> ssl.SSLContext:
        """The system's CAs with a client certificate; the same context while the files are the same."""
        keys = ref.certificate_key, ref.private_key_key
        digest = hashlib.sha256(b"\0".join(self._bytes(ref.name, key) for key in keys)).hexdigest()
        known, context = self._contexts.get(ref, ("", None))
        if context is None or known != digest:
            context = httpx.create_ssl_context()
            try:
                # Without a password OpenSSL would ask for one on the terminal.
                certificate, private_key = (self._path(ref.name, key) for key in keys)
                context.load_cert_chain(certificate, private_key, password="")
            except (ssl.SSLError, ValueError, OSError) as error:
                msg = f"Secret {ref.name!r} holds no certificate with its private key, in PEM"
                raise _MissingError(msg) from error
            self._contexts[ref] = digest, context
        return context

    def _bytes(self, name: str, key: str) -> bytes:
        try:
            with self._path(name, key).open("rb") as file:
                data = file.read(FILE_BYTES + 1)
        except OSError as error:
            msg = f"key {key!r} of Secret {name!r} is needed and cannot be read ({error.strerror}); {_GIVE}"
            raise _MissingError(msg) from error
        if len(data) > FILE_BYTES:
            raise _MissingError(f"key {key!r} of Secret {name!r} has more than {FILE_BYTES} bytes")
        return data

    def _path(self, name: str, key: str) -> Path:
        if self._folder is None:
            raise _MissingError(f"key {key!r} of Secret {name!r} is needed; {_GIVE}")
        if any(part in {"", ".", ".."} or "/" in part or "\0" in part for part in (name, key)):
            raise _MissingError("scoring.auth names a Secret or key that cannot be a file")
        return self._folder / name / key
