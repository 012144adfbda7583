"""Pages in a real browser: Chromium of the system, driven by Playwright.

Where there is no browser, the tests are skipped, and with `GITOPS_DSF_BROWSER=required` they fail.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.support.chromium import MISSING, chromium


@dataclass(kw_only=True)
class Seen:
    """What a page did besides being shown."""

    problems: list[str] = field(default_factory=list)
    """Errors of scripts, messages of the console, and dialogs."""
    requests: list[str] = field(default_factory=list)
    """URLs that were requested, without the page itself."""


Opener = Callable[..., tuple[Page, Seen]]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for the tests of a file; each page has a context of its own.

    No other event loop may begin while it is there, so these files have no coroutines.
    """
    with chromium() as running:
        if running is None:
            if os.environ.get("GITOPS_DSF_BROWSER") == "required":
                pytest.fail(f"GITOPS_DSF_BROWSER=required, and {MISSING}")
            pytest.skip(MISSING)
        yield running


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Opener]:
    """Opens HTML as a file, as people do."""
    contexts = []

    def opener(html: str, *, width: int = 1280, **more: Any) -> tuple[Page, Seen]:
        file = tmp_path / "page.html"
        file.write_text(html, "utf-8")
        context = browser.new_context(viewport={"width": width, "height": 900}, **more)
        contexts.append(context)
        page = context.new_page()
        seen = Seen()
        page.on("pageerror", lambda error: seen.problems.append(str(error)))
        page.on("console", lambda message: seen.problems.append(message.text))
        page.on("dialog", lambda dialog: seen.problems.append(dialog.message))
        page.on("request", lambda request: seen.requests.append(request.url))
        page.goto(file.as_uri())
        assert seen.requests.pop(0) == file.as_uri()
        return page, seen

    yield opener
    for context in contexts:
        context.close()
