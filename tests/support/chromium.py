"""The Chromium of the system, driven by Playwright: for tests of pages, pictures and benchmarks.

None is downloaded.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from playwright.sync_api import Browser, sync_playwright

PROGRAMS: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING: Final = f"none of {', '.join(PROGRAMS)} is installed"
"""What to say where there is no browser."""


def program() -> str | None:
    """The path of the browser, or None where none is installed."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


@contextmanager
def chromium() -> Iterator[Browser | None]:
    """The browser, while it runs; None where none is installed.

    While it is there, an event loop runs, and no other may begin in this thread.
    """
    path = program()
    if path is None:
        yield None
        return
    with sync_playwright() as playwright:
        # Root has no user namespaces for the sandbox in containers. Pages are our own.
        arguments = ["--no-sandbox", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()
