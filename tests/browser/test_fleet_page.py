"""The page of a fleet in a browser."""

from playwright.sync_api import Page

from gitops_dsf.show.pages.fleet import fleet_page
from tests.browser.conftest import Opener
from tests.support.fleetviews import fleet_view
from tests.support.joborders import WRITTEN, config, page_of_jobs

HOSTILE = (
    '"><script>window.ran=1</script><img src=x onerror=window.ran=1>'
    "</script><svg onload=window.ran=1>' onmouseover='window.ran=1' ${window.ran=1} {{7*7}}"
)


def shown(page: Page, table: str) -> list[str]:
    """The names of the rows that are shown."""
    return page.locator(f"{table} tbody tr:not([hidden]) > th").all_inner_texts()


def test_it_shows_what_is_wrong_first_and_asks_nobody(opened: Opener) -> None:
    page, seen = opened(fleet_page(fleet_view()))
    worst = page.locator(".worst li")
    assert worst.count() == 3
    assert worst.nth(0).locator("b").inner_text() == (
        "OCM does not reach eu-west-0; an application is decided for it"
    )
    assert worst.nth(0).locator("code").inner_text() == (
        "kubectl --context hub describe managedcluster eu-west-0"
    )
    headings = page.locator("main h2").all_inner_texts()
    assert headings == [
        "Applications",
        "Scores",
        "Moves, drains and refuges",
        "Scorers",
        "Past moves",
    ]
    assert (seen.problems, seen.requests) == ([], [])


def test_the_search_filters_every_table_and_the_heat_map(opened: Opener) -> None:
    page, seen = opened(fleet_page(fleet_view()))
    assert len(shown(page, "#applications")) == 8
    page.fill("#search", "portal")
    assert [name.split("\n")[0] for name in shown(page, "#applications")] == ["portal"]
    assert page.inner_text("#applications-count") == "1 of 8 shown"
    page.fill("#search", "us-east-1 gpu")
    assert page.inner_text("#heat-count") == "2 of 12 clusters, 1 of 6 scorers"
    assert page.locator("#heat thead th").all_inner_texts() == ["cluster", "gpu-free"]
    page.click("#clear")
    assert len(shown(page, "#applications")) == 8
    assert page.inner_text("#heat-count") == "12 of 12 clusters, 6 of 6 scorers"
    assert seen.problems == []


def test_a_click_in_the_heat_map_filters_and_says_what_the_cell_is(opened: Opener) -> None:
    page, _ = opened(fleet_page(fleet_view()))
    missing = page.locator("#heat td.missing").first
    missing.click()
    assert page.inner_text("#heat-detail").startswith("egress-cost on ")
    assert page.inner_text("#heat-detail").endswith(": missing")
    assert page.input_value("#search") in page.inner_text("#heat-detail")
    assert page.inner_text("#heat-count").startswith("1 of 12 clusters")


def test_a_state_filters(opened: Opener) -> None:
    page, _ = opened(fleet_page(fleet_view()))
    chip = page.locator(".chips button", has_text="missing")
    chip.click()
    assert chip.get_attribute("aria-pressed") == "true"
    assert page.inner_text("#heat-count") == "6 of 12 clusters, 6 of 6 scorers"
    assert page.locator("#heat tbody tr").count() == 6


def test_a_reason_filters_and_is_named_in_full(opened: Opener) -> None:
    page, _ = opened(fleet_page(fleet_view()))
    page.locator(".chips button", has_text="QueryFailed").click()
    assert page.inner_text("#heat-count") == "2 of 12 clusters, 6 of 6 scorers"
    page.locator("#heat td.failing").first.click()
    assert page.inner_text("#heat-detail").endswith(": QueryFailed: parse error at char 12")
    groups = page.locator("#scores details tbody tr").all_inner_texts()
    assert any("QueryFailed: parse error at char 12" in group for group in groups)


def test_a_head_sorts_by_keyboard(opened: Opener) -> None:
    page, _ = opened(fleet_page(fleet_view()))
    head = page.locator("#scorers thead button", has_text="scorer")
    head.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert page.locator("#scorers thead th").first.get_attribute("aria-sort") == "descending"
    names = [name.split("\n")[0] for name in shown(page, "#scorers")]
    assert names == sorted(names, reverse=True)


