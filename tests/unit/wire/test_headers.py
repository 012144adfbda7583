"""Headers that a metric source adds to requests.

Which names and values HTTP and the agent allow.
"""

import pytest

from dsf_wire.headers import name_fault, value_fault
from dsf_wire.summary import Header, SecretRef


@pytest.mark.parametrize(
    ("name", "words"),
    [
        *(
            (name, "")
            for name in ("X-Scope-OrgID", "THANOS-TENANT", "cookie", "a", "x_1.2~!#$%&'*+^`|")
        ),
        ("", "'' is not the name of a header"),
        ("X Org", "'X Org' is not the name of a header"),
        ("X-Org:", "'X-Org:' is not the name of a header"),
        ("X-Org\r\nHost", "is not the name of a header"),
        ("ünder", "is not the name of a header"),
        *(
            (name, "the agent sets the header")
            for name in ("Host", "AUTHORIZATION", "accept", "User-Agent")
        ),
        *((name, "the agent sets the header") for name in ("Content-Type", "content-length")),
        *((name, "the agent sets the header") for name in ("Accept-Encoding", "Content-Encoding")),
        *(
            (name, "concerns a single connection")
            for name in ("Connection", "TE", "keep-alive", "Trailer")
        ),
        *(
            (name, "concerns a single connection")
            for name in ("Transfer-Encoding", "Upgrade", "Expect")
        ),
        *(
            (name, "concerns a single connection")
            for name in ("Proxy-Authorization", "proxy-connection")
        ),
    ],
)
def test_the_name_of_a_header(name: str, words: str) -> None:
    assert words in name_fault(name)
    assert bool(words) == bool(name_fault(name))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        *((value, "") for value in ("a", "team a|team b", "!~")),
        ("", "the value is empty"),
        ("s3cret\n", "line break"),
        ("s3cret\r\nHost: x", "line break"),
        ("s3cret\t", "another character"),
        ("s3crät", "another character"),
        (" s3cret", "begins or ends with a space"),
        ("s3cret ", "begins or ends with a space"),
    ],
)
def test_a_value_that_no_header_can_have_is_not_repeated(value: str, words: str) -> None:
    fault = value_fault(value)
    assert words in fault
    assert bool(words) == bool(fault)
    assert "s3cr" not in fault


def test_a_header_has_a_value_or_a_secret() -> None:
    ref = SecretRef(name="s", key="k")
    assert Header(name="X-A", value="a").secret_ref is None
    assert Header(name="X-A", secret_ref=ref).value is None
    for value, secret in ((None, None), ("a", ref)):
        with pytest.raises(ValueError, match="the header X-A needs either value or secretRef"):
            Header(name="X-A", value=value, secret_ref=secret)
    with pytest.raises(ValueError, match="the value is empty"):
        Header(name="X-A", value="")
    with pytest.raises(ValueError, match="the agent sets the header Host itself"):
        Header(name="Host", secret_ref=ref)


@pytest.mark.parametrize("more", [{"value": "ä"}, {}])
def test_the_mistake_of_the_name_is_told_first(more: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="is not the name of a header"):
        Header(name="a b", **more)
