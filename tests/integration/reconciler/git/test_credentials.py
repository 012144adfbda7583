"""Credentials of a mounted Secret.

They reach the server that they are meant for, and are seen nowhere else.
"""

import asyncio
import logging
import os
import shlex
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitops_dsf.reconciler.git.clone import Clone
from gitops_dsf.reconciler.git.credentials import GitCredentials, GitError
from gitops_dsf.reconciler.settings import GitSettings
from tests.hub.controlplane.gitserver import GitServer
from tests.support.commandline import output_of

pytestmark = pytest.mark.real_time  # git is a process, and its server a thread

SECRET = "s3cret'\"$(id)\\ %/pass"
AT = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    with GitServer(folder=tmp_path / "git") as server:
        server.create("fleet")
        yield server


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    folder = tmp_path / "a secret's folder"
    folder.mkdir()
    return folder


def clone(server: GitServer, secret: Path | None, tmp_path: Path) -> Clone:
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    settings = GitSettings(
        url=f"{server.url}/fleet.git", author="Fleet <fleet@example.com>", credentials=secret
    )
    return Clone(settings=settings, folder=work)


@pytest.mark.parametrize(
    ("files", "account"),
    [
        ({"token": SECRET}, f"x-access-token:{SECRET}"),
        ({"token": f"{SECRET}\n"}, f"x-access-token:{SECRET}"),
        ({"token": f"{SECRET}\r\n", "username": "oauth2\r\n"}, f"oauth2:{SECRET}"),
        ({"username": "tom", "password": SECRET}, f"tom:{SECRET}"),
    ],
)
async def test_each_kind_of_secret_opens_the_server(
    server: GitServer, secret: Path, tmp_path: Path, files: dict[str, str], account: str
) -> None:
    for name, text in files.items():
        (secret / name).write_bytes(text.encode())
    server.manners.account = account
    assert list(await clone(server, secret, tmp_path).heads("main")) == ["main"]


@pytest.mark.parametrize("name", ["token", "password", "username"])
@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"s3cret-one\ns3cret-two\n", "has more than one line"),
        (b"s3cret-one\x07", "has a c"),
        (b"s3cret-\xff", "is not UTF-8 text"),
        (b"\n", "is empty"),
    ],
    ids=["lines", "bell", "latin", "empty"],
)
async def test_a_secret_that_git_cannot_use_is_named_and_not_repeated(
    server: GitServer, secret: Path, tmp_path: Path, name: str, content: bytes, told: str
) -> None:
    (secret / name).write_bytes(content)
    for other in {"username", "password"} - {name} if name != "token" else set[str]():
        (secret / other).write_text("tom")
    with pytest.raises(GitError) as caught:
        await clone(server, secret, tmp_path).heads("main")
    assert f"{secret / name} {told}" in str(caught.value)
    assert "s3cret" not in str(caught.value)


async def test_a_byte_order_mark_is_no_part_of_a_secret(
    server: GitServer, secret: Path, tmp_path: Path
) -> None:
    (secret / "token").write_bytes(b"\xef\xbb\xbftoken-1234\r\n")
    (secret / "username").write_bytes(b"\xef\xbb\xbftom\r\n")
    server.manners.account = "tom:token-1234"
    assert list(await clone(server, secret, tmp_path).heads("main")) == ["main"]
    assert GitCredentials(folder=secret).token() == "token-1234"


@pytest.mark.parametrize("content", ["s3cret-one\ns3cret-two", "s3cret-\u00e9", "s3cret-\x07"])
def test_a_token_that_a_forge_cannot_get_is_named_and_not_repeated(
    secret: Path, content: str
) -> None:
    (secret / "token").write_text(content, encoding="utf-8")
    with pytest.raises(GitError) as caught:
        GitCredentials(folder=secret).token()
    assert str(caught.value).startswith(f"{secret / 'token'} has ")
    assert "s3cret" not in str(caught.value)


async def test_a_rotated_secret_counts_at_once_and_errors_do_not_repeat_it(
    server: GitServer, secret: Path, tmp_path: Path
) -> None:
    (secret / "token").write_text("old-token-1234", encoding="utf-8")
    server.manners.account = "x-access-token:new-token-5678"
    mine = clone(server, secret, tmp_path)
    with pytest.raises(GitError, match="Authentication failed") as caught:
        await mine.heads("main")
    assert "old-token-1234" not in str(caught.value)
    (secret / "token").write_text("new-token-5678", encoding="utf-8")
    assert list(await mine.heads("main")) == ["main"]


