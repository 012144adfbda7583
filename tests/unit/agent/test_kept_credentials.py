"""Cached tokens and CAs while the managed cluster's API server does not answer or refuses."""

import asyncio
import base64
import re
import ssl
import tempfile
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization

from dsf_agent.endpoints.auth import RequestAuth, scoring_auth, source_auth
from dsf_agent.endpoints.credentials import EndpointCredentials, SentCredentials
from dsf_agent.endpoints.keptobjects import ReadObject, reader
from dsf_agent.errors import AgentError
from dsf_runtime.oauth2 import OAuth2Client
from dsf_wire.scored import Reason
from dsf_wire.summary import (
    NEEDS_NEWER_AGENT,
    BasicAuth,
    ClientCertificate,
    ClientSecret,
    ConfigMapRef,
    EndpointAuth,
    Header,
    OAuth2,
    ScorerSummary,
    SecretRef,
)
from gitops_dsf.repository.model.base import SECRET_KEY
from tests.support.agent.certificates import Authority
from tests.support.virtual_time import wall

KEEP_SECONDS = 60.0
STALE_SECONDS = 10.0

TOKEN = RequestAuth(secret_name="s", secret_key="k")
CA = RequestAuth(ca=ConfigMapRef(name="cas", key="ca.crt"))
OWN = RequestAuth(service_account_token=True)
LOGIN = RequestAuth(basic=BasicAuth(name="login", username_key="u", password_key="p"))
PAIR = RequestAuth(
    certificate=ClientCertificate(name="pair", certificate_key="c", private_key_key="k")
)
KEY_HEADER = Header(name="X-Key", secret_ref=SecretRef(name="s", key="k"))


class Api:
    """Secrets and one ConfigMap, or a reason why they cannot be read."""

    def __init__(self, *, token: str = "", ca: object = "", **secrets: dict[str, str]) -> None:
        self.secrets = {"s": {"k": token}, **secrets}
        self.ca = ca
        self.fault: Reason | None = None
        self.reads = 0

    async def read(self, kind: str, name: str) -> dict[str, Any]:
        self.reads += 1
        await asyncio.sleep(0)
        if self.fault is not None:
            raise AgentError("no", reason=self.fault)
        if kind == "ConfigMap":
            assert name == "cas"
            return {"data": {"ca.crt": self.ca}}
        values = self.secrets[name]
        return {
            "data": {
                key: base64.b64encode(value.encode()).decode() for key, value in values.items()
            }
        }


def credentials(api: Api, *, token_file: Path = Path("nowhere")) -> EndpointCredentials:
    return kept_of(api.read, token_file=token_file)


def kept_of(read: ReadObject, *, token_file: Path = Path("nowhere")) -> EndpointCredentials:
    async def ask(client: OAuth2Client, trust: ssl.SSLContext | None) -> bytes:
        raise AssertionError(client, trust)

    return EndpointCredentials(read=read, token_file=token_file, ask=ask, wall=wall)


async def token_of(kept: EndpointCredentials, *, refused: bool = False) -> str:
    """The bearer token that is sent; ``refused`` if the last one got 401."""
    sent = await kept.sent(
        TOKEN, refused=SentCredentials(number=kept._objects.reads) if refused else None
    )
    return sent.headers["Authorization"].removeprefix("Bearer ")


def pair_in(folder: Path) -> dict[str, str]:
    crt, key = Authority().pair(folder, name="agent")
    return {"c": crt.read_text(), "k": key.read_text()}


@pytest.mark.parametrize(
    "fault", [Reason.UNREACHABLE, Reason.TIMEOUT, Reason.SERVER_ERROR, Reason.UNAUTHORIZED]
)
async def test_a_token_is_used_while_the_api_server_does_not_answer(fault: Reason) -> None:
    api = Api(token="one")
    kept = credentials(api)
    assert await token_of(kept) == "one"
    api.fault = fault
    await asyncio.sleep(60)
    assert [await token_of(kept) for _ in range(5)] == ["one"] * 5
    assert api.reads == 2
    api.fault, api.secrets["s"] = None, {"k": "two"}
    await asyncio.sleep(10)
    assert await token_of(kept) == "two"


