"""Hiding tokens in texts of peers."""

import socket
from contextlib import ExitStack

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsf_runtime.calls import CallFault, FailureKind, as_call_faults, hide

TOKEN = "s3cr3t-token-value"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("nothing to see", "nothing to see"),
        (f"Bearer {TOKEN}, twice {TOKEN}{TOKEN}", "Bearer (token), twice (token)(token)"),
        (f"cut in the middle: {TOKEN[:11]}…", "cut in the middle: (token)…"),
        (f"like it: {TOKEN[:8]}-other", "like it: (token)-other"),
        ("a few letters of it: s3cr3t", "a few letters of it: s3cr3t"),
        ("", ""),
    ],
)
def test_hide(text: str, shown: str) -> None:
    """A whole token, or its beginning, is hidden. A shorter part stays."""
    assert hide(text, TOKEN) == shown


def test_several_and_none() -> None:
    """The tokens before and after a 401, endpoints without one, and a short token."""
    assert hide("one two-two-two", None, "one", "two-two-two", "") == "(token) (token)"


@given(st.text(alphabet="ab-"), st.text(alphabet="ab-", min_size=1, max_size=20), st.text(alphabet="ab-"))
def test_nothing_of_a_token_is_left(before: str, secret: str, after: str) -> None:
    assert secret not in hide(before + secret + after, secret)


@pytest.mark.real_time
async def test_a_host_that_answers_no_connection_is_not_reachable() -> None:
    """As behind a NetworkPolicy that drops packets. No time-out of a query would help."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        with ExitStack() as stack:
            for _ in range(2):  # what the kernel accepts by itself
                waiting = stack.enter_context(socket.socket())
                waiting.setblocking(False)
                waiting.connect_ex(address)
            url = f"http://127.0.0.1:{address[1]}/scoring"
            client = httpx.AsyncClient(timeout=httpx.Timeout(30, connect=0.2), trust_env=False)
            async with client:
                with pytest.raises(CallFault) as raised, as_call_faults(url=url, seconds=30):
                    await client.get(url)
    assert raised.value.kind is FailureKind.UNREACHABLE
    assert str(raised.value) == f"{url} cannot be reached (no connection in time)"


def test_an_answer_that_does_not_end_is_a_timeout() -> None:
    with pytest.raises(CallFault) as raised, as_call_faults(url="http://host/scoring", seconds=30):
        raise httpx.ReadTimeout("")
    assert raised.value.kind is FailureKind.TIMEOUT
    assert str(raised.value) == "http://host/scoring gave no complete answer within 30 s"
