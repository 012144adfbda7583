"""The documentation site: every page is in the navigation once, and links lead out of docs/ to the
source.

`make site` builds it, and fails for broken links. CI runs it.
"""

import pytest

from tools.reference import reference_pages
from tools.site import DOCS, groups, sources

PAGES = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}


@pytest.fixture(scope="module")
def fields() -> set[str]:
    return {f"reference/fields/{name}" for name in reference_pages()}


def test_every_page_is_in_the_navigation_once(fields: set[str]) -> None:
    listed = [
        page for pages in groups((DOCS / "README.md").read_text("utf-8")).values() for page in pages
    ]
    assert len(listed) == len(set(listed))
    assert PAGES - set(listed) - fields == {"README.md"}


def test_the_front_page_and_the_fields_have_trees_of_pages(fields: set[str]) -> None:
    pages = sources()
    assert pages["index.md"].split(":caption: Start")[1].split()[0] == "start/quickstart.md"
    assert "dynamicscorer.md" in pages["reference/fields/README.md"].split("{toctree}")[1].split()
    assert set(pages) == (PAGES - {"README.md"}) | {"index.md"} | fields


def test_links_out_of_the_folder_lead_to_the_source() -> None:
    pages = sources(repository="https://forge.internal/project")
    source = "https://forge.internal/project/blob/main/CONTRIBUTING.md"
    assert f"[CONTRIBUTING]({source})" in pages["contributing/architecture.md"]
    assert f"[CONTRIBUTING]({source}#the-hub-suite)" in pages["contributing/tests.md"]