async def test_a_ca_is_kept_and_its_context_while_it_is_the_same() -> None:
    """Also while the API server does not answer, which is asked once for each pause, not for each
    call. A context needs 38 ms and 0.8 MB, and each has a client of its own.
    """
    api = Api(ca=Authority("one").pem)
    kept = credentials(api)
    first = await kept.trust(CA)
    api.fault = Reason.UNREACHABLE
    await asyncio.sleep(KEEP_SECONDS + 1)
    for _ in range(5):
        assert await kept.trust(CA) is first
    assert api.reads == 2
    api.fault = None
    await asyncio.sleep(STALE_SECONDS + 1)
    assert await kept.trust(CA) is first
    assert api.reads == 3
    assert await kept.trust(CA, fresh=True) is first
    assert api.reads == 4
    api.ca = Authority("new").pem
    assert await kept.trust(CA) is first
    assert await kept.trust(CA, fresh=True) is not first


@pytest.mark.parametrize("fault", [Reason.NOT_FOUND, Reason.FORBIDDEN])
async def test_a_removed_token_is_not_used_any_more(fault: Reason) -> None:
    api = Api(token="one")
    kept = credentials(api)
    await token_of(kept)
    api.fault = fault
    await asyncio.sleep(KEEP_SECONDS + 1)
    with pytest.raises(AgentError, match="key 'k' of Secret 's' cannot be read") as caught:
        await token_of(kept)
    assert caught.value.reason is Reason.TOKEN_UNAVAILABLE


async def test_a_refused_token_is_not_sent_again() -> None:
    api = Api(token="one")
    kept = credentials(api)
    for refused in (False, True):
        api.fault = Reason.TIMEOUT
        with pytest.raises(AgentError):
            await token_of(kept, refused=refused)
        api.fault = None
        await token_of(kept)


async def test_a_secret_of_many_scorers_is_read_once_a_minute() -> None:
    api = Api(token="one")
    kept = credentials(api)
    assert await asyncio.gather(*(token_of(kept) for _ in range(10))) == ["one"] * 10
    for seconds, reads in ((KEEP_SECONDS - 1, 1), (1, 2)):
        await asyncio.sleep(seconds)
        await token_of(kept)
        assert api.reads == reads


async def test_each_outage_of_the_api_server_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    api = Api(token="one")
    kept = credentials(api)
    await token_of(kept)
    for absence in (1, 2):
        api.fault = Reason.UNREACHABLE
        await asyncio.sleep(KEEP_SECONDS)
        for _ in range(3):
            await token_of(kept)
            await asyncio.sleep(STALE_SECONDS)
        assert [record.__dict__["reason"] for record in caplog.records] == [
            "token_unavailable"
        ] * absence
        api.fault = None
        await token_of(kept)


async def test_without_access_to_the_api_a_secret_or_ca_names_the_flag() -> None:
    kept = kept_of(reader(None, namespace="n"))
    with pytest.raises(AgentError, match=r"Secret 's' is needed, .* --spoke-kubeconfig") as caught:
        await token_of(kept)
    assert caught.value.reason is Reason.TOKEN_UNAVAILABLE
    with pytest.raises(
        AgentError, match=r"ConfigMap 'cas' is needed, .* --spoke-kubeconfig"
    ) as caught:
        await kept.trust(CA)
    assert caught.value.reason is Reason.CA_UNAVAILABLE


@pytest.mark.parametrize("text", ["", " \n", "no certificate", None, 7])
async def test_a_ca_without_a_certificate_is_not_replaced_by_the_systems_cas(text: object) -> None:
    """The ssl module trusts the CAs of the system if it gets an empty text."""
    with pytest.raises(AgentError, match=r"key 'ca.crt' of ConfigMap 'cas'") as caught:
        await credentials(Api(ca=text)).trust(CA)
    assert caught.value.reason is Reason.CA_UNAVAILABLE


@pytest.mark.parametrize(
    "found", [{}, {"data": None}, {"data": {"k": None}}, {"data": {"k": "dG9r*ZW4="}}]
)
async def test_a_secret_without_the_key_or_with_other_characters_holds_no_token(
    found: dict[str, Any],
) -> None:
    async def read(_kind: str, _name: str) -> dict[str, Any]:
        return found

    kept = kept_of(read)
    with pytest.raises(AgentError, match="key 'k' of Secret 's' holds no token") as caught:
        await token_of(kept)
    assert caught.value.reason is Reason.TOKEN_UNAVAILABLE


@pytest.mark.parametrize("token", ["", " \n", "two\nlines", "bell\a"])
async def test_a_token_with_characters_not_allowed_in_a_header_is_refused(
    tmp_path: Path, token: str
) -> None:
    file = tmp_path / "token"
    file.write_text(token)
    for auth in (TOKEN, OWN):
        with pytest.raises(AgentError) as caught:
            await credentials(Api(token=token), token_file=file).sent(auth)
        assert caught.value.reason is Reason.TOKEN_UNAVAILABLE


