"""The documentation site.

Every page is in the navigation once, and links lead out of docs/ to the source.

`make site` builds it, and fails for broken links. CI runs it.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tools.reference import reference_pages
from tools.site import DOCS, ROOT, front, groups, sources

PAGES = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}


@pytest.fixture(scope="module")
def pages() -> Mapping[str, str]:
    return sources()


@pytest.fixture(scope="module")
def fields() -> set[str]:
    return {f"reference/fields/{name}" for name in reference_pages()}


def test_every_page_is_in_the_navigation_once(fields: set[str]) -> None:
    listed = [
        page for pages in groups((DOCS / "README.md").read_text("utf-8")).values() for page in pages
    ]
    assert len(listed) == len(set(listed))
    assert PAGES - set(listed) - fields == {"README.md"}


def test_the_front_page_and_the_fields_have_trees_of_pages(
    pages: Mapping[str, str], fields: set[str]
) -> None:
    assert pages["index.md"].split(":caption: Start")[1].split()[0] == "start/quickstart.md"
    assert "dynamicscorer.md" in pages["reference/fields/README.md"].split("{toctree}")[1].split()
    assert set(pages) == (PAGES - {"README.md"}) | {"index.md"} | fields


def test_links_out_of_the_folder_lead_to_the_source() -> None:
    pages = sources(repository="https://forge.internal/project")
    source = "https://forge.internal/project/blob/main/CONTRIBUTING.md"
    assert f"[CONTRIBUTING]({source})" in pages["contributing/architecture.md"]
    assert f"[CONTRIBUTING]({source}#the-hub-suite)" in pages["contributing/tests.md"]


def test_the_front_page_tells_the_story_of_the_readme_and_then_lists_all_pages(
    pages: Mapping[str, str],
) -> None:
    page = pages["index.md"]
    headings = re.findall(r"^#+ (.+)$", page.partition("```{toctree}")[0], re.MULTILINE)
    readme = (ROOT / "README.md").read_text("utf-8")
    story = re.findall(r"^#+ (.+)$", readme, re.MULTILINE)
    assert story[-1] == "Documentation"
    listed = groups((DOCS / "README.md").read_text("utf-8"))
    assert headings == [*story, *listed]
    assert "[state of a hub](operate/status.md)" in page
    assert "(docs/" not in page
    for picture in ("architecture.svg", "preview.png", "fleet.png"):
        assert f"images/{picture}" in page


def test_a_readme_that_lists_no_documents_fails_the_build() -> None:
    with pytest.raises(ValueError, match="no heading '## Documentation'"):
        front("# gitops-dsf\n\n## Install\n", "# Documentation\n\n## Start\n")


def test_a_picture_with_a_dark_twin_is_shown_in_both_themes(pages: Mapping[str, str]) -> None:
    page = pages["operate/status.md"]
    for name, theme in (("fleet.png", "only-light"), ("fleet-dark.png", "only-dark")):
        shown = f"```{{image}} ../images/{name}\n:class: {theme}\n:alt: The page of a made-up fleet"
        assert shown in page
    quickstart = pages["start/quickstart.md"]
    assert "](../images/demo.svg)" in quickstart, "it has no twin"


def test_every_dark_picture_is_the_twin_of_a_light_one() -> None:
    for dark in Path(DOCS, "images").glob("*-dark.*"):
        assert dark.with_stem(dark.stem.removesuffix("-dark")).exists()
