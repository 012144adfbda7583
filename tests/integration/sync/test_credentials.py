"""/config pages that want credentials: real servers, and the files of Secrets."""

import asyncio
import base64
import json
import shutil
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gitops_dsf.hub.scorers import Auth, DynamicScorer
from gitops_dsf.reconciler.hub.kinds import scorer as decoded
from gitops_dsf.reconciler.proposals.worker import work
from gitops_dsf.reconciler.proposals.workload import ProposalKind, Task
from gitops_dsf.reconciler.scorers.probes import compare, config_page, health_page, probe
from gitops_dsf.sync.fetch import Fetcher
from gitops_dsf.sync.page import FetchedPage, PageFault
from gitops_dsf.sync.requests import page_request
from tests.integration.sync.conftest import SETTINGS, Repository
from tests.support.agent.certificates import Authority
from tests.support.pageserver import Answer, ConfigPageServer, says

PAGE = {
    "name": "cpu",
    "source": {"type": "None"},
    "scoring": {"params": {"name": "cpu", "interval": 30}},
}
TOKEN = {"tokenSecretRef": {"name": "api", "key": "token"}}
CERTIFICATE = {"clientCertificateSecretRef": {"name": "pair"}}


def allow(repository: Repository, *hosts: str) -> None:
    spec = {**SETTINGS["spec"], "allowedTokenHosts": list(hosts)}  # type: ignore[dict-item]
    repository.write("gitops-dsf.yaml", {**SETTINGS, "spec": spec})


def put(folder: Path, name: str, **values: str) -> Path:
    (folder / name).mkdir(parents=True, exist_ok=True)
    for key, value in values.items():
        (folder / name / key.replace("_", "-")).write_text(f"{value}\n")
    return folder


def gate(valid: Callable[[], str]) -> Callable[[BaseHTTPRequestHandler], None]:
    """The page, for who sends the token; others get theirs back."""

    def serve(handler: BaseHTTPRequestHandler) -> None:
        got = handler.headers.get("Authorization", "")
        answer = (
            says(**PAGE) if got == f"Bearer {valid()}" else Answer(status=401, body=got.encode())
        )
        answer(handler)

    return serve


class TokenServer(ConfigPageServer):
    """Issues issued-s3cret-1, issued-s3cret-2 and so on to one client."""

    def __init__(self) -> None:
        super().__init__()
        self.issued = 0
        self.pages["/token"] = self._issue

    @property
    def valid(self) -> str:
        return f"issued-s3cret-{self.issued}"

    def _issue(self, handler: BaseHTTPRequestHandler) -> None:
        client = base64.b64encode(b"hub:client-s3cret").decode()
        if handler.headers.get("Authorization") != f"Basic {client}":
            Answer(status=401, body=client.encode())(handler)
            return
        self.issued += 1
        says(access_token=self.valid, token_type="Bearer", expires_in=600)(handler)

    def auth(self) -> dict[str, Any]:
        return {"oauth2": {"tokenURL": f"{self.url}/token", "clientSecretRef": {"name": "client"}}}


def on_hub(url: str, auth: dict[str, Any], **spec: Any) -> DynamicScorer:
    whole = {
        "configURL": f"{url}/config",
        "configSyncMode": "Full",
        "scoring": {"auth": auth},
        **spec,
    }
    return decoded(msgspec.Raw(json.dumps({"metadata": {"name": "cpu"}, "spec": whole}).encode()))[
        1
    ]