async def test_a_token_file_that_cannot_be_read_in_time_fails_the_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def hangs(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(asyncio, "to_thread", hangs)
    with pytest.raises(AgentError, match="could not be read within 5 s") as caught:
        await credentials(Api()).sent(OWN)
    assert caught.value.reason is Reason.TOKEN_UNAVAILABLE
    assert asyncio.get_running_loop().time() == pytest.approx(5, abs=0.1)


@pytest.mark.parametrize("extra", [None, EndpointAuth(), EndpointAuth(ca_config_map_ref=CA.ca)])
def test_each_side_has_its_own_credentials(extra: EndpointAuth | None) -> None:
    ca = extra.ca_config_map_ref if extra is not None else None
    header, own = Header(name="X-Org", value="a"), EndpointAuth(service_account_token=True)
    scoring = ScorerSummary(name="n", score_name="s", scoring_auth=extra, source_auth=own)
    assert (scoring_auth(scoring), source_auth(scoring)) == (RequestAuth(ca=ca), OWN)
    source = ScorerSummary(
        name="n",
        score_name="s",
        source_auth=extra,
        scoring_auth=own,
        source_headers=(header,),
        source_basic_auth=LOGIN.basic,
        source_client_certificate=PAIR.certificate,
    )
    expected = RequestAuth(
        ca=ca, headers=(header,), basic=LOGIN.basic, certificate=PAIR.certificate
    )
    assert (scoring_auth(source), source_auth(source)) == (OWN, expected)


async def test_an_agent_that_does_not_know_a_credential_sends_nothing() -> None:
    """It looks for the key beside the credential in the Secret, and no Secret has it.

    This agent does not.
    """
    client = ClientSecret(name="s", client_id_key="i", client_secret_key="k")
    oauth2 = OAuth2(token_url="https://login.example.com/token", client_secret_ref=client)
    entry = ScorerSummary(
        name="n",
        score_name="s",
        scoring_endpoint_auth_name="s",
        scoring_endpoint_auth_key=NEEDS_NEWER_AGENT,
        scoring_auth=EndpointAuth(oauth2=oauth2),
        scoring_client_certificate=PAIR.certificate,
    )
    assert scoring_auth(entry) == RequestAuth(oauth2=oauth2, certificate=PAIR.certificate)
    older = RequestAuth(secret_name="s", secret_key=NEEDS_NEWER_AGENT)
    with pytest.raises(
        AgentError, match=r"key '\(needs a newer agent\)' of Secret 's' holds no token"
    ):
        await credentials(Api(token="s3cret")).sent(older)
    assert re.fullmatch(SECRET_KEY, NEEDS_NEWER_AGENT) is None


async def test_user_name_and_password_are_read_together() -> None:
    api = Api(login={"u": "me", "p": " päss word \n"})
    kept = credentials(api)
    sent = await kept.sent(LOGIN)
    expected = base64.b64encode("me: päss word ".encode()).decode()
    assert sent.headers == {"Authorization": f"Basic {expected}"}
    assert sent.secrets == (" päss word ", expected)
    api.secrets["login"] = {"u": "you", "p": "new"}
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
        await credentials(Api(login=login)).sent(LOGIN)
    assert caught.value.reason is Reason.TOKEN_UNAVAILABLE
    assert "s3cret" not in str(caught.value)


async def test_a_header_from_a_secret_is_one_line_of_ascii() -> None:
    for value in ("s3cret\r\nHost: x", "s3crät", ""):
        with pytest.raises(
            AgentError, match="key 'k' of Secret 's' holds no value of a header"
        ) as caught:
            await credentials(Api(token=value)).sent(RequestAuth(headers=(KEY_HEADER,)))
        assert "s3cr" not in str(caught.value)
    headers = (Header(name="X-Org", value="a"), KEY_HEADER)
    for value in ("s3cret\n", " s3cret", "\ufeffs3cret\r\n"):
        sent = await credentials(Api(token=value)).sent(RequestAuth(headers=headers))
        assert sent.headers == {"X-Org": "a", "X-Key": "s3cret"}
    assert sent.secrets == ("s3cret",), "it is hidden wherever the source quotes it"
    assert "s3cret" not in repr(sent)
    assert await token_of(credentials(Api(token=" s3cret \n"))) == "s3cret", (
        "spaces around a token are not"
    )


async def test_nobody_else_can_read_a_private_key_while_it_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[tuple[Path, int]] = []
    load = ssl.SSLContext.load_cert_chain

    def seen(context: ssl.SSLContext, path: Path, **fields: Any) -> None:
        loaded.append((path, path.stat().st_mode & 0o777))
        load(context, path, **fields)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", seen)
    api = Api(pair=pair_in(tmp_path))
    await credentials(api).trust(PAIR)
    [(path, mode)] = loaded
    assert mode == 0o600
    assert not path.exists()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(
        AgentError, match="the temporary directory cannot be written: No such file"
    ) as caught:
        await credentials(api).trust(PAIR)
    assert caught.value.reason is Reason.TOKEN_UNAVAILABLE


async def test_a_client_certificate_is_read_again_and_kept_while_it_is_the_same(
    tmp_path: Path,
) -> None:
    api = Api(pair=pair_in(tmp_path))
    kept = credentials(api)
    assert await kept.trust(RequestAuth()) is None, (
        "no context of its own without a CA and a certificate"
    )
    first = await kept.trust(PAIR)
    assert first is not None
    await asyncio.sleep(KEEP_SECONDS)
    assert await kept.trust(PAIR) is first
    assert await kept.trust(PAIR, fresh=True) is first
    api.fault = Reason.UNREACHABLE
    await asyncio.sleep(KEEP_SECONDS)
    assert await kept.trust(PAIR) is first
    api.fault = None
    api.secrets["pair"] = pair_in(tmp_path / "other")
    await asyncio.sleep(KEEP_SECONDS)
    assert await kept.trust(PAIR) is not first


@pytest.mark.parametrize(
    "case", ["no-certificate", "another-key", "encrypted", "no-key", "missing"]
)
async def test_a_pair_that_cannot_be_used_is_named_without_its_content(
    tmp_path: Path, case: str
) -> None:
    pair = pair_in(tmp_path)
    locked = serialization.load_pem_private_key(pair["k"].encode(), password=None).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"pass phrase"),
    )
    pairs = {
        "no-certificate": {**pair, "c": "nothing"},
        "another-key": {**pair, "k": pair_in(tmp_path / "two")["k"]},
        "encrypted": {**pair, "k": locked.decode()},
        "no-key": {**pair, "k": "nothing"},
        "missing": {"c": pair["c"]},
    }
    words = {
        "no-certificate": "key 'c' of Secret 'pair' holds no PEM certificate",
        "another-key": (
            "keys 'c' and 'k' of Secret 'pair' do not belong together: the private key is that of"
        ),
        "encrypted": (
            "key 'k' of Secret 'pair' is a private key with a password; write it without one"
        ),
        "no-key": "key 'k' of Secret 'pair' holds no PEM private key",
        "missing": "key 'k' of Secret 'pair' holds no PEM text",
    }
    with pytest.raises(AgentError, match=words[case]) as caught:
        await credentials(Api(pair=pairs[case])).trust(PAIR)
    assert caught.value.reason is Reason.TOKEN_UNAVAILABLE
    assert "'pair'" in str(caught.value)
    assert "BEGIN" not in str(caught.value)


