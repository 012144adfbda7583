"""Secrets as people keep them.

What is removed at the ends, and what is refused without being repeated.
"""

import pytest

from dsf_wire.secrettext import SecretFault, header_secret, line_secret


@pytest.mark.parametrize(
    "raw",
    [
        b"s3cret",
        b"s3cret\n",
        b"s3cret\r\n\r\n",
        b" s3cret \n",
        b"\xef\xbb\xbfs3cret\r\n",
        "\ufeffs3cret\n",
        "s3cret",
    ],
    ids=map(str, range(7)),
)
def test_what_editors_and_shells_add_is_removed(raw: bytes | str) -> None:
    assert header_secret(raw) == "s3cret"


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        (b"s3cret\n", "s3cret"),
        (b"\xef\xbb\xbfs3cret\r\n", "s3cret"),
        (b" s3cret ", " s3cret "),
        ("s\u00e9cret: 100 %".encode(), "s\u00e9cret: 100 %"),
    ],
)
def test_a_password_may_have_spaces_and_letters_of_any_language(raw: bytes, kept: str) -> None:
    assert line_secret(raw) == kept


@pytest.mark.parametrize("read", [header_secret, line_secret])
@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        (b"", "is empty"),
        (b"\xef\xbb\xbf\n", "is empty"),
        (b"s3cret-1\ns3cret-2\n", "has more than one line"),
        (b"s3cret-1\rs3cret-2", "has more than one line"),
        ("s3cret".encode("utf-16"), "is UTF-16 text; write it as UTF-8"),
        (b"s3cret\xff", "is not UTF-8 text"),
        (b"s3cret\x07", "has a c"),
        ("s3cret\u200b", "has a c"),
    ],
    ids=map(str, range(8)),
)
def test_anything_else_is_refused_and_not_repeated(
    read: object, raw: bytes | str, fault: str
) -> None:
    assert callable(read)
    with pytest.raises(SecretFault) as caught:
        read(raw)
    assert str(caught.value).startswith(fault)
    assert "s3cret" not in str(caught.value)


def test_a_header_has_ascii_only() -> None:
    with pytest.raises(SecretFault, match="has a character that is not allowed in an HTTP header"):
        header_secret("s\u00e9cret")