async def test_without_credentials_nothing_is_asked_for(
    server: GitServer, secret: Path, tmp_path: Path
) -> None:
    server.manners.account = "tom:secret"
    with pytest.raises(GitError, match="could not read Username"):
        await clone(server, None, tmp_path).heads("main")
    with pytest.raises(GitError, match="neither token nor username and password"):
        await clone(server, secret, tmp_path).heads("main")


async def test_no_process_and_no_log_shows_a_secret_while_a_push_runs(
    server: GitServer, secret: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    (secret / "token").write_text("ghp_veryvisible42", encoding="utf-8")
    server.manners.account = "x-access-token:ghp_veryvisible42"
    mine = clone(server, secret, tmp_path)
    await mine.heads("main")
    commit = await mine.commit_files({"a": b"1"}, parent=None, message="x", at=AT)
    server.manners.push_seconds = 0.75
    push = asyncio.create_task(mine.push(commit, branch="state", expected=None))
    seen: set[str] = set()
    shown: set[str] = set()
    while not push.done():
        await asyncio.to_thread(_scan, seen, shown)
    await push
    assert any("git-remote-http" in line or "git remote-http" in line for line in seen), (
        "the push was watched"
    )
    assert any("credential" in line for line in seen)
    assert not shown
    assert "ghp_veryvisible42" not in caplog.text
    for path in (tmp_path / "work").rglob("*"):
        assert path.is_dir() or b"ghp_veryvisible42" not in path.read_bytes(), path


def _scan(seen: set[str], shown: set[str]) -> None:
    """Looks at every process for the token in clear or as HTTP sends it; this process alone knows
    them.
    """
    forms = (b"ghp_veryvisible42", b"eC1hY2Nlc3MtdG9rZW46Z2hwX3")
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line, environment = (folder / "cmdline").read_bytes(), (folder / "environ").read_bytes()
        except OSError:
            continue
        seen.add(line.replace(b"\0", b" ").decode(errors="replace"))
        if int(folder.name) != os.getpid() and any(
            form in text for form in forms for text in (line, environment)
        ):
            shown.add(line.decode(errors="replace"))


async def test_another_server_never_gets_the_secret(
    server: GitServer, secret: Path, tmp_path: Path
) -> None:
    (secret / "token").write_text(SECRET, encoding="utf-8")
    configuration = dict(
        GitCredentials(folder=secret).settings("https://git.example.com/fleet.git")
    )
    assert set(configuration) == {"credential.helper", "credential.https://git.example.com.helper"}
    assert SECRET not in str(configuration)
    assert GitCredentials(folder=secret).settings(f"file://{tmp_path}") == ()


def test_ssh_uses_the_files_of_the_secret_alone(secret: Path) -> None:
    url = "git@git.example.com:team/fleet.git"
    with pytest.raises(GitError, match="lacks ssh-privatekey or known_hosts"):
        GitCredentials(folder=secret).settings(url)
    with pytest.raises(GitError, match="--git-credentials is not given"):
        GitCredentials(folder=None).settings(url)
    (secret / "ssh-privatekey").write_text("KEY", encoding="utf-8")
    (secret / "known_hosts").write_text("git.example.com ssh-ed25519 AAAA", encoding="utf-8")
    command = dict(GitCredentials(folder=secret).settings(url))["core.sshCommand"]
    assert "KEY" not in command


@pytest.mark.skipif(shutil.which("ssh") is None, reason="needs OpenSSH's client")
def test_ssh_understands_its_options(secret: Path, tmp_path: Path) -> None:
    for name in ("ssh-privatekey", "known_hosts"):
        (secret / name).write_text("x", encoding="utf-8")
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/config").write_text(
        "Host *\n  StrictHostKeyChecking no\n  User nobody\n", encoding="utf-8"
    )
    command = dict(GitCredentials(folder=secret).settings("git@git.example.com:team/fleet.git"))[
        "core.sshCommand"
    ]
    words = [*shlex.split(command), "-G", "git@git.example.com"]
    shown = output_of(*words, environ={"HOME": str(tmp_path)}).splitlines()
    found = {name: value for name, _, value in (line.partition(" ") for line in shown)}
    assert found["identityfile"] == str(secret / "ssh-privatekey")
    assert found["userknownhostsfile"] == str(secret / "known_hosts")
    assert found["stricthostkeychecking"] == "true"
    assert (found["batchmode"], found["identitiesonly"], found["user"]) == ("yes", "yes", "git")


