"""Text of others in Markdown that a forge renders."""

import pytest

from gitops_dsf.show.markdown import code, escaped


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("eu -> us", "eu → us"),
        ("two\nlines", "two lines"),
        ("ask @everyone", "ask @\u200beveryone"),
        ("a|b", "a\\|b"),
        ("R&D &lt;b&gt; &#64;all", "R\\&D \\&lt;b\\&gt; \\&\\#64;all"),
        ("<img src=x>", "\\<img src=x\\>"),
        ("[text](https://example.com)", "\\[text\\](https://example.com)"),
    ],
)
def test_text_is_no_markup(text: str, shown: str) -> None:
    assert escaped(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [("portal", "`portal`"), ("a`b", "`` a`b ``"), ("a\nb", "`a b`"), ("``", "``` `` ```")],
)
def test_a_code_span_ends_where_it_should(text: str, shown: str) -> None:
    assert code(text) == shown
