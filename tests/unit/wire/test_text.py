"""Texts of others: what may be printed, and what is escaped."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsf_wire.text import printable, printable_json, printable_lines


@pytest.mark.parametrize(
    "text",
    [
        "",
        "portal",
        "Zürich → 東京 ✓",
        "a  b",
        'weiß\'s "x"',
        "::1",
        "::ffff:10.0.0.1",
        "std::cout::x",
        "## [1] #[2]",
    ],
)
def test_honest_text_stays_as_it_is(text: str) -> None:
    assert printable(text) == text
    assert printable_lines([f"  {text}"]) == f"  {text}\n"
    assert printable_json(json.dumps({"a": text}, ensure_ascii=False, indent=2)) == json.dumps(
        {"a": text}, ensure_ascii=False, indent=2
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("two\nlines\r", "two\\nlines\\r"),
        ("left\u202eright", "left\\u202eright"),
        ("mark\u200e\u061c", "mark\\u200e\\u061c"),
        ("\x9b2J\u2028\x7f", "\\x9b2J\\u2028\\x7f"),
        ("no\u200bwidth\ufeff", "no\\u200bwidth\\ufeff"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("::add-mask::x", "\\x3a:add-mask::x"),
        ("  ::set-env name=a::b", "  \\x3a:set-env name=a::b"),
        ("see ##[error]no", "see \\x23#[error]no"),
    ],
)
def test_what_could_control_a_terminal_or_hide_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text())
def test_every_text_becomes_one_printable_line_and_json_says_the_same(text: str) -> None:
    assert printable(text).isprintable()
    assert printable(printable(text)) == printable(text)
    assert printable_lines([text, text]).count("\n") == 2
    content = json.dumps({"text": text}, ensure_ascii=False, indent=1)
    shown = printable_json(content)
    assert all(line.isprintable() for line in shown.split("\n"))
    assert json.loads(shown) == {"text": text}


def test_long_text_is_cut() -> None:
    assert printable("x" * 20, max_characters=20) == "x" * 20
    assert printable("x" * 21, max_characters=20) == "x" * 17 + "..."
    assert len(printable("\n" * 20, max_characters=20)) == 20
