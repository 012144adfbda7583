"""Any text is a template or has an error inside of it; a check gives findings, and never fails."""

from hypothesis import given
from hypothesis import strategies as st

from gitops_dsf.argocd.fasttemplate import unresolved
from gitops_dsf.argocd.gotemplate import TemplateError, check, parse
from gitops_dsf.resolve.template_parameters import DECIDED
from tests.support.laws import examples

PIECES = (
    *(
        "{{",
        "}}",
        "{{- ",
        " -}}",
        " ",
        "|",
        "(",
        ")",
        ",",
        ":=",
        "=",
        ".",
        "$",
        "\n",
        "é",
        "\x00",
        "/",
    ),
    *(
        ".name",
        ".values.x",
        "$x",
        "$.server",
        "lower",
        "trunc",
        "repeat",
        "eq",
        "and",
        "printf",
        "nowhere",
    ),
    *("if", "else", "end", "range", "with", "define", "block", "template", "break", "nil", "true"),
    *(
        "5",
        "-3",
        "0x1f",
        "089",
        "1.5",
        "1+2i",
        '"a"',
        '"%s"',
        "`b`",
        "'c'",
        '"',
        "`",
        "\\",
        "/* c */",
    ),
    *(
        "{{ end }}",
        "{{ else }}",
        "{{ if .name }}",
        "{{ $x := .name }}",
        "{{ else if .x }}",
        "{{/* c */}}",
    ),
)
TEMPLATES = st.one_of(
    st.text(),
    st.lists(st.sampled_from(PIECES), max_size=20).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=8).map(
        lambda parts: "{{ " + " ".join(parts) + " }}"
    ),
)


@examples(150, soak=8000)
@given(text=TEMPLATES)
def test_positions_are_inside_of_the_text(text: str) -> None:
    places = [found.offset for found in (*check(text, DECIDED), *check(text, None))]
    try:
        parse(text)
    except TemplateError as error:
        places.append(error.mistake.offset)
    assert all(0 <= place <= len(text) for place in places)
    for offset, tag in unresolved(text, DECIDED):
        assert text[offset : offset + 2] == "{{"
        assert tag.strip() == tag
