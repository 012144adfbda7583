"""The credentials that an agent reads are the same as the kubernetes package reads for people."""

import base64
import json
import ssl
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from dsf_runtime.access import Access, AccessError, InCluster, fingerprint
from dsf_runtime.access import KubeconfigFile as AgentKubeconfig
from gitops_dsf.hubreader.kubeconfig import Kubeconfig, current_context
from tests.support.agent.certificates import Authority

SERVER = "https://hub.example:6443"


def written(
    folder: Path, *, cluster: dict[str, Any], user: dict[str, Any], current: str | None = "one"
) -> Path:
    plain = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "c", "cluster": {"server": SERVER, **cluster}},
            {"name": "other", "cluster": {"server": "https://x"}},
        ],
        "users": [{"name": "u", "user": user}],
        "contexts": [
            {"name": "one", "context": {"cluster": "c", "user": "u"}},
            {"name": "nobody", "context": {"cluster": "other"}},
        ],
        **({"current-context": current} if current else {}),
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(plain))
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    authority = Authority()
    (folder / "ca.crt").write_text(f"# ünser CA\n{authority.pem}")
    authority.pair(folder, name="client")
    (folder / "token").write_text("from-a-file\n")
    return folder


def inline(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


PLAIN: dict[str, Callable[[Path], tuple[dict[str, Any], dict[str, Any]]]] = {
    "a token": lambda _: ({}, {"token": "t"}),
    "nobody": lambda _: ({}, {}),
    "a token file": lambda _: ({}, {"tokenFile": "token"}),
    "an absolute token file": lambda files: ({}, {"tokenFile": str(files / "token")}),
    "a CA": lambda _: ({"certificate-authority": "ca.crt"}, {"token": "t"}),
    "a CA inside": lambda files: (
        {"certificate-authority-data": inline(files / "ca.crt")},
        {"token": "t"},
    ),
    "a CA inside and in a file": lambda files: (
        {"certificate-authority-data": inline(files / "ca.crt"), "certificate-authority": "no"},
        {},
    ),
    "no check": lambda _: ({"insecure-skip-tls-verify": True}, {"token": "t"}),
    "a server name": lambda _: ({"tls-server-name": "other.example"}, {"token": "t"}),
    "a proxy": lambda _: ({"proxy-url": "http://proxy.example:3128"}, {"token": "t"}),
    "a certificate": lambda _: ({}, {"client-certificate": "tls.crt", "client-key": "tls.key"}),
    "a certificate inside": lambda files: (
        {},
        {
            "client-certificate-data": inline(files / "tls.crt"),
            "client-key-data": inline(files / "tls.key"),
        },
    ),
    "a certificate and its key inside": lambda files: (
        {},
        {"client-certificate": "tls.crt", "client-key-data": inline(files / "tls.key")},
    ),
}


def facts(access: Access) -> dict[str, object]:
    return {
        "host": access.host,
        "authorization": access.authorization,
        "server_name": access.server_name,
        "proxy": access.proxy,
        "verify": (access.trust.verify_mode, access.trust.check_hostname),
        "authorities": sorted(
            json.dumps(each, sort_keys=True) for each in access.trust.get_ca_certs()
        ),
    }


@pytest.mark.parametrize("kind", PLAIN)
@pytest.mark.parametrize("proxy", ["", "http://from-the-environment.example:3128"])
def test_both_readers_give_the_same_credentials(
    kind: str, proxy: str, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    if proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy)
    cluster, user = PLAIN[kind](files)
    path = written(files, cluster=cluster, user=user)
    assert facts(AgentKubeconfig(path=path).load()) == facts(Kubeconfig(path=path).load())


def test_hosts_of_no_proxy_are_called_directly(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", "hub.example")
    monkeypatch.setenv("no_proxy", "hub.example")
    path = written(files, cluster={}, user={})
    for kind in (Kubeconfig, AgentKubeconfig):
        assert kind(path=path).load().proxy is None


def test_exec_plug_ins_are_left_to_the_package(files: Path) -> None:
    credential = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": "from-a-plug-in"},
    }
    plug_in = files / "plug-in"
    plug_in.write_text(f"#!{sys.executable}\nprint({json.dumps(json.dumps(credential))})\n")
    plug_in.chmod(0o755)
    path = written(files, cluster={}, user=plug_in_user(plug_in))
    assert Kubeconfig(path=path).load().authorization == "Bearer from-a-plug-in"


def plug_in_user(command: Path | str) -> dict[str, Any]:
    api = "client.authentication.k8s.io/v1"
    return {"exec": {"apiVersion": api, "command": str(command), "interactiveMode": "Never"}}


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (None, "getting credentials: exec: executable .*no-such-plug-in not found: install"),
        ("", r"exec: executable .*failing-plug-in cannot be started: Permission denied"),
        (
            "import sys; sys.exit('Unable to locate\\n\\x1b[31mcredentials')",
            "Unable to locate .*credentials",
        ),
        ("print('no JSON')", "getting credentials: exec: failed to decode process output"),
        ("print('{}')", "getting credentials: exec: malformed response"),
    ],
)
def test_a_plug_in_that_fails_is_an_error_and_no_anonymous_user(
    files: Path, capfd: pytest.CaptureFixture[str], program: str | None, words: str
) -> None:
    plug_in = files / ("no-such-plug-in" if program is None else "failing-plug-in")
    if program is not None:
        plug_in.write_text(f"#!{sys.executable}\n{program}\n")
        plug_in.chmod(0o755 if program else 0o644)
    with pytest.raises(AccessError, match=words) as told:
        Kubeconfig(path=written(files, cluster={}, user=plug_in_user(plug_in))).load()
    assert str(told.value).isprintable()
    assert capfd.readouterr() == ("", "")


