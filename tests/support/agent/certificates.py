"""Certificates for tests: an authority, and pairs signed by it as PEM files."""

import datetime as dt
import ipaddress
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """A certificate authority. ``pem`` is its certificate."""

    def __init__(self, name: str = "test-ca") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(name)
        usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=True,
            crl_sign=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        builder = _builder(self._name, self._name, self._key).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        self._certificate = builder.add_extension(usage, critical=True).sign(self._key, hashes.SHA256())
        self.pem = self._certificate.public_bytes(serialization.Encoding.PEM).decode()

    def pair(self, directory: Path, *, name: str, host: str = "", days: float = 1.0) -> tuple[Path, Path]:
        """Writes ``tls.crt`` and ``tls.key`` for a host or 127.0.0.1, valid for some days."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.DNSName(host) if host else x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        builder = _builder(_named(name), self._name, key, days=days).add_extension(
            x509.SubjectAlternativeName([subject]), critical=False
        )
        certificate = builder.sign(self._key, hashes.SHA256())
        directory.mkdir(parents=True, exist_ok=True)
        crt, pem_key = directory / "tls.crt", directory / "tls.key"
        crt.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        pem_key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return crt, pem_key

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


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, *, days: float = 1.0
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=days))
    )
