"""Takes the pictures of pages that the documentation shows.

    python -m tools.screenshots [--out docs/images]

The pages show made-up fleets, always the same ones. It needs Chromium.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser

from gitops_dsf.show.pages.fleet import fleet_page
from tests.support.chromium import MISSING, chromium
from tests.support.fleetviews import fleet_view

SHOTS: Final = (
    ("fleet", 1280, "light"),
    ("fleet-dark", 1280, "dark"),
    ("fleet-phone", 390, "light"),
)
"""Names of the pictures, widths of the screen in pixels, and colours."""
HEIGHT: Final = 1400


def main() -> int:
    """Writes the pictures. Returns 1 without a browser."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, chromium() as browser:
        if browser is None:
            print(MISSING, file=sys.stderr)
            return 1
        # A file, because the page must work without a server, as people get it from a pipeline.
        page = Path(scratch, "fleet.html")
        page.write_text(fleet_page(fleet_view()), "utf-8")
        for name, width, colours in SHOTS:
            _take(browser, page, args.out / f"{name}.png", width=width, colours=colours)
    return 0


def _take(browser: Browser, page: Path, out: Path, *, width: int, colours: str) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": HEIGHT},
        color_scheme="dark" if colours == "dark" else "light",
    )
    tab = context.new_page()
    tab.goto(page.as_uri())
    tab.screenshot(path=out)
    context.close()


if __name__ == "__main__":
    sys.exit(main())
