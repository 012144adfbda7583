"""Certificates for tests: an authority, and pairs signed by it as PEM files."""

import datetime as dt
import ipaddress
import ssl
from pathlib import Path

from cryptography import x509

from tests.hub.controlplane import pki


class Authority:
    """A certificate authority. ``pem`` is its certificate."""

    def __init__(self, name: str = "test-ca") -> None:
        self._issuer = pki.Authority(name)
        self.pem = self._issuer.pair.certificate.decode()

    def pair(
        self, directory: Path, *, name: str, host: str = "", days: float = 1.0
    ) -> tuple[Path, Path]:
        """Writes ``tls.crt`` and ``tls.key`` for a host or 127.0.0.1, valid for some days."""
        subject = x509.DNSName(host) if host else x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        return self._issuer.issue(name, [subject], valid=dt.timedelta(days=days)).write(
            directory, "tls"
        )

    def server(
        self,
        directory: Path,
        *,
        name: str = "server",
        host: str = "",
        client_authority: "Authority | None" = None,
    ) -> ssl.SSLContext:
        """The context of a TLS server; with an authority, clients must show a certificate of it."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.pair(directory, name=name, host=host))
        if client_authority is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(cadata=client_authority.pem)
        return context
