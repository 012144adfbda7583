"""What holds for each page in a browser: it fits, asks nobody, and can be read by everybody."""

from collections.abc import Callable
from itertools import pairwise

import pytest

from gitops_dsf.show.pages.fleet import fleet_page
from gitops_dsf.show.pages.report import Notice, Section, Table, columns, report
from tests.browser.conftest import Opener
from tests.browser.test_fleet_page import HOSTILE
from tests.support.fleetviews import fleet_view
from tests.support.joborders import WRITTEN, config, page_of_jobs


def sections(text: str = "") -> str:
    """A page of sections, as `diff`, `simulate` and `explain` make them."""
    rows = [(f"app-{number:02}{text}", f"eu-{number}{text}", str(number)) for number in range(30)]
    table = columns("application", "cluster", "points", numbers=("points",))
    return report(
        verb="diff",
        title=f"What this change does{text}",
        lead=f"lead{text}",
        notices=(Notice("warning", f"careful{text}", f"more{text}"),),
        sections=(
            Section(
                heading=f"Moves{text}",
                note=f"note{text}",
                lines=(f"line{text}",),
                tables=(
                    Table(columns=table, rows=rows),
                    Table(columns=table, rows=rows, title=f"More{text}", folded=True),
                ),
            ),
            Section(heading="Nothing to say"),
        ),
    )


def jobs(text: str = "") -> str:
    """The page of a fleet whose longest list of clusters for Kueue has 20 long names."""
    clusters = [f"eu-central-1-availability-zone-{number}{text}" for number in range(20)]
    written = {**WRITTEN, "clusters": clusters, "points": {}, "leftOut": clusters[:3]}
    return page_of_jobs(config({**written, "reason": f"{clusters[0]} joined{text}"}))


PAGES: dict[str, Callable[[], str]] = {
    "fleet": lambda: fleet_page(fleet_view()),
    "report": sections,
    "jobs": jobs,
}


@pytest.mark.parametrize("name", PAGES)
def test_it_fits_the_screen_and_asks_nobody(opened: Opener, name: str) -> None:
    """It is loaded anew for each width. A window for each would take twice as long."""
    page, seen = opened(PAGES[name]())
    backgrounds = {"light": "rgb(244, 246, 249)", "dark": "rgb(13, 18, 24)"}
    for width in (360, 768, 1280, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        page.reload()
        for scheme, background in backgrounds.items():
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate("document.documentElement.scrollWidth") == width, scheme
            shown = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert shown == background, width
            assert (seen.problems, seen.requests) == ([], [page.url]), (width, scheme)
        seen.requests.clear()


@pytest.mark.parametrize("name", PAGES)
def test_everybody_can_read_it(opened: Opener, name: str) -> None:
    """Headings in order, tables with captions and heads, labels, and what scrolls has the focus."""
    page, _ = opened(PAGES[name]())
    assert page.locator("h1").count() == 1
    levels = page.eval_on_selector_all("h1, h2, h3", "all => all.map(one => +one.tagName[1])")
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert page.locator("table:not(:has(caption))").count() == 0
    assert page.locator("th:not([scope])").count() == 0
    assert page.locator("[tabindex='0']:not([aria-label])").count() == 0
    assert page.locator("svg:not([role=img])").count() == 0
    for box in page.locator("input").all():
        assert page.locator(f"label[for='{box.get_attribute('id')}']").count() == 1
    assert page.locator("html").get_attribute("lang") == "en"


@pytest.mark.parametrize("name", PAGES)
def test_paper_has_every_row_and_no_search(opened: Opener, name: str) -> None:
    page, _ = opened(PAGES[name]())
    page.emulate_media(media="print")
    assert not page.locator(".filter").is_visible()
    clipped = page.eval_on_selector_all(
        ".tall", "all => all.filter(one => one.scrollHeight > one.clientHeight + 1).length"
    )
    assert clipped == 0


def test_text_of_others_is_no_markup_in_sections(opened: Opener) -> None:
    page, seen = opened(sections(HOSTILE))
    page.fill("#search", "app-01")
    page.locator("details summary").first.click()
    assert page.evaluate("window.ran") is None
    assert page.locator("img, svg").count() == 0
    assert page.locator("script").count() == 1
    assert (seen.problems, seen.requests) == ([], [])


def test_empty_sections_are_left_out(opened: Opener) -> None:
    page, _ = opened(sections())
    assert page.locator("main h2").all_inner_texts() == ["Moves"]
