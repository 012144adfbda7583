"""An authority and its certificates.

Those of API servers, and client certificates of identities.
"""

import base64
import datetime as dt
import ipaddress
import warnings
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

VALID = dt.timedelta(days=2)
SKEW = dt.timedelta(hours=1)
SERVICE_ADDRESS = "10.0.0.1"
"""The address of the Service `kubernetes`: the first of the API server's range."""


@dataclass(frozen=True, kw_only=True)
class KeyPair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes

    def write(self, folder: Path, name: str) -> tuple[Path, Path]:
        """`<name>.crt` and `<name>.key` in `folder`, the key readable by its owner only."""
        folder.mkdir(parents=True, exist_ok=True)
        certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
        certificate.write_bytes(self.certificate)
        key.touch(mode=0o600)
        key.write_bytes(self.key)
        return certificate, key


class Authority:
    """A self-signed certificate authority that lives for one run."""

    def __init__(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(name)
        builder = _builder(self._name, self._name, self._key.public_key())
        builder = builder.add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        usage = x509.KeyUsage(True, False, True, False, False, True, True, False, False)
        builder = builder.add_extension(usage, critical=True)
        self._certificate = builder.sign(self._key, hashes.SHA256())
        self.pair = KeyPair(certificate=_pem(self._certificate), key=_private_pem(self._key))

    @property
    def bundle(self) -> str:
        """The certificate as Kubernetes objects carry it in `caBundle`: base64 of PEM."""
        return base64.b64encode(self.pair.certificate).decode("ascii")

    def server(self, name: str) -> KeyPair:
        """A serving certificate for 127.0.0.1, localhost, the names that clients in a cluster use,
        and `<name>.example.com`, by which other clusters know it.
        """
        names: list[x509.GeneralName] = [
            x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
            x509.IPAddress(ipaddress.ip_address(SERVICE_ADDRESS)),
            x509.DNSName("localhost"),
            x509.DNSName(f"{name}.example.com"),
            x509.DNSName("kubernetes"),
            x509.DNSName("kubernetes.default.svc"),
        ]
        return self.issue(name, names, usage=ExtendedKeyUsageOID.SERVER_AUTH)

    def client(self, user: str, groups: tuple[str, ...] = ()) -> KeyPair:
        """A client certificate: the API server takes the user from CN and the groups from O.

        Names of more than 64 characters are allowed on purpose: OCM's identities are longer than
        X.509's upper bound for a common name, and neither Go nor the API server enforces it.
        """
        attributes = [_attribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        subject = x509.Name([*attributes, _attribute(NameOID.COMMON_NAME, user)])
        return self.issue(subject, [], usage=ExtendedKeyUsageOID.CLIENT_AUTH)

    def issue(
        self,
        subject: x509.Name | str,
        names: list[x509.GeneralName],
        *,
        usage: x509.ObjectIdentifier | None = None,
        valid: dt.timedelta = VALID,
    ) -> KeyPair:
        """A certificate for a subject, or for a common name, and these alternative names."""
        whole = _named(subject) if isinstance(subject, str) else subject
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(whole, self._name, key.public_key(), valid=valid)
        if usage is not None:
            builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return KeyPair(
            certificate=_pem(builder.sign(self._key, hashes.SHA256())), key=_private_pem(key)
        )


def signing_key() -> tuple[bytes, bytes]:
    """Private and public PEM of a key that signs ServiceAccount tokens."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return _private_pem(key), public


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _attribute(oid: x509.ObjectIdentifier, value: str) -> x509.NameAttribute[str]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Attribute's length", category=UserWarning)
        return x509.NameAttribute(oid, value, _validate=False)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    *,
    valid: dt.timedelta = VALID,
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SKEW)
        .not_valid_after(now + valid)
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
