"""The comment of a preview in a browser, at the widths of a wide screen and of a telephone."""

from pathlib import Path

import pytest

from tests.browser.conftest import Opener
from tests.pictures.pages import FORGES, WIDTHS, Forge, page

COMMENTS = Path(__file__).parents[1] / "golden" / "previews"


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("forge", FORGES)
def test_nothing_is_wider_than_the_window(opened: Opener, forge: Forge, width: int) -> None:
    """A long word would move the whole page, and a table would hide its columns."""
    everything = "\n\n".join(path.read_text("utf-8") for path in sorted(COMMENTS.glob("*.md")))
    assert "|--" not in everything
    html = page(everything, forge=forge, theme="light", width=width, is_open=True)
    tab, seen = opened(html, width=width)
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    assert seen.problems == []