def test_an_agent_does_not_use_plug_ins(files: Path) -> None:
    path = written(files, cluster={}, user={"exec": {"command": "no"}})
    with pytest.raises(
        AccessError, match="its user has exec; an agent reads tokens and client certificates"
    ):
        AgentKubeconfig(path=path).load()


def test_a_context_can_be_named_and_must_exist(files: Path) -> None:
    path = written(files, cluster={}, user={"token": "t"}, current=None)
    assert Kubeconfig(path=path, context="one").load().authorization == "Bearer t"
    assert Kubeconfig(path=path, context="nobody").load().host == "https://x"
    with pytest.raises(AccessError, match="there is no context two, only one, nobody"):
        Kubeconfig(path=path, context="two").load()


def test_a_kubeconfig_of_nothing_but_brackets_is_an_error(files: Path) -> None:
    path = files / "deep"
    path.write_text("[" * 700)  # Python stops the parser before it has read 500.
    for kind in (Kubeconfig, AgentKubeconfig):
        with pytest.raises(AccessError, match="kubeconfig") as caught:
            kind(path=path).load()
        assert isinstance(caught.value.__cause__, RecursionError)
    with pytest.raises(AccessError, match="it is not YAML") as caught:
        current_context(path)
    assert isinstance(caught.value.__cause__, RecursionError)


def test_a_missing_kubeconfig_or_package_is_named(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(files, cluster={}, user={"token": "t"})
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    with pytest.raises(AccessError, match="run it as a pod, without --kubeconfig"):
        Kubeconfig(path=path).load()
    monkeypatch.setenv("KUBECONFIG", str(files / "missing"))
    with pytest.raises(
        AccessError, match="missing does not exist; name a file that does, or set KUBECONFIG"
    ):
        Kubeconfig(context="hub").load()


@pytest.mark.parametrize(
    ("user", "words"),
    [
        ({"token": "secr\tet"}, "not allowed in an HTTP header"),
        ({"token": "first-secret\nsecond-secret"}, "its token has more than one line"),
        ({"token": "secret-ü"}, "its token has a character that is not allowed in an HTTP header"),
        ({"tokenFile": "nowhere"}, "No such file"),
        ({"client-certificate-data": "c2VjcmV0", "client-key-data": "c2VjcmV0"}, "kubeconfig"),
    ],
)
def test_errors_do_not_contain_values(files: Path, user: dict[str, Any], words: str) -> None:
    for kind in (Kubeconfig, AgentKubeconfig):
        with pytest.raises(AccessError, match=words) as told:
            kind(path=written(files, cluster={}, user=user)).load()
        assert "secr" not in str(told.value)


def test_a_byte_order_mark_is_no_part_of_a_token(files: Path) -> None:
    (files / "marked").write_bytes(b"\xef\xbb\xbfs3cret\r\n")
    for user in ({"token": "\ufeffs3cret"}, {"tokenFile": str(files / "marked")}):
        for kind in (Kubeconfig, AgentKubeconfig):
            access = kind(path=written(files, cluster={}, user=user)).load()
            assert access.authorization == "Bearer s3cret"


@pytest.mark.parametrize(
    "content", [b"s3cret-1\ns3cret-2", b"s3cret\xff", b"s3cret\x07", b"\n", b""]
)
def test_a_token_file_that_cannot_be_sent_is_named(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "hub")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    token = tmp_path / "token"
    token.write_bytes(content)
    (tmp_path / "ca.crt").write_bytes((files / "ca.crt").read_bytes())
    agents = AgentKubeconfig(path=written(files, cluster={}, user={"tokenFile": str(token)}))
    for kind in (agents, InCluster(folder=tmp_path)):
        with pytest.raises(AccessError, match=str(token)) as told:
            kind.load()
        assert "s3cret" not in str(told.value)


@pytest.mark.parametrize("server", ["https://hub:99999", "https://", "ftp://hub"])
def test_a_server_that_no_request_reaches_is_told(files: Path, server: str) -> None:
    path = written(files, cluster={"server": server}, user={"token": "t"})
    for kind in (Kubeconfig, AgentKubeconfig):
        with pytest.raises(
            AccessError, match="its server is not an http or https URL with a valid port"
        ):
            kind(path=path).load()


def test_without_a_path_it_is_the_file_of_kubectl(
    files: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = written(files, cluster={}, user={"token": "t"})
    monkeypatch.setenv("KUBECONFIG", str(path))
    assert Kubeconfig().load().host == SERVER
    extra = tmp_path / "extra"
    extra.write_text(yaml.safe_dump({"users": [], "clusters": [], "contexts": []}))
    monkeypatch.setenv("KUBECONFIG", f"{extra}:{path}")
    assert Kubeconfig(context="one").load().host == SERVER


def test_the_pods_own_account(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(AccessError, match="does not run in a pod"):
        InCluster(folder=files).load()
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    access = InCluster(folder=files).load()
    assert (access.host, access.authorization) == ("https://[fd00::1]:443", "Bearer from-a-file")
    assert access.trust.verify_mode is ssl.CERT_REQUIRED
    assert access.fingerprint == fingerprint(access.files)