KEYGEN = shutil.which("ssh-keygen")


@pytest.mark.skipif(KEYGEN is None, reason="needs OpenSSH's ssh-keygen")
@pytest.mark.parametrize("broken", ["", "newline", "windows", "mark"])
async def test_a_private_key_is_read_as_people_keep_it(
    secret: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """Browsers and `kubectl create secret --from-literal` drop the last line break, editors add
    others.
    """
    output_of("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key")
    key = (tmp_path / "key").read_bytes()
    public = (tmp_path / "key.pub").read_text("utf-8").split()[1]
    hosts = b"git.example.com ssh-ed25519 AAAA\n"
    change = {
        "": lambda text: text,
        "newline": lambda text: text.rstrip(b"\n"),
        "windows": lambda text: text.replace(b"\n", b"\r\n"),
        "mark": lambda text: b"\xef\xbb\xbf" + text,
    }[broken]
    for name, text in (("ssh-privatekey", key), ("known_hosts", hosts)):
        (secret / name).write_bytes(change(text))
        (secret / name).chmod(0o600)
    # A program in the place of ssh, which says what ssh reads from the files that it is given.
    programs, seen = tmp_path / "bin", tmp_path / "seen"
    programs.mkdir()
    script = (
        "#!/bin/sh\n"
        f'ssh -G "$@" >{seen}.options\n'
        f"identity=$(sed -n 's/^identityfile //p' {seen}.options)\n"
        f"hosts=$(sed -n 's/^userknownhostsfile //p' {seen}.options)\n"
        f'ssh-keygen -y -P "" -f "$identity" >{seen}.public 2>&1\n'
        f'cat "$hosts" >{seen}.hosts\n'
        f'stat -c "%a %n" "$identity" "$hosts" >{seen}.modes\n'
        "exit 1\n"
    )
    (programs / "ssh").write_text(script.replace("ssh -G", f"{shutil.which('ssh')} -G"), "utf-8")
    (programs / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    work = tmp_path / "work"
    work.mkdir()
    url = "git@git.example.com:team/fleet.git"
    settings = GitSettings(url=url, author="Fleet <fleet@example.com>", credentials=secret)
    with pytest.raises(GitError, match="git ls-remote"):
        await Clone(settings=settings, folder=work).heads("main")
    assert public in Path(f"{seen}.public").read_text("utf-8")
    assert Path(f"{seen}.hosts").read_bytes() == hosts
    modes = Path(f"{seen}.modes").read_text("utf-8").splitlines()
    if broken:
        assert [line.startswith(f"600 {work}/") for line in modes] == [True, True]
    else:
        assert [line.partition(" ")[2] for line in modes] == [
            str(secret / "ssh-privatekey"),
            str(secret / "known_hosts"),
        ]
    left = [path.name for path in work.rglob("*") if path.name in {"ssh-privatekey", "known_hosts"}]
    assert left == [], "no copy of a secret stays"


def test_a_key_that_is_no_text_is_told(secret: Path, tmp_path: Path) -> None:
    (secret / "ssh-privatekey").write_bytes("KEY".encode("utf-16"))
    with (
        pytest.raises(GitError, match=r"ssh-privatekey is UTF-16 text; write it as UTF-8$"),
        GitCredentials(folder=secret).usable(scratch=tmp_path),
    ):
        pass


def test_texts_are_cleaned_of_every_form(secret: Path) -> None:
    (secret / "username").write_text("tom\n", encoding="utf-8")
    (secret / "password").write_text("p@ss/word\n", encoding="utf-8")
    cleaned = GitCredentials(folder=secret).cleaned(
        "p@ss/word p%40ss%2Fword dG9tOnBAc3Mvd29yZA== rest"
    )
    assert cleaned == "(token) (token) (token) rest"


def test_the_beginning_of_a_token_that_somebody_cut_is_cleaned_too(secret: Path) -> None:
    (secret / "token").write_text("ghp_0123456789abcdef\n", encoding="utf-8")
    assert GitCredentials(folder=secret).cleaned("refused: ghp_0123456789") == "refused: (token)"
