"""Pictures of pages, taken in a browser."""

from pathlib import Path
from typing import Final

from playwright.sync_api import Browser

HEIGHT: Final = 400
"""Pixels of the window. A picture has the whole page, however long it is."""


def take(browser: Browser, html: str, path: Path, *, width: int) -> None:
    """Writes the picture of a whole page as a PNG."""
    context = browser.new_context(viewport={"width": width, "height": HEIGHT})
    page = context.new_page()
    page.set_content(html)
    page.screenshot(path=path, full_page=True)
    context.close()
