"""Cached tokens and CAs while the managed cluster's API server does not answer or refuses."""

import asyncio
import base64
import ssl
import tempfile
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization

from dsf_agent.endpoints.budget import Budget
from dsf_agent.endpoints.credentials import (
    KEEP_SECONDS,
    STALE_SECONDS,
    Auth,
    Credentials,
    Sent,
    reader,
    scoring_auth,
    source_auth,
)
from dsf_agent.endpoints.endpoint import Endpoint
from dsf_agent.endpoints.transport import Answer, Call, CallLimits, Transport
from dsf_agent.errors import AgentError, Reason
from dsf_wire.summary import (
    BasicAuth,
    ClientCertificate,
    ConfigMapRef,
    EndpointAuth,
    Header,
    SecretRef,
    Summary,
)
from tests.support.agent.apis import scores
from tests.support.agent.certificates import Authority
from tests.support.agent.http import HttpFake

TOKEN = Auth(secret_name="s", secret_key="k")
CA = Auth(ca=ConfigMapRef(name="cas", key="ca.crt"))


async def token_of(credentials: Credentials, auth: Auth, *, refused: str = "") -> str | None:
    """The bearer token that is sent. ``refused`` is one that got 401."""
    sent = await credentials.sent(auth, refused=Sent(number=credentials._reads) if refused else None)
    return sent.headers.get("Authorization", "").removeprefix("Bearer ") or None


class ManualClock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        raise AssertionError(seconds)


class FakeSecretReader:
    """One Secret and one ConfigMap, or a reason why they cannot be read."""

    def __init__(self, *, token: str = "", ca: object = "") -> None:
        self.token = token
        self.ca = ca
        self.fault: Reason | None = None
        self.reads = 0

    async def _asked(self) -> None:
        self.reads += 1
        await asyncio.sleep(0)
        if self.fault is not None:
            msg = "no"
            raise AgentError(msg, reason=self.fault)

    async def read(self, kind: str, name: str) -> dict[str, Any]:
        await self._asked()
        if kind == "ConfigMap":
            assert name == "cas"
            return {"data": {"ca.crt": self.ca}}
        assert name == "s"
        return {"data": {"k": base64.b64encode(self.token.encode()).decode()}}


def _credentials(reader: FakeSecretReader, clock: ManualClock) -> Credentials:
    return Credentials(read=reader.read, clock=clock, token_file=Path("nowhere"))


@pytest.mark.parametrize(
    "fault", [Reason.UNREACHABLE, Reason.TIMEOUT, Reason.SERVER_ERROR, Reason.UNAUTHORIZED]
)
async def test_a_token_is_used_while_the_api_server_does_not_answer(fault: Reason) -> None:
    """The old token is used, the server is asked again after a pause, and the new token is used once it
    answers.
    """
    reader, clock = FakeSecretReader(token="one"), ManualClock()
    kept = _credentials(reader, clock)
    assert await token_of(kept, TOKEN) == "one"
    reader.fault = fault
    clock.now += 60
    assert [await token_of(kept, TOKEN) for _ in range(5)] == ["one"] * 5
    assert reader.reads == 2
    reader.fault, reader.token = None, "two"
    clock.now += 10
    assert await token_of(kept, TOKEN) == "two"


async def test_a_ca_is_used_while_the_api_server_does_not_answer() -> None:
    """The server is asked once for each pause, not for each call. The CA is read again at the end of its
    time, not later.
    """
    reader, clock = FakeSecretReader(ca=Authority("one").pem), ManualClock()
    kept = _credentials(reader, clock)
    first = await kept.trust(CA)
    reader.fault = Reason.UNREACHABLE
    clock.now += 60
    for _ in range(5):
        assert await kept.trust(CA) is first
    assert reader.reads == 2
    reader.fault = None
    clock.now += 10
    assert await kept.trust(CA) is first
    assert reader.reads == 3


