"""Joined PromQL: a semicolon separates only where PromQL could not have it itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsf_wire import query


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("up", ["up"]),
        ("up;down", ["up", "down"]),
        (" up ; down ; ", ["up", "down"]),
        ('a{x=";"};b', ['a{x=";"}', "b"]),
        ("a{x=';'};b", ["a{x=';'}", "b"]),
        ("a{x=`;\\`};b", ["a{x=`;\\`}", "b"]),
        ('a{x="\\";"};b', ['a{x="\\";"}', "b"]),
        ("sum(a # ; not here\n);b", ["sum(a # ; not here\n)", "b"]),
        ("a # ; b", ["a # ; b"]),
        ("a # it's\n;b", ["a # it's", "b"]),
        ("sum((a;b);c);d", ["sum((a;b);c)", "d"]),
        ("sum(a[b;c];d);e", ["sum(a[b;c];d)", "e"]),
        ("a{x;y};b", ["a{x;y}", "b"]),
        ("a(x;y);b", ["a(x;y)", "b"]),
        ("a[x;y];b", ["a[x;y]", "b"]),
        ('"\\\\";b;"c"', ['"\\\\"', "b", '"c"']),
        ('unclosed"; b', ['unclosed"; b']),
        ("a);b", ["a)", "b"]),
        (";;", []),
        ("", []),
    ],
)
def test_split(text: str, parts: list[str]) -> None:
    assert [part.text for part in query.split(text)] == parts


@given(st.text(alphabet="ab;\"'`\\{}()[]# \n", max_size=60))
def test_offsets_point_at_the_parts(text: str) -> None:
    for part in query.split(text):
        assert text[part.offset : part.offset + len(part.text)] == part.text
        assert part.text == part.text.strip() != ""


@given(st.lists(st.from_regex(r"[a-z]{1,8}", fullmatch=True), min_size=1, max_size=5))
def test_joining_and_splitting_is_the_identity(names: list[str]) -> None:
    assert [part.text for part in query.split(";".join(names))] == names
