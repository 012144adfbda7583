"""The page of a large fleet: weight, time to open, time to filter.

    python -m benchmarks.bench_pages [--clusters 2000] [--scorers 50] [--applications 500]

The page is rendered from values that are made here, and opened as a file in headless Chromium,
which must be installed. Exits with 1 when a target is missed.
"""

import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Page

from benchmarks.measure import MEGABYTE, Figure, options, shown
from gitops_dsf.show.pages.fleet import fleet_page
from tests.support.chromium import MISSING, chromium
from tests.support.fleetviews import fleet_view

REPEATS = 5
FILTERS = ("us-east-1", "gpu", "app-1", "nothing-like-this", "")
"""What is typed, one after the other. The last one shows everything again."""
FILTER = """(text) => new Promise((done) => {
  const input = document.getElementById("search");
  const start = performance.now();
  input.value = text;
  input.dispatchEvent(new Event("input"));
  // The frame after the next one begins when the first is painted.
  requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start)));
})"""


def figures(args: Namespace) -> Iterator[Figure]:
    fleet = fleet_view(clusters=args.clusters, scorers=args.scorers, applications=args.applications)
    start = time.perf_counter()
    html = fleet_page(fleet)
    yield Figure("to render the page", time.perf_counter() - start, None, "s")
    yield Figure("its weight", len(html.encode()) / MEGABYTE, 3, "MB")
    with tempfile.TemporaryDirectory() as scratch, chromium() as browser:
        if browser is None:
            sys.exit(MISSING)
        file = Path(scratch, "fleet.html")
        file.write_text(html, "utf-8")
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        yield Figure("to open it", min(_opened(page, file) for _ in range(REPEATS)), 2, "s")
        # The fastest counts: what else the machine does only makes it slower.
        for text in FILTERS:
            fastest = min(_filtered(page, text) for _ in range(REPEATS))
            yield Figure(f"to filter by {text!r}", fastest, 0.1, "s")


def _opened(page: Page, file: Path) -> float:
    start = time.perf_counter()
    page.goto(file.as_uri(), wait_until="load")
    # A page is loaded before it is painted, and people wait for what they see.
    page.evaluate("() => new Promise((done) => requestAnimationFrame(done))")
    return time.perf_counter() - start


def _filtered(page: Page, text: str) -> float:
    """Seconds until the page shows what was filtered, beginning with everything."""
    # Except for the filter that shows everything: it begins with a part.
    page.evaluate(FILTER, "" if text else "app-1")
    milliseconds: float = page.evaluate(FILTER, text)
    return milliseconds / 1000


if __name__ == "__main__":
    sys.exit(shown(figures(options(__doc__, clusters=2000, scorers=50, applications=500))))
