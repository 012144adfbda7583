"""Why a scoring API is not reached, told apart by real servers that fail in each way, down to the reason of
the condition.
"""

import asyncio
import datetime as dt
import ipaddress
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from gitops_dsf.reconciler.scorers.health import FAILURES, Health, HealthStatus
from gitops_dsf.reconciler.scorers.prober import probe
from gitops_dsf.sync.fetch import Fault, Fetcher, FetchLimits, Page
from tests.integration.reconciler.scorers.test_hanging_apis import made
from tests.support.pageserver import Answer, PageServer, says

NOW = dt.datetime.now(dt.UTC)
DAY = dt.timedelta(days=1)
LOOPBACK = ipaddress.IPv4Address("127.0.0.1")


class Authority:
    """Signs certificates of servers; `trust` is what a client knows of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")])
        own = self._builder(self._name, self._key.public_key(), until=NOW + DAY)
        basic = x509.BasicConstraints(ca=True, path_length=0)
        usage = x509.KeyUsage(**{name: name == "key_cert_sign" for name in USAGES})
        identifier = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        signed = (
            own.add_extension(basic, critical=True)
            .add_extension(usage, critical=True)
            .add_extension(identifier, critical=False)
        )
        self._pem = signed.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()
        self.trust = ssl.create_default_context(cadata=self._pem)

    def server(
        self, name: str, *, address: ipaddress.IPv4Address = LOOPBACK, until: dt.datetime = NOW + DAY
    ) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        names = x509.SubjectAlternativeName([x509.IPAddress(address)])
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        built = self._builder(subject, key.public_key(), until=until).add_extension(names, critical=False)
        certificate = built.add_extension(issuer, critical=False).sign(self._key, hashes.SHA256())
        plain = serialization.NoEncryption()
        pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
        path = self._folder / f"{name}.pem"
        path.write_bytes(pem + certificate.public_bytes(serialization.Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, *, until: dt.datetime
    ) -> x509.CertificateBuilder:
        return x509.CertificateBuilder(
            issuer_name=self._name,
            subject_name=subject,
            public_key=key,
            serial_number=x509.random_serial_number(),
            not_valid_before=NOW - 2 * DAY,
            not_valid_after=until,
        )


USAGES = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@contextmanager
def api(context: ssl.SSLContext | None = None) -> Iterator[PageServer]:
    server = PageServer()
    if context is not None:
        server.serve_tls(context)
    with server:
        server.pages.update({"/healthz": says(ok=True), "/config": says(name="cpu")})
        yield server


def probed(url: str, *, trust: ssl.SSLContext | None = None, seconds: float = 20.0) -> Page | Fault:
    async def go() -> Page | Fault:
        async with Fetcher(limits=FetchLimits(seconds=seconds), trust=trust) as fetcher:
            return (await probe([made(url)], fetcher=fetcher))[f"{url}/healthz"]

    return asyncio.run(go())


def verdicts(url: str, *, trust: ssl.SSLContext | None = None, seconds: float = 20.0) -> tuple[str, str]:
    """Reason and message of Healthy when it was Active before, which takes several failures, and never
    reached.
    """
    answer = probed(url, trust=trust, seconds=seconds)
    down = Health(status=HealthStatus.ACTIVE)
    for _ in range(FAILURES):
        down = down.after(answer)
    assert down.status is HealthStatus.INACTIVE
    unknown = Health().after(answer)
    assert unknown.reason == down.reason
    return down.reason, down.message


def test_a_trusted_certificate_is_no_fault(authority: Authority) -> None:
    with api(authority.server("good")) as server:
        assert Health().after(probed(server.url, trust=authority.trust)).status is HealthStatus.ACTIVE


def test_an_expired_certificate(authority: Authority) -> None:
    with api(authority.server("expired", until=NOW - DAY)) as server:
        reason, message = verdicts(server.url, trust=authority.trust)
    assert reason == "Certificate"
    assert "certificate has expired" in message


def test_a_certificate_of_another_host(authority: Authority) -> None:
    with api(authority.server("elsewhere", address=ipaddress.IPv4Address("127.0.0.2"))) as server:
        reason, message = verdicts(server.url, trust=authority.trust)
    assert reason == "Certificate"
    assert "IP address mismatch" in message


def test_a_certificate_that_nobody_knows(authority: Authority) -> None:
    with api(authority.server("unknown")) as server:
        reason, message = verdicts(server.url)
    assert reason == "Certificate"
    assert "unable to get local issuer certificate" in message


def test_plain_http_behind_https_is_no_certificate_fault() -> None:
    with api() as server:
        reason, _ = verdicts(server.url.replace("http:", "https:"))
    assert reason == "Connection"


def test_a_name_that_nobody_has() -> None:
    reason, message = verdicts("http://does-not-exist.invalid")
    assert reason == "DNS"
    assert "does-not-exist.invalid/healthz: the host name is not known here" in message


def test_a_server_that_says_nothing() -> None:
    with api() as server:
        server.pages["/healthz"] = server.hang
        assert verdicts(server.url, seconds=1.0) == (
            "Timeout",
            f"{server.url}/healthz gave no complete answer within 1 s",
        )
        assert server.asked["/config"] == 0


def test_a_port_that_nobody_serves() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        reason, message = verdicts(f"http://127.0.0.1:{taken.getsockname()[1]}")
    assert reason == "Connection"
    assert "Connection refused" in message


def test_a_bad_status_is_an_answer_and_config_is_still_asked() -> None:
    with api() as server:
        server.pages["/healthz"] = Answer(status=503)
        answer = probed(server.url)
        assert Health().after(answer).status is HealthStatus.INACTIVE
        assert Health().after(answer).reason == "Status"
        assert server.asked["/config"] == 1
