"""Each forge does what every forge must do (tests/hub has Gitea itself).

GitHub by a server that checks requests against what GitHub documents, GitLab by recorded answers of
its documentation.
"""

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from gitops_dsf.ci.sender import Sender as PipelineSender
from gitops_dsf.forge.forges import GitHub, GitLab
from gitops_dsf.forge.sending import ForgeError, Send
from gitops_dsf.reconciler import forge as module
from gitops_dsf.reconciler.forge import send
from gitops_dsf.reconciler.git.credentials import GitCredentials, GitError
from tests.hub.controlplane.gitrepository import GitRepository
from tests.support.forges import RecordedForge, tell
from tests.support.githubserver import NAME, OWNER, Answer, GitHubServer, Pull

ANSWER_BYTES = 4 << 20

TOKEN = "ghp_notforlogs"
AUTHORITY = Path(__file__).parents[2] / "data/authority.pem"


@dataclass(kw_only=True)
class PullRequestServer:
    server: GitHubServer
    secret: Path

    def client(self, *, name: str = NAME, url: str = "") -> GitHub:
        return GitHub(
            api=url or self.server.url,
            place=f"{OWNER}/{name}",
            base="main",
            send=partial(send, credentials=GitCredentials(folder=self.secret)),
        )


@pytest.fixture
def github(tmp_path: Path) -> Iterator[PullRequestServer]:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "token").write_text(f"{TOKEN}\n", encoding="utf-8")
    # The forge looks into the bare repository; no git server need run.
    repository = GitRepository.create(url="", bare=tmp_path / "bare", clone=tmp_path / "clone")
    with GitHubServer(repository=repository, token=TOKEN) as server:
        yield PullRequestServer(server=server, secret=secret)
    assert server.violations == []


async def test_what_github_will_not_open_is_told(github: PullRequestServer) -> None:
    forge = github.client()
    with pytest.raises(ForgeError, match=r"422 .*Validation Failed"):
        await forge.open(branch="none", title="A", body="B")


async def test_forks_do_not_count(github: PullRequestServer) -> None:
    theirs = Pull(number=1, title="x", branch="a", base="main", body="", sha="0" * 40)
    theirs.full_name = "other/fleet"
    github.server.pulls.append(theirs)
    assert await github.client().latest("a") is None


SECONDARY = (
    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
)
LIMIT = {"x-ratelimit-remaining": "0", "retry-after": "33"}


@pytest.mark.parametrize(
    ("answer", "words", "wait"),
    [
        ((403, {"message": "API rate limit exceeded"}, LIMIT), "API rate limit exceeded", 33),
        ((403, {"message": SECONDARY}, {}), "secondary rate limit", 60),
        (
            (403, {"message": SECONDARY}, {"x-ratelimit-remaining": "4000"}),
            "secondary rate limit",
            60,
        ),
        ((429, {"message": "Too many requests"}, {}), "Too many requests", 60),
        ((503, {"message": "Busy"}, {"retry-after": "9"}), "Busy", 9),
        ((502, {"message": "Bad Gateway"}, {}), "Bad Gateway", 0),
        (
            (403, {"message": "Resource not accessible by personal access token"}, {}),
            "not accessible",
            0,
        ),
        ((410, {"message": f"echo {TOKEN}"}, {}), "410", 0),
        ((200, {"not": "a list"}, {}), "not what GitHub documents", 0),
        (
            (301, {"message": "Moved"}, {"Location": "https://else.test/"}),
            "write its new address as git.url",
            0,
        ),
        ((200, "x" * ANSWER_BYTES, {}), f"more than the limit of {ANSWER_BYTES} bytes", 0),
        (
            (500, {"message": "x" * ANSWER_BYTES}, {}),
            f"more than the limit of {ANSWER_BYTES} bytes",
            0,
        ),
        (
            (200, [], {"Content-Encoding": "gzip"}),
            "Content-Encoding 'gzip', which was not asked for",
            0,
        ),
    ],
)
async def test_each_fault_is_told_without_the_token(
    github: PullRequestServer, answer: Answer, words: str, wait: int
) -> None:
    github.server.faults = [lambda _method, _path: answer]
    with pytest.raises(ForgeError, match=words) as caught:
        await github.client().latest("a")
    assert caught.value.wait == wait
    assert ("the token needs" in str(caught.value)) == ("not accessible" in words)
    assert TOKEN not in str(caught.value)


async def test_the_token_is_read_anew_and_the_place_is_told(github: PullRequestServer) -> None:
    forge, token = github.client(), github.secret / "token"
    token.write_text("ghp_old", encoding="utf-8")
    with pytest.raises(
        ForgeError, match=r"401 .*Bad credentials.*; the token needs: Contents and Pull requests"
    ):
        await forge.latest("a")
    token.write_text(TOKEN, encoding="utf-8")
    assert await forge.latest("a") is None
    with pytest.raises(
        ForgeError, match="there is no such repository, or the token may not see it"
    ):
        await github.client(name="other").latest("a")
    with pytest.raises(ForgeError, match="cannot be reached"):
        await github.client(url="http://127.0.0.1:1").latest("a")
    token.unlink()
    with pytest.raises(GitError, match="has no token"):
        await forge.latest("a")


