"""Pictures of pages, taken with the Chromium of the system."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, sync_playwright

PROGRAMS: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HEIGHT: Final = 400
"""Pixels of the window. A picture has the whole page, however long it is."""


@contextmanager
def chromium() -> Iterator[Browser | None]:
    """The browser, while it runs; None where none is installed."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        yield None
        return
    with sync_playwright() as playwright:
        # Root has no user namespaces for the sandbox in containers. Pages are our own.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


def take(browser: Browser, html: str, path: Path, *, width: int) -> None:
    """Writes the picture of a whole page as a PNG."""
    context = browser.new_context(viewport={"width": width, "height": HEIGHT})
    page = context.new_page()
    page.set_content(html)
    page.screenshot(path=path, full_page=True)
    context.close()
