"""Comments as a forge shows them: the Markdown as HTML."""

import re
from pathlib import Path
from typing import Final

import pytest

from tests.pictures.cases import CASES
from tests.pictures.docs import PICTURES, demo_pages, digest, digest_in, with_digest
from tests.pictures.pages import FORGES, Forge, html_of

COMMENTS: Final = Path(__file__).parents[2] / "golden" / "previews"
"""The golden previews."""
_CODE: Final = re.compile(r"<(pre|code)\b.*?</\1>", re.DOTALL)
_TAG: Final = re.compile(r"<[^>]+>")


def text_of(html: str) -> str:
    """What a reader sees, without code."""
    return _TAG.sub("", _CODE.sub("", html))


@pytest.mark.parametrize("forge", FORGES)
@pytest.mark.parametrize("name", CASES)
def test_no_markup_is_left_for_readers(name: str, forge: Forge) -> None:
    """A list or a table behind <summary> is text where no empty line precedes it."""
    markdown = (COMMENTS / f"{name}.md").read_text("utf-8")
    html = html_of(markdown, forge)
    assert html.count("<details>") == html.count("</details>") == markdown.count("<details>")
    text = text_of(html)
    assert not re.search(r"(?m)\*\*|^\s*- |\|--|^\| |`|\\", text), text
    for body in re.findall(r"</summary>(.*?)</details>", html, re.DOTALL):
        assert re.match(r"\s*<(ul|table|p|pre)\b", body), "a section holds Markdown"


def test_a_section_without_an_empty_line_is_found() -> None:
    """What the test above guards against."""
    html = html_of("<details><summary>a</summary>\n- **b**\n\n</details>\n", "github")
    assert "**b**" in text_of(html)


def test_the_pictures_in_docs_show_what_the_demo_says_now(tmp_path: Path) -> None:
    for theme, html in demo_pages(tmp_path).items():
        assert digest_in(PICTURES[theme].read_bytes()) == digest(html), "run `make screenshots`"


def test_a_picture_carries_its_digest() -> None:
    bare = b"\x89PNG\r\n\x1a\n" + bytes(4) + b"IEND\xae\x42\x60\x82"
    assert digest_in(bare) == ""
    assert digest_in(with_digest(bare, "ab12")) == "ab12"
