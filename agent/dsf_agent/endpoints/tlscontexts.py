"""TLS contexts with the private CAs and client certificates of endpoints.

Connections are pooled per context, so equal texts share one. A context is made again when a text
changed.
"""

import hashlib
import math
import ssl
import tempfile
import time
from collections.abc import Callable, Collection
from pathlib import Path

import httpx

from dsf_agent.endpoints.auth import RequestAuth
from dsf_agent.endpoints.keptobjects import KeptObjects, SecretForm, SecretValues, where
from dsf_agent.errors import AgentError
from dsf_wire.scored import Reason
from dsf_wire.summary import ClientCertificate, ConfigMapRef

_Key = tuple[ConfigMapRef | None, ClientCertificate | None]


class TlsContexts:
    """Makes and keeps TLS contexts."""

    def __init__(
        self,
        *,
        objects: KeptObjects,
        wall: Callable[[], float],
        forgotten: Callable[[ssl.SSLContext], None],
    ) -> None:
        """Keeps contexts until they are no longer needed.

        ``forgotten`` is called with a context that is no longer needed, to close its connections.
        """
        self._objects = objects
        self._wall = wall
        self._forgotten = forgotten
        self._contexts: dict[_Key, tuple[str, ssl.SSLContext]] = {}
        """The digest of the texts of each context, and the context."""
        self._ends: dict[ClientCertificate, float] = {}
        """The times when client certificates expire (Unix time)."""

    def keep_only(self, auths: Collection[RequestAuth]) -> None:
        """Forgets what none of these endpoints needs."""
        wanted: set[_Key] = set()
        for auth in auths:
            wanted.add((auth.ca, auth.certificate))
            if auth.oauth2 is not None:
                # A token server has a CA of its own, and no client certificate.
                wanted.add((auth.oauth2.ca_config_map_ref, None))
        for key in self._contexts.keys() - wanted:
            _digest, context = self._contexts.pop(key)
            self._forgotten(context)
        certificates = {auth.certificate for auth in auths}
        self._ends = {key: end for key, end in self._ends.items() if key in certificates}

    async def context(self, auth: RequestAuth, *, fresh: bool) -> ssl.SSLContext | None:
        """A context with private CA and client certificate; None without both. Raises AgentError.

        ``fresh`` reads the texts again, after a TLS failure.
        """
        if auth.ca is None and auth.certificate is None:
            return None
        after = self._objects.reads if fresh else -1
        ca_text = ""
        pair: SecretValues = ()
        if auth.ca is not None:
            ca_text = await self._ca_text(auth.ca, after=after)
        if auth.certificate is not None:
            pair = await self._objects.secret_values(
                auth.certificate.name,
                (auth.certificate.certificate_key, auth.certificate.private_key_key),
                SecretForm.PEM,
                after=after,
            )
        key = auth.ca, auth.certificate
        # A digest, so that no private key is kept beside the context.
        digest = hashlib.sha256("\0".join((ca_text, *pair)).encode()).hexdigest()
        kept = self._contexts.get(key)
        if kept is not None and kept[0] == digest:
            return kept[1]
        context = _with_ca(auth.ca, ca_text)
        if auth.certificate is not None:
            self._ends[auth.certificate] = _present(context, auth.certificate, pair)
        self._contexts[key] = digest, context
        return context

    def expired(self, auth: RequestAuth) -> str:
        """Says that the client certificate is expired; empty if it is not, or not known."""
        if auth.certificate is None:
            return ""
        end = self._ends.get(auth.certificate, math.inf)
        if self._wall() < end:
            return ""
        when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(end))
        return f"the client certificate in Secret {auth.certificate.name!r} expired on {when}"

    async def _ca_text(self, ref: ConfigMapRef, *, after: int) -> str:
        data = await self._objects.data(
            "ConfigMap",
            ref.name,
            where=f"key {ref.key!r} of ConfigMap {ref.name!r}",
            reason=Reason.CA_UNAVAILABLE,
            after=after,
        )
        text = data.get(ref.key)
        if not isinstance(text, str) or not text.strip():
            raise AgentError(
                f"key {ref.key!r} of ConfigMap {ref.name!r} is empty or missing",
                reason=Reason.CA_UNAVAILABLE,
            )
        return text


def _with_ca(ref: ConfigMapRef | None, text: str) -> ssl.SSLContext:
    if ref is None:
        return httpx.create_ssl_context()
    try:
        return ssl.create_default_context(cadata=text)
    except (ssl.SSLError, ValueError) as error:
        msg = f"key {ref.key!r} of ConfigMap {ref.name!r} holds no PEM certificate"
        raise AgentError(msg, reason=Reason.CA_UNAVAILABLE) from error


def _present(context: ssl.SSLContext, certificate: ClientCertificate, pair: SecretValues) -> float:
    """Makes the context show a client certificate. Returns when it expires (Unix time).

    OpenSSL reads it from files only, so the pair is in the temporary directory for a moment,
    readable by this user alone.
    """
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "pair.pem")
            # The rights come before the content, so that no other user can read it meanwhile.
            path.touch(mode=0o600)
            path.write_text("\n".join(pair))
            # Without a password OpenSSL would ask for one on the terminal.
            context.load_cert_chain(path, password="")
            return _end(path)
    except (ssl.SSLError, ValueError) as error:
        msg = _pair_fault(certificate, pair, error)
        raise AgentError(msg, reason=Reason.TOKEN_UNAVAILABLE) from error
    except OSError as error:
        msg = f"the temporary directory cannot be written: {error.strerror}"
        raise AgentError(msg, reason=Reason.TOKEN_UNAVAILABLE) from error


def _end(path: Path) -> float:
    """The time when the certificate in a file expires; infinity if it is unknown."""
    try:
        # The name is private, and nothing public reads a certificate. Without it messages say less.
        decoded = ssl._ssl._test_decode_cert(str(path))  # type: ignore[attr-defined]  # noqa: SLF001
        return float(ssl.cert_time_to_seconds(decoded["notAfter"]))
    except (AttributeError, KeyError, ValueError, OSError):
        return math.inf


def _pair_fault(certificate: ClientCertificate, pair: SecretValues, error: Exception) -> str:
    """The reason why a certificate and its private key cannot be used."""
    certificate_key = certificate.certificate_key
    private_key_key = certificate.private_key_key
    if getattr(error, "reason", None) == "KEY_VALUES_MISMATCH":
        keys_text = where(certificate.name, certificate_key, private_key_key)
        return f"{keys_text} do not belong together: the private key is that of another certificate"
    # OpenSSL does not say which of the two it could not read.
    try:
        ssl.create_default_context(cadata=pair[0])
    except (ssl.SSLError, ValueError):
        return f"{where(certificate.name, certificate_key)} holds no PEM certificate"
    key_text = where(certificate.name, private_key_key)
    if "ENCRYPTED" in pair[1]:
        return f"{key_text} is a private key with a password; write it without one"
    return f"{key_text} holds no PEM private key"
