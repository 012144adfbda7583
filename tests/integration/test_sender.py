"""How a pipeline talks to its forge: a forge that trickles or hangs holds no pipeline."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest

from gitops_dsf.ci.sender import Sender
from gitops_dsf.forge.sending import ForgeError
from tests.support.pageserver import Answer, ConfigPageServer

pytestmark = pytest.mark.real_time  # the server is a thread, and so is the request


def _sign(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
def forge() -> Iterator[ConfigPageServer]:
    with ConfigPageServer() as server:
        yield server


def _trickle(server: ConfigPageServer, handler: BaseHTTPRequestHandler, *, head: bytes) -> None:
    """A byte every 20 ms until the test ends. A time-out of the socket never fires."""
    handler.wfile.write(head)
    while not server.released.wait(0.02):
        handler.wfile.write(b" ")
        handler.wfile.flush()
    handler.close_connection = True


@pytest.mark.parametrize(
    "head",
    [b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: "],
    ids=["body", "head"],
)
async def test_a_forge_that_trickles_is_given_up(forge: ConfigPageServer, head: bytes) -> None:
    forge.pages["/"] = lambda handler: _trickle(forge, handler, head=head)
    send = Sender("s3cret", seconds=0.2)
    with pytest.raises(ForgeError, match=r"there was no complete answer within 0.2 s"):
        await send("GET", f"{forge.url}/", sign=_sign, body=None)


async def test_all_requests_together_have_a_limit(forge: ConfigPageServer) -> None:
    """A forge with many slow pages of comments holds no pipeline either."""
    forge.pages["/"] = lambda handler: _trickle(forge, handler, head=b"HTTP/1.1 200 OK\r\nX: ")
    send = Sender("s3cret", seconds=30, seconds_left=0.1)
    with pytest.raises(ForgeError, match=r"within 0\.1 s"):
        await send("GET", f"{forge.url}/", sign=_sign, body=None)
    assert send.seconds_left < 0.01


async def test_a_request_without_time_is_not_sent(forge: ConfigPageServer) -> None:
    forge.pages["/"] = Answer(body=b"{}")
    send = Sender("s3cret", seconds_left=0.0)
    with pytest.raises(ForgeError, match="the requests of this job have used up their time"):
        await send("POST", f"{forge.url}/", sign=_sign, body=b"{}")
    assert forge.headers == []


async def test_an_honest_forge_is_read_whole(forge: ConfigPageServer) -> None:
    forge.pages["/"] = Answer(body=b"x" * 3_000_000)
    answer = await Sender("s3cret")("POST", f"{forge.url}/", sign=_sign, body=b"{}")
    assert (answer.status, len(answer.content)) == (200, 3_000_000)
    assert forge.headers[0]["authorization"] == "Bearer s3cret"


@pytest.mark.parametrize("url", ["nonsense", "http://127.0.0.1:99999/", "http://[::1/"])
async def test_what_is_no_url_of_a_forge_is_told(url: str) -> None:
    with pytest.raises(ForgeError):
        await Sender("s3cret")("GET", url, sign=_sign, body=None)