def test_sync_sends_the_token_of_now_where_it_may_go(
    repository: Repository,
    server: ConfigPageServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    valid = "s3cret-value-1"
    server.pages["/config"] = gate(lambda: valid)
    repository.scorer("cpu", f"{server.url}/config", scoring={"auth": TOKEN})
    folder = put(tmp_path / "secrets", "api", token=valid)
    assert repository.sync("--credentials", str(folder)) == 1
    assert "add 127.0.0.1 to spec.allowedTokenHosts in gitops-dsf.yaml" in capsys.readouterr().out
    assert all("authorization" not in headers for headers in server.headers)
    allow(repository, "127.0.0.1")
    assert repository.sync() == 1
    told = capsys.readouterr().out
    assert (
        "answers 401 Unauthorized; key 'token' of Secret 'api' is needed; give it to"
        " gitops-dsf sync"
    ) in told
    assert repository.sync("--credentials", str(folder)) == 0
    assert repository.said("cpu")["scoring"]["params"]["interval"] == 30
    valid = "s3cret-value-2"
    assert repository.sync("--credentials", str(folder)) == 1
    assert (
        "401 Unauthorized; it refuses the credentials that scoring.auth names"
        in capsys.readouterr().out
    )
    put(folder, "api", token=valid)
    assert repository.sync("--credentials", str(folder)) == 0
    shutil.rmtree(folder / "api")
    assert repository.sync("--credentials", str(folder)) == 1
    out = capsys.readouterr()
    assert (
        "key 'token' of Secret 'api' is needed and cannot be read (No such file or directory)"
        in out.out
    )
    assert "s3cret" not in told + out.out + out.err


def test_a_public_page_needs_no_folder_and_a_guarded_one_names_the_field(
    repository: Repository, server: ConfigPageServer, capsys: pytest.CaptureFixture[str]
) -> None:
    allow(repository, "127.0.0.1")
    server.pages["/config"] = says(**PAGE)
    repository.scorer("cpu", f"{server.url}/config", scoring={"auth": TOKEN})
    assert repository.sync() == 0
    server.pages["/config"] = Answer(status=403)
    repository.scorer("cpu", f"{server.url}/config")
    assert repository.sync() == 1
    assert "403 Forbidden; scoring.auth names no Secret" in capsys.readouterr().out


def test_a_wrong_folder_is_wrong_usage(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    assert repository.sync("--credentials", "nowhere") == 2
    assert "--credentials nowhere: there is no such folder" in capsys.readouterr().err


def test_a_page_that_repeats_the_token_is_not_locked(
    repository: Repository,
    server: ConfigPageServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    allow(repository, "127.0.0.1")
    server.pages["/config"] = says(**PAGE, description="you sent s3cret-value-1")
    repository.scorer("cpu", f"{server.url}/config", scoring={"auth": TOKEN})
    folder = put(tmp_path / "secrets", "api", token="s3cret-value-1")
    assert repository.sync("--credentials", str(folder)) == 1
    out = capsys.readouterr().out
    assert "repeats the token" in out
    assert "s3cret" not in out
    assert not (repository.root / "locks").exists()


def test_sync_asks_a_token_server(
    repository: Repository,
    server: ConfigPageServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    allow(repository, "127.0.0.1")
    folder = put(tmp_path / "secrets", "client", client_id="hub", client_secret="client-s3cret")
    with TokenServer() as logins:
        server.pages["/config"] = gate(lambda: logins.valid)
        for name in ("cpu", "gpu"):
            repository.scorer(name, f"{server.url}/config", scoring={"auth": logins.auth()})
        assert repository.sync("--credentials", str(folder), "--scorer", "cpu") == 0
        assert logins.issued == 1
        put(folder, "client", client_secret="wrong-s3cret")
        assert repository.sync("--credentials", str(folder), "--scorer", "cpu") == 1
    out = capsys.readouterr()
    assert f"answers 401 Unauthorized; {logins.url}/token answers 401" in out.out
    assert "s3cret" not in out.out + out.err


def test_sync_shows_the_certificate_of_now(
    repository: Repository,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    allow(repository, "127.0.0.1")
    servers, clients = Authority("servers"), Authority("clients")
    (tmp_path / "ca.pem").write_text(servers.pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    folder = tmp_path / "secrets"
    server = ConfigPageServer()
    server.serve_tls(servers.server(tmp_path / "server", client_authority=clients))
    with server:
        server.pages["/config"] = says(**PAGE)
        repository.scorer("cpu", f"{server.url}/config", scoring={"auth": CERTIFICATE})
        assert repository.sync("--credentials", str(put(folder, "other"))) == 1
        assert (
            "key 'tls.crt' of Secret 'pair' is needed and cannot be read" in capsys.readouterr().out
        )
        clients.pair(folder / "pair", name="hub")
        assert repository.sync("--credentials", str(folder)) == 0
        put(folder, "pair", **{"tls.key": "s3cret"})
        assert repository.sync("--credentials", str(folder)) == 1
        out = capsys.readouterr().out
    assert "Secret 'pair' holds no certificate with its private key, in PEM" in out
    assert "s3cret" not in out


def test_private_cas_of_a_page_and_its_token_server_are_read_from_files(
    repository: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each server is trusted by its own CA alone, and the reconciler reads the same files."""
    allow(repository, "127.0.0.1")
    pages, logins = Authority("pages"), Authority("logins")
    folder = put(tmp_path / "secrets", "client", client_id="hub", client_secret="client-s3cret")
    server, issuer = ConfigPageServer(), TokenServer()
    server.serve_tls(pages.server(tmp_path / "pages"))
    issuer.serve_tls(logins.server(tmp_path / "logins"))
    with server, issuer:
        server.pages["/config"] = server.pages["/healthz"] = gate(lambda: issuer.valid)
        auth = issuer.auth()
        auth["oauth2"]["caConfigMapRef"] = {"name": "login-ca", "key": "ca.crt"}
        auth["caConfigMapRef"] = {"name": "page-ca", "key": "ca.crt"}
        repository.scorer("cpu", f"{server.url}/config", scoring={"auth": auth})
        assert repository.sync("--credentials", str(folder)) == 1
        assert (
            "key 'ca.crt' of ConfigMap 'page-ca' is needed and cannot be read"
            in capsys.readouterr().out
        )
        put(folder, "page-ca", **{"ca.crt": pages.pem})
        assert repository.sync("--credentials", str(folder)) == 1
        assert (
            "key 'ca.crt' of ConfigMap 'login-ca' is needed and cannot be read"
            in capsys.readouterr().out
        )
        put(folder, "login-ca", **{"ca.crt": pages.pem})
        assert repository.sync("--credentials", str(folder)) == 1
        assert issuer.issued == 0
        put(folder, "login-ca", **{"ca.crt": "no certificate"})
        assert repository.sync("--credentials", str(folder)) == 1
        assert (
            "key 'ca.crt' of ConfigMap 'login-ca' holds no PEM certificate"
            in capsys.readouterr().out
        )
        put(folder, "login-ca", **{"ca.crt": logins.pem})
        assert repository.sync("--credentials", str(folder)) == 0
        assert issuer.issued == 1
        page = health_page(on_hub(server.url, auth), ("127.0.0.1",))

        async def go() -> FetchedPage | PageFault:
            async with Fetcher(secrets=folder) as fetcher:
                return await fetcher.get(page)

        assert isinstance(asyncio.run(go()), FetchedPage)


def test_a_private_ca_is_trusted_where_no_credentials_may_go(
    repository: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = Authority("pages")
    folder = put(tmp_path / "secrets", "page-ca", **{"ca.crt": f"\ufeff{pages.pem}"})
    put(folder, "api", token="s3cret-value")
    server = ConfigPageServer()
    server.serve_tls(pages.server(tmp_path / "pages"))
    with server:
        server.pages["/config"] = says(**PAGE)
        ca = {"caConfigMapRef": {"name": "page-ca", "key": "ca.crt"}}
        for auth in (ca, ca | TOKEN):
            repository.scorer("cpu", f"{server.url}/config", scoring={"auth": auth})
            assert repository.sync("--credentials", str(folder)) == 0
        assert all("authorization" not in headers for headers in server.headers)


def test_the_reconciler_probes_with_the_same_credentials(
    server: ConfigPageServer, tmp_path: Path
) -> None:
    """A token that is refused is replaced; two scorers with one client share it."""
    folder = put(tmp_path / "secrets", "client", client_id="hub", client_secret="client-s3cret")
    with TokenServer() as logins:
        server.pages["/config"] = server.pages["/healthz"] = gate(lambda: logins.valid)
        item = on_hub(server.url, logins.auth())

        async def go(
            *, secrets: Path | None, allowed: tuple[str, ...]
        ) -> list[FetchedPage | PageFault]:
            async with Fetcher(secrets=secrets) as fetcher:
                found = await probe([item, item], fetcher=fetcher, allowed=allowed)
                return [found[health_page(item, allowed)], found[config_page(item, allowed)]]

        health, config = asyncio.run(go(secrets=folder, allowed=("127.0.0.1",)))
        assert isinstance(health, FetchedPage)
        assert compare(item, config).reason in {"InSync", "Drifted"}
        assert logins.issued == 1
        for secrets, allowed in ((None, ("127.0.0.1",)), (folder, ("other.example.com",))):
            server.headers.clear()
            health, config = asyncio.run(go(secrets=secrets, allowed=allowed))
            assert isinstance(health, PageFault)
            assert isinstance(config, PageFault)
            assert (
                "spec.reconciler.configCredentials" in health.message
                or "allowedTokenHosts" in health.message
            )
            assert compare(item, config).reason == "Unreachable"
            assert all("authorization" not in headers for headers in server.headers)
        assert logins.issued == 1


def test_a_token_that_was_withdrawn_is_replaced_within_the_probe(
    server: ConfigPageServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dsf_runtime.oauth2.REFUSED_SECONDS", 0.0)
    folder = put(tmp_path / "secrets", "client", client_id="hub", client_secret="client-s3cret")
    with TokenServer() as logins:
        server.pages["/config"] = gate(lambda: logins.valid)
        page = config_page(on_hub(server.url, logins.auth()), ("127.0.0.1",))

        async def go() -> None:
            async with Fetcher(secrets=folder) as fetcher:
                assert isinstance(await fetcher.get(page), FetchedPage)
                assert isinstance(await fetcher.get(page), FetchedPage)
                assert logins.issued == 1
                logins.issued += 1  # the server forgets what it issued
                assert isinstance(await fetcher.get(page), FetchedPage)

        asyncio.run(go())
        assert logins.issued == 3


@pytest.mark.parametrize(
    ("url", "scoring", "allowed", "sent"),
    [
        ("https://a.example.com/config", "https://a.example.com", (), False),
        ("https://a.example.com/config", "https://a.example.com", ("*.example.com",), True),
        ("https://a.example.com/config", "https://b.example.com", ("b.example.com",), False),
        ("https://a.example.com/config", "https://b.example.com", ("a.example.com",), True),
        ("http://api.scores.svc/config", "http://api.scores.svc:81", (), True),
        ("http://other.scores.svc/config", "http://api.scores.svc", (), False),
        ("http://169.254.169.254/config", "http://169.254.169.254", ("*",), False),
        ("nonsense", "nonsense", ("*",), False),
    ],
)
def test_where_credentials_may_go(
    url: str, scoring: str, allowed: tuple[str, ...], sent: bool
) -> None:
    auth = msgspec.convert(TOKEN, Auth)
    assert (page_request(url, auth=auth, scoring_url=scoring, allowed=allowed).auth is auth) == sent


@pytest.mark.parametrize(
    ("token_url", "sent"), [("https://login.evil.com", False), ("http://login.svc", True)]
)
def test_the_token_server_must_be_allowed_as_well(token_url: str, sent: bool) -> None:
    auth = msgspec.convert(
        {"oauth2": {"tokenURL": token_url, "clientSecretRef": {"name": "client"}}}, Auth
    )
    request = page_request(
        "http://api.svc/config", auth=auth, scoring_url="http://api.svc", allowed=()
    )
    assert (request.auth is auth) == sent


@pytest.mark.parametrize("name", ["..", "../api", "", "a\0b"])
async def test_no_file_outside_of_the_folder_is_read(name: str, tmp_path: Path) -> None:
    put(tmp_path, "api", token="s3cret-value")
    put(tmp_path / "secrets", "other")
    auth = msgspec.convert({"tokenSecretRef": {"name": name, "key": "token"}}, Auth)
    request = page_request("http://api.invalid/config", auth=auth, scoring_url="", allowed=("*",))
    async with Fetcher(secrets=tmp_path / "secrets") as fetcher:
        shown = await fetcher.credentials.shown(request)
    assert (shown.token, shown.problem) == (
        "",
        "scoring.auth names a Secret or key that cannot be a file",
    )


def test_a_prober_shows_the_certificate_of_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers, clients = Authority("servers"), Authority("clients")
    (tmp_path / "ca.pem").write_text(servers.pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    pair = tmp_path / "secrets" / "pair"
    clients.pair(pair, name="hub")
    server = ConfigPageServer()
    server.serve_tls(servers.server(tmp_path / "server", client_authority=clients))
    with server:
        server.pages["/config"] = says(**PAGE)
        page = config_page(on_hub(server.url, CERTIFICATE), ("127.0.0.1",))

        async def go() -> None:
            async with Fetcher(secrets=tmp_path / "secrets") as fetcher:
                assert isinstance(await fetcher.get(page), FetchedPage)
                Authority("others").pair(pair, name="hub")
                assert isinstance(await fetcher.get(page), PageFault)
                clients.pair(pair, name="hub")
                assert isinstance(await fetcher.get(page), FetchedPage)

        asyncio.run(go())


def test_a_proposal_reads_the_page_with_credentials(
    repository: Repository, server: ConfigPageServer, tmp_path: Path
) -> None:
    allow(repository, "127.0.0.1")
    server.pages["/config"] = gate(lambda: "s3cret-value")
    repository.scorer("cpu", f"{server.url}/config", scoring={"auth": TOKEN})
    folder = put(tmp_path / "secrets", "api", token="s3cret-value")
    task = Task(root=str(repository.root), kind=ProposalKind.LOCKS, scorers=["cpu"])
    assert asyncio.run(work(task)).refused == ["cpu"]
    change = asyncio.run(work(msgspec.structs.replace(task, secrets=str(folder))))
    assert change.files == ["locks/cpu.yaml"]
    assert b"s3cret" not in msgspec.json.encode(change)
