"""Hiding tokens in texts of peers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsf_runtime.calls import hide

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
    """With any text around it."""
    assert secret not in hide(before + secret + after, secret)