@pytest.mark.parametrize("fault", [Reason.NOT_FOUND, Reason.FORBIDDEN])
async def test_a_removed_token_is_not_used_any_more(fault: Reason) -> None:
    """The Secret, or the right to read it, was removed on purpose."""
    reader, clock = FakeSecretReader(token="one"), ManualClock()
    kept = _credentials(reader, clock)
    await token_of(kept, TOKEN)
    reader.fault = fault
    clock.now += KEEP_SECONDS + 1
    with pytest.raises(AgentError, match="key 'k' of Secret 's' cannot be read") as caught:
        await token_of(kept, TOKEN)
    assert caught.value.reason is Reason.TOKEN_UNAVAILABLE


async def test_a_refused_token_is_not_sent_again() -> None:
    """After a 401 only a newly read token is used. Before the first read there is none."""
    reader, clock = FakeSecretReader(token="one"), ManualClock()
    kept = _credentials(reader, clock)
    reader.fault = Reason.TIMEOUT
    with pytest.raises(AgentError):
        await token_of(kept, TOKEN)
    reader.fault = None
    await token_of(kept, TOKEN)
    reader.fault = Reason.TIMEOUT
    with pytest.raises(AgentError):
        await token_of(kept, TOKEN, refused="one")


async def test_a_ca_is_kept_too_until_it_is_replaced(tmp_path: Path) -> None:
    """While the API server does not answer, the old CA is used. A new CA is used at once."""
    old, new = Authority("old"), Authority("new")
    reader, clock = FakeSecretReader(ca=old.pem), ManualClock()
    kept, transport = _credentials(reader, clock), Transport(limits=CallLimits(total_seconds=30))
    endpoint = Endpoint(
        transport=transport, credentials=kept, auth=CA, reservation=Budget(limit=1).reservation()
    )
    async with (
        HttpFake(scores(1.0), tls=old.server(tmp_path / "a")) as one,
        HttpFake(scores(1.0), tls=new.server(tmp_path / "b")) as two,
    ):
        assert (await _get(endpoint, one)).ok
        reader.fault = Reason.UNREACHABLE
        clock.now += KEEP_SECONDS + 1
        assert (await _get(endpoint, one)).ok
        reader.fault, reader.ca = None, new.pem
        clock.now += STALE_SECONDS + 1
        assert (await _get(endpoint, two)).ok
        await transport.close()


async def test_an_unchanged_ca_keeps_its_context() -> None:
    """A context needs 38 ms and 0.8 MB, and each has a client of its own."""
    old, new = Authority("old"), Authority("new")
    reader, clock = FakeSecretReader(ca=old.pem), ManualClock()
    kept = _credentials(reader, clock)
    first = await kept.trust(CA)
    assert await kept.trust(CA) is first
    assert reader.reads == 1
    clock.now += KEEP_SECONDS + 1
    assert await kept.trust(CA) is first
    assert reader.reads == 2
    assert await kept.trust(CA, fresh=True) is first
    assert reader.reads == 3
    reader.ca = new.pem
    assert await kept.trust(CA) is first
    assert await kept.trust(CA, fresh=True) is not first


async def test_a_ca_that_was_never_read_is_a_failure_of_its_scorers() -> None:
    reader = FakeSecretReader()
    reader.fault = Reason.UNREACHABLE
    with pytest.raises(AgentError, match=r"key 'ca.crt' of ConfigMap 'cas' cannot be read: no") as caught:
        await _credentials(reader, ManualClock()).trust(CA)
    assert caught.value.reason is Reason.CA_UNAVAILABLE


async def test_without_access_to_the_api_a_secret_or_ca_names_the_flag() -> None:
    kept = Credentials(read=reader(None, namespace="n"), clock=ManualClock(), token_file=Path("nowhere"))
    with pytest.raises(AgentError, match=r"Secret 's' is needed, .* --spoke-kubeconfig") as caught:
        await token_of(kept, TOKEN)
    assert caught.value.reason is Reason.TOKEN_UNAVAILABLE
    with pytest.raises(AgentError, match=r"ConfigMap 'cas' is needed, .* --spoke-kubeconfig") as caught:
        await kept.trust(CA)
    assert caught.value.reason is Reason.CA_UNAVAILABLE