async def test_a_long_text_is_cut(github: PullRequestServer) -> None:
    github.server.branch("a")
    forge = github.client()
    request = await forge.open(branch="a", title="A", body="x" * 70_000)
    assert len(request.body or "") < 65_536
    await forge.close(request, why="y")
    assert len(github.server.pulls[0].body) < 65_536


async def test_a_private_certificate_must_be_one_and_is_read_anew(
    github: PullRequestServer,
) -> None:
    forge = github.client()
    assert await forge.latest("a") is None
    (github.secret / "ca.crt").write_text("no certificate", encoding="utf-8")
    with pytest.raises(GitError, match=r"ca\.crt holds no certificates"):
        await forge.latest("a")
    (github.secret / "ca.crt").write_text(f"\ufeff{AUTHORITY.read_text()}", encoding="utf-8")
    assert await forge.latest("a") is None
    (github.secret / "ca.crt").unlink()
    assert await forge.latest("a") is None


@pytest.mark.parametrize("token", [f"{TOKEN}\n{TOKEN}", f"{TOKEN}\u2026"])
async def test_a_token_that_no_header_takes_is_told_and_not_repeated(
    github: PullRequestServer, token: str
) -> None:
    (github.secret / "token").write_text(token, encoding="utf-8")
    forge = github.client()
    with pytest.raises(GitError, match="token has ") as caught:
        await forge.latest("a")
    assert TOKEN not in str(caught.value)


async def test_an_answer_that_never_ends_is_given_up(
    github: PullRequestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SECONDS", 2.0)

    async def drip(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            while True:
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(1)

    async with await asyncio.start_server(drip, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()[:2]
        forge = github.client(url=f"http://{host}:{port}")
        with pytest.raises(ForgeError, match="gave no complete answer within 2 s"):
            async with asyncio.timeout(100):
                await forge.latest("a")


@pytest.mark.parametrize("status", [200, 500])
async def test_deep_nesting_is_no_traceback(github: PullRequestServer, status: int) -> None:
    nested = (
        b'[{"x": ' + b"[" * 100_000
        if status == 200
        else b'{"message": "m", "errors": ' + b"[" * 100_000
    )

    async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(
            b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%b" % (status, len(nested), nested)
        )
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()[:2]
        forge = github.client(url=f"http://{host}:{port}")
        with pytest.raises(ForgeError):
            await forge.latest("a")


async def test_a_token_that_was_rotated_meanwhile_is_not_repeated(
    github: PullRequestServer,
) -> None:
    def rotate(_method: str, _path: str) -> Answer:
        (github.secret / "token").write_text("ghp_thenextone\n", encoding="utf-8")
        return 401, {"message": f"Bad credentials: Bearer {TOKEN}"}, {}

    github.server.faults = [rotate]
    forge = github.client()
    with pytest.raises(ForgeError, match=r"401 .*Bad credentials") as caught:
        await forge.latest("a")
    assert TOKEN not in str(caught.value)


SECRET = "token-of-this-test"
GROUPS = "team/platform/fleet"


@pytest.fixture
def sender(tmp_path: Path) -> Send:
    (tmp_path / "token").write_text(SECRET)
    return partial(send, credentials=GitCredentials(folder=tmp_path))


async def test_github(tmp_path: Path, sender: Send) -> None:
    repository = GitRepository.create(url="", bare=tmp_path / "bare", clone=tmp_path / "clone")
    with GitHubServer(repository=repository, token=SECRET) as server:
        forge = GitHub(api=server.url, place=f"{OWNER}/{NAME}", base="main", send=sender)
        await tell(forge, server)
        assert server.violations == []
        assert [text.split()[-1] for text in server.pulls[0].comments] == ["Forged", "good", "New"]


async def test_gitlab(sender: Send) -> None:
    signed = ("PRIVATE-TOKEN", SECRET)
    with RecordedForge(name="gitlab", prefix="/api/v4", signed=signed) as server:
        await tell(GitLab(api=server.url, place=GROUPS, base="main", send=sender), server)
        assert server.violations == []
        assert server.left == []


async def test_gitlab_tells_what_a_token_needs() -> None:
    """Also of a pipeline, whose job token may write no notes."""
    with RecordedForge(name="gitlab", prefix="/api/v4", signed=("PRIVATE-TOKEN", SECRET)) as server:
        forge = GitLab(api=server.url, place=GROUPS, base="main", send=PipelineSender("of-a-job"))
        with pytest.raises(
            ForgeError, match=r"401 .*; the token needs: the scope api, and the role Developer"
        ):
            await forge.latest("a")
        with pytest.raises(
            ForgeError, match="role Reporter; no job token may write notes"
        ) as caught:
            await forge.comment(1, "x", marker="x")
        assert caught.value.refused
