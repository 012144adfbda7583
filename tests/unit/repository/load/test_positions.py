"""Where values are written.

Paths, missing paths, and characters inside of strings of every style.
"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_dsf.repository.load import Document, load_text


def only(text: str) -> Document:
    loaded = load_text(text, file="f.yaml")
    assert loaded.diagnostics == ()
    return loaded.documents[-1]


def test_a_broken_document_after_dots_does_not_hide_the_one_before() -> None:
    loaded = load_text("a: 1\n...\n: [\n", file="f.yaml")
    assert loaded.documents[0].at(("a",)).column == 4


@pytest.mark.parametrize(
    ("text", "place"),
    [("a: [1>-\n,", (2, 2)), ("a: [", (1, 5)), ("a: [1,\r", (2, 1)), ("a: [1,\n\n", (3, 1))],
)
def test_a_text_that_ends_too_early_is_wrong_at_its_end(text: str, place: tuple[int, int]) -> None:
    """libyaml names the line behind the end where the last line has no break.

    Editors have no such line.
    """
    (finding,) = load_text(text, file="f.yaml").diagnostics
    assert (finding.position.line, finding.position.column) == place


STYLES = [
    ("plain", "q: sum(x)\n"),
    ("single", "q: 'sum(x)'\n"),
    ("double", 'q: "sum(x)"\n'),
    ("literal", "q: |\n  sum(x)\n"),
    ("folded", "q: >-\n    sum(x)\n"),
    ("indented", "q: |2\n  sum(x)\n"),
    ("commented", "q: | # sum\n  sum(x)\n"),
    ("escaped", 'q: "\\u0073um\\x28x)"\n'),
]


@pytest.mark.parametrize(("style", "text"), STYLES, ids=[style for style, _ in STYLES])
def test_a_character_is_found_in_every_style(style: str, text: str) -> None:
    document = only(text)
    offset = document.data["q"].index("x")
    place = document.inside(("q",), offset)
    assert text.splitlines()[place.line - 1][place.column - 1] == "x"


def test_a_quote_that_is_doubled_counts_once() -> None:
    document = only("q: 'a''b'\n")
    assert document.data["q"] == "a'b"
    assert document.inside(("q",), 2).column == 8


def test_folded_lines_keep_their_own_lines() -> None:
    text = "q: >\n  sum by (a)\n    (rate(x[5m]))\n\n  + y\n"
    document = only(text)
    place = document.inside(("q",), document.data["q"].rindex("y"))
    assert (place.line, place.column) == (5, 5)


def test_an_offset_at_the_end_is_behind_the_last_character() -> None:
    document = only("q: sum(\n")
    assert document.inside(("q",), 4).column == 8


@given(st.text(alphabet="ab(\"'\\ \té€\n{}:#,;", min_size=1, max_size=40))
def test_every_visible_character_of_a_double_quoted_value_is_found(value: str) -> None:
    text = f"q: {json.dumps(value, ensure_ascii=False)}\n"
    document = only(text)
    assert document.data["q"] == value
    for offset, char in enumerate(value):
        if not char.isspace():
            place = document.inside(("q",), offset)
            assert (
                text.splitlines()[place.line - 1][place.column - 1 :].lstrip("\\")[0] == char
                or char == "\\"
            )