@pytest.mark.parametrize("text", ["", " \n", "no certificate", None, 7])
async def test_a_ca_without_a_certificate_is_not_replaced_by_the_systems_cas(text: object) -> None:
    """The ssl module trusts the CAs of the system if it gets an empty text."""
    with pytest.raises(AgentError, match=r"key 'ca.crt' of ConfigMap 'cas'") as caught:
        await _credentials(FakeSecretReader(ca=text), ManualClock()).trust(CA)
    assert caught.value.reason is Reason.CA_UNAVAILABLE


@pytest.mark.parametrize("found", [{}, {"data": None}, {"data": {"k": None}}, {"data": {"k": "dG9r*ZW4="}}])
async def test_a_secret_without_the_key_or_with_other_characters_holds_no_token(
    found: dict[str, Any],
) -> None:
    class OneSecret(FakeSecretReader):
        async def secret(self, name: str) -> dict[str, Any]:
            del name
            return found

    with pytest.raises(AgentError, match="key 'k' of Secret 's' holds no token") as caught:
        await token_of(_credentials(OneSecret(), ManualClock()), TOKEN)
    assert caught.value.reason is Reason.TOKEN_UNAVAILABLE


async def test_a_token_file_that_cannot_be_read_in_time_fails_the_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def hangs(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(asyncio, "to_thread", hangs)
    with pytest.raises(AgentError, match="could not be read within 5 s") as caught:
        await token_of(_credentials(FakeSecretReader(), ManualClock()), Auth(service_account_token=True))
    assert caught.value.reason is Reason.TOKEN_UNAVAILABLE
    assert asyncio.get_running_loop().time() == pytest.approx(5, abs=0.1)


@pytest.mark.parametrize("extra", [None, EndpointAuth(), EndpointAuth(ca_config_map_ref=CA.ca)])
def test_the_pods_own_token_is_sent_only_where_the_scorer_says_so(extra: EndpointAuth | None) -> None:
    """A private CA alone sends no token, and each side has its own setting."""
    ca = extra.ca_config_map_ref if extra is not None else None
    own = EndpointAuth(service_account_token=True)
    source = Summary(name="n", score_name="s", source_auth=extra, scoring_auth=own)
    assert source_auth(source) == Auth(ca=ca)
    assert scoring_auth(source) == Auth(service_account_token=True)
    scoring = Summary(name="n", score_name="s", scoring_auth=extra, source_auth=own)
    assert scoring_auth(scoring) == Auth(ca=ca)
    assert source_auth(scoring) == Auth(service_account_token=True)


@pytest.mark.parametrize("token", ["", " \n", "two\nlines", "bell\a"])
async def test_a_token_with_characters_not_allowed_in_a_header_is_refused(tmp_path: Path, token: str) -> None:
    reader, file = FakeSecretReader(token=token), tmp_path / "token"
    file.write_text(token)
    credentials = Credentials(read=reader.read, clock=ManualClock(), token_file=file)
    for auth in (TOKEN, Auth(service_account_token=True)):
        with pytest.raises(AgentError) as caught:
            await token_of(credentials, auth)
        assert caught.value.reason is Reason.TOKEN_UNAVAILABLE


async def test_a_secret_of_many_scorers_is_read_once_a_minute() -> None:
    reader, clock = FakeSecretReader(token="one"), ManualClock()
    kept = _credentials(reader, clock)
    assert await asyncio.gather(*(token_of(kept, TOKEN) for _ in range(10))) == ["one"] * 10
    assert reader.reads == 1
    clock.now += KEEP_SECONDS - 1
    await token_of(kept, TOKEN)
    assert reader.reads == 1
    clock.now += 1
    await token_of(kept, TOKEN)
    assert reader.reads == 2


async def test_each_outage_of_the_api_server_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    reader, clock = FakeSecretReader(token="one"), ManualClock()
    kept = _credentials(reader, clock)
    await token_of(kept, TOKEN)
    for absence in (1, 2):
        reader.fault = Reason.UNREACHABLE
        clock.now += KEEP_SECONDS
        for _ in range(3):
            await token_of(kept, TOKEN)
            clock.now += STALE_SECONDS
        assert [record.__dict__["reason"] for record in caplog.records] == ["token_unavailable"] * absence
        reader.fault = None
        await token_of(kept, TOKEN)


async def _get(endpoint: Endpoint, server: HttpFake) -> Answer:
    return await endpoint.call(Call(method="GET", url=f"{server.url}/"))


class SecretsByName:
    """Secrets with several keys."""

    def __init__(self, **secrets: dict[str, str]) -> None:
        self.secrets = secrets
        self.fault: Reason | None = None

    async def read(self, kind: str, name: str) -> dict[str, Any]:
        assert kind == "Secret"
        if self.fault is not None:
            msg = "no"
            raise AgentError(msg, reason=self.fault)
        values = self.secrets[name]
        return {"data": {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}}


def of_source(reader: SecretsByName, clock: ManualClock | None = None) -> Credentials:
    return Credentials(read=reader.read, clock=clock or ManualClock(), token_file=Path("nowhere"))


LOGIN = Auth(basic=BasicAuth(name="login", username_key="u", password_key="p"))
PAIR = Auth(certificate=ClientCertificate(name="pair", certificate_key="c", private_key_key="k"))


async def test_user_name_and_password_are_read_together() -> None:
    reader, clock = SecretsByName(login={"u": "me", "p": " päss word \n"}), ManualClock()
    kept = of_source(reader, clock)
    sent = await kept.sent(LOGIN)
    expected = base64.b64encode("me: päss word ".encode()).decode()
    assert sent.headers == {"Authorization": f"Basic {expected}"}
    assert sent.secrets == (" päss word ", expected)
    reader.secrets["login"] = {"u": "you", "p": "new"}
    assert await kept.sent(LOGIN) == sent, "kept"
    assert (await kept.sent(LOGIN, refused=sent)).secrets[0] == "new"


@pytest.mark.parametrize(
    ("login", "words"),
    [
        ({"u": "a:b", "p": "x"}, "key 'u' of Secret 'login' holds a colon"),
        ({"u": "me"}, "key 'p' of Secret 'login' holds no text"),
        ({"u": "", "p": "s3cret"}, "key 'u' of Secret 'login' holds no text"),
        ({"u": "me", "p": "s3cret\nof two lines"}, "key 'p' of Secret 'login' holds no text"),
    ],
)
async def test_a_login_that_cannot_be_sent_is_named_without_its_value(
    login: dict[str, str], words: str
) -> None:
    with pytest.raises(AgentError, match=words) as caught:
        await of_source(SecretsByName(login=login)).sent(LOGIN)
    assert caught.value.reason is Reason.TOKEN_UNAVAILABLE
    assert "s3cret" not in str(caught.value)


async def test_a_header_from_a_secret_is_one_line_of_ascii() -> None:
    header = Header(name="X-Key", secret_ref=SecretRef(name="s", key="k"))
    for value in ("s3cret\r\nHost: x", "s3crät", "", " s3cret"):
        with pytest.raises(AgentError, match="key 'k' of Secret 's' holds no value of a header") as caught:
            await of_source(SecretsByName(s={"k": value})).sent(Auth(headers=(header,)))
        assert "s3cr" not in str(caught.value)
    sent = await of_source(SecretsByName(s={"k": "s3cret\n"})).sent(Auth(headers=(header,)))
    assert sent.headers == {"X-Key": "s3cret"}
    assert sent.secrets == ("s3cret",), "it is hidden wherever the source quotes it"
    assert "s3cret" not in repr(sent)


async def test_headers_with_and_without_secrets_are_sent_together() -> None:
    headers = (
        Header(name="X-Org", value="a"),
        Header(name="X-Key", secret_ref=SecretRef(name="s", key="k")),
    )
    sent = await of_source(SecretsByName(s={"k": "s3cret"})).sent(Auth(headers=headers))
    assert sent.headers == {"X-Org": "a", "X-Key": "s3cret"}
    assert sent.secrets == ("s3cret",)


async def test_spaces_around_a_token_are_not_sent() -> None:
    sent = await of_source(SecretsByName(s={"k": " s3cret \n"})).sent(TOKEN)
    assert sent.headers == {"Authorization": "Bearer s3cret"}


async def test_nobody_else_can_read_a_private_key_while_it_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenSSL reads it from a file. The file is gone afterwards."""
    crt, key = Authority().pair(tmp_path, name="agent")
    loaded: list[tuple[Path, int]] = []
    load = ssl.SSLContext.load_cert_chain

    def seen(context: ssl.SSLContext, path: Path, **fields: Any) -> None:
        loaded.append((path, path.stat().st_mode & 0o777))
        load(context, path, **fields)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", seen)
    await of_source(SecretsByName(pair={"c": crt.read_text(), "k": key.read_text()})).trust(PAIR)
    [(path, mode)] = loaded
    assert mode == 0o600
    assert not path.exists()


async def test_a_temporary_directory_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crt, key = Authority().pair(tmp_path, name="agent")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(AgentError, match="the temporary directory cannot be written: No such file") as caught:
        await of_source(SecretsByName(pair={"c": crt.read_text(), "k": key.read_text()})).trust(PAIR)
    assert caught.value.reason is Reason.TOKEN_UNAVAILABLE


async def test_without_a_ca_and_a_certificate_there_is_no_context_of_its_own() -> None:
    assert await of_source(SecretsByName()).trust(Auth()) is None


async def test_a_client_certificate_is_read_again_and_kept_while_it_is_the_same(tmp_path: Path) -> None:
    crt, key = Authority().pair(tmp_path, name="agent")
    reader, clock = SecretsByName(pair={"c": crt.read_text(), "k": key.read_text()}), ManualClock()
    kept = of_source(reader, clock)
    first = await kept.trust(PAIR)
    assert first is not None
    clock.now += KEEP_SECONDS
    assert await kept.trust(PAIR) is first
    assert await kept.trust(PAIR, fresh=True) is first
    reader.fault = Reason.UNREACHABLE
    clock.now += KEEP_SECONDS
    assert await kept.trust(PAIR) is first
    reader.fault = None
    other, other_key = Authority().pair(tmp_path / "other", name="agent")
    reader.secrets["pair"] = {"c": other.read_text(), "k": other_key.read_text()}
    clock.now += KEEP_SECONDS
    assert await kept.trust(PAIR) is not first


@pytest.mark.parametrize("case", ["no-certificate", "another-key", "encrypted", "missing"])
async def test_a_pair_that_cannot_be_used_is_named_without_its_content(tmp_path: Path, case: str) -> None:
    authority = Authority()
    crt, key = authority.pair(tmp_path / "one", name="agent")
    _, other = authority.pair(tmp_path / "two", name="agent")
    loaded = serialization.load_pem_private_key(key.read_bytes(), password=None)
    locked = loaded.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"pass phrase"),
    ).decode()
    pairs = {
        "no-certificate": {"c": "nothing", "k": key.read_text()},
        "another-key": {"c": crt.read_text(), "k": other.read_text()},
        "encrypted": {"c": crt.read_text(), "k": locked},
        "missing": {"c": crt.read_text()},
    }
    words = "holds no PEM text" if case == "missing" else "are not a PEM certificate and its private key"
    with pytest.raises(AgentError, match=words) as caught:
        await of_source(SecretsByName(pair=pairs[case])).trust(PAIR)
    assert caught.value.reason is Reason.TOKEN_UNAVAILABLE
    assert "'pair'" in str(caught.value)
    assert "BEGIN" not in str(caught.value)


def test_credentials_of_the_source_are_not_those_of_the_scoring_api() -> None:
    header = Header(name="X-Org", value="a")
    scorer = Summary(
        name="a",
        score_name="a",
        source_headers=(header,),
        source_basic_auth=LOGIN.basic,
        source_client_certificate=PAIR.certificate,
    )
    assert source_auth(scorer) == Auth(headers=(header,), basic=LOGIN.basic, certificate=PAIR.certificate)
    assert scoring_auth(scorer) == Auth()