def test_the_heat_map_of_a_large_fleet_has_every_cluster(opened: Opener) -> None:
    """Only the rows in view exist, and scrolling shows the others."""
    page, seen = opened(fleet_page(fleet_view(clusters=400, scorers=20, applications=3)))
    assert page.locator("#heat").get_attribute("aria-rowcount") == "401"
    assert page.locator("#heat tbody tr").count() < 80
    # All in one script: to ask for the names at each place takes longer than to draw them.
    names: list[str] = page.evaluate(
        "tops => tops.flatMap(top => { const table = document.getElementById('heat');"
        " const box = table.closest('.tall');"
        " box.scrollTop = top; box.dispatchEvent(new Event('scroll'));"
        " return [...table.querySelectorAll('tbody th')].map(head => head.innerText); })",
        list(range(0, 400 * 26, 400)),
    )
    assert len({name.split("\n")[0].split("OCM")[0].strip() for name in names}) == 400
    assert seen.problems == []


def test_it_says_the_same_without_a_script(opened: Opener) -> None:
    page, _ = opened(fleet_page(fleet_view()), has_scripts=False)
    assert page.locator("#heat tbody tr").count() == 12
    assert page.locator("#applications tbody tr").count() == 8
    assert not page.locator(".filter").is_visible()
    whole, _ = opened(fleet_page(fleet_view(clusters=400)), has_scripts=False)
    text = whole.inner_text("#scores")
    assert "The table has 250 of 400 clusters, those with problems first." in text


def test_the_script_draws_the_same_rows_as_the_page_has_without_it(opened: Opener) -> None:
    html = fleet_page(fleet_view())
    rows = []
    for enabled in (False, True):
        page, _ = opened(html, has_scripts=enabled)
        rows.append(page.locator("#heat tbody tr").all_inner_texts())
    assert rows[0] == rows[1]


def test_the_order_of_clusters_for_jobs_is_a_row_for_each_config(opened: Opener) -> None:
    """Best first, with who gets no jobs and why it changed, whatever others wrote there."""
    written = {**WRITTEN, "leftOut": ["cluster8"], "reason": HOSTILE}
    page, seen = opened(page_of_jobs(config(written)))
    assert "Order of clusters for jobs" in page.locator("main h2").all_inner_texts()
    row = page.locator("#jobs tbody tr")
    assert row.locator("th").inner_text() == "gpu-jobs"
    assert row.locator("td").all_inner_texts() == [
        "kueue-system/gpu-jobs",
        "cluster2 (81.5), then cluster1 (70), then cluster3",
        "cluster8",
        HOSTILE,
    ]
    assert page.evaluate("window.ran") is None
    assert (seen.problems, seen.requests) == ([], [])
    plain, _ = opened(fleet_page(fleet_view()))
    assert plain.locator("#jobs").count() == 0


def test_names_of_others_never_become_markup(opened: Opener) -> None:
    page, seen = opened(fleet_page(fleet_view(text=HOSTILE)))
    page.fill("#search", "eu-west")
    page.locator("#heat td.fresh").first.click()
    page.click("#clear")
    for details in page.locator("details summary").all():
        details.click()
    page.hover("#heat td.fresh")
    assert page.evaluate("window.ran") is None
    assert page.locator("img, svg[onload], [onmouseover], [onerror]").count() == 0
    # The script of the page and the data of the heat map.
    assert page.locator("script").count() == 2
    assert "{{7*7}}" in page.inner_text("#applications")
    assert (seen.problems, seen.requests) == ([], [])


def test_a_script_that_got_into_the_page_would_not_run(opened: Opener) -> None:
    """The second line of defence: the policy of the page."""
    html = fleet_page(fleet_view()).replace(
        "</main>", "<script>window.ran=1</script><img src='https://example.com/x'></main>"
    )
    page, seen = opened(html)
    assert page.evaluate("window.ran") is None
    assert any("script-src" in problem for problem in seen.problems)
    assert any("img-src" in problem for problem in seen.problems)