async def test_a_certificate_is_said_to_be_expired_from_its_end_on(tmp_path: Path) -> None:
    kept = credentials(Api(pair=pair_in(tmp_path)))
    await kept.trust(PAIR)
    assert (kept.expired(PAIR), kept.expired(TOKEN)) == ("", "")
    await asyncio.sleep(2 * 86_400)
    assert kept.expired(TOKEN) == ""
    assert re.fullmatch(
        r"the client certificate in Secret 'pair' expired on \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC",
        kept.expired(PAIR),
    )


async def test_what_no_endpoint_needs_any_more_is_forgotten() -> None:
    """A Secret of a removed scorer does not stay in memory, and is read again if it is needed
    again.
    """
    authority = Authority()
    api = Api(token="token-1", ca=authority.pem, login={"u": "user", "p": "password"})
    closed: list[ssl.SSLContext] = []
    kept = credentials(api)
    kept._contexts._forgotten = closed.append
    await kept.sent(TOKEN)
    await kept.sent(LOGIN)
    trust = await kept.trust(CA)
    assert api.reads == 3
    kept.keep_only([TOKEN, CA])
    assert (
        set(kept._objects._kept)
        == set(kept._objects._locks)
        == {("Secret", "s"), ("ConfigMap", "cas")}
    )
    await kept.sent(TOKEN)
    assert await kept.trust(CA) is trust
    assert (api.reads, closed) == (3, []), "what is needed stays"
    await kept.sent(LOGIN)
    assert api.reads == 4
    kept.keep_only([])
    assert closed == [trust]
    assert (kept._objects._kept, kept._objects._locks) == ({}, {})
    assert (kept._contexts._contexts, kept._contexts._ends) == ({}, {})
