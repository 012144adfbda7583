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
class PageActivity:
    """What a page did besides being shown."""

    problems: list[str] = field(default_factory=list)
    """Errors of scripts, messages of the console, and dialogs."""
    requests: list[str] = field(default_factory=list)
    """URLs that were requested, without the page itself."""


Opener = Callable[..., tuple[Page, PageActivity]]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A browser for all tests of pages.

    No other event loop may begin while it is there, so these files have no coroutines.
    """
    with chromium() as running:
        if running is None:
            if os.environ.get("GITOPS_DSF_BROWSER") == "required":
                pytest.fail(f"GITOPS_DSF_BROWSER=required, and {MISSING}")
            pytest.skip(MISSING)
        yield running


@pytest.fixture(scope="package")
def tab(browser: Browser) -> Page:
    """Shows one page after another, because a new tab for each needs three times the CPU."""
    return browser.new_page()


@pytest.fixture(scope="package")
def tab_without_scripts(browser: Browser) -> Page:
    return browser.new_page(java_script_enabled=False)


@pytest.fixture
def opened(tab: Page, tab_without_scripts: Page, tmp_path: Path) -> Iterator[Opener]:
    """Opens HTML as a file, as people do, in place of the page before."""
    listeners: list[tuple[Page, str, Callable[[Any], None]]] = []

    def opener(
        html: str, *, width: int = 1280, has_scripts: bool = True
    ) -> tuple[Page, PageActivity]:
        file = tmp_path / "page.html"
        file.write_text(html, "utf-8")
        page = tab if has_scripts else tab_without_scripts
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(media="screen", color_scheme="light")
        seen = PageActivity()
        for event, listener in {
            "pageerror": lambda error: seen.problems.append(str(error)),
            "console": lambda message: seen.problems.append(message.text),
            "dialog": lambda dialog: seen.problems.append(dialog.message),
            "request": lambda asked: seen.requests.append(asked.url),
        }.items():
            page.on(event, listener)
            listeners.append((page, event, listener))
        page.goto(file.as_uri())
        assert seen.requests.pop(0) == file.as_uri()
        return page, seen

    yield opener
    for page, event, listener in listeners:
        page.remove_listener(event, listener)
