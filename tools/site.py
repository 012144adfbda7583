"""Builds the documentation site from docs/: `python -m tools.site --out DIR`.

A broken link fails the build.

The front page is README.md, with docs/README.md in place of its list of documents. The latter is
also the navigation: its headings are the groups, its tables list the pages. The reference is
generated into reference/fields/; its pages are below the README of that folder.

A picture that has a dark twin beside it, as fleet.png has fleet-dark.png, is shown in the theme of
the reader.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from gitops_dsf.published import REPOSITORY
from tools.reference import reference_pages

ROOT: Final = Path(__file__).parents[1]
DOCS: Final = ROOT / "docs"
_FIELDS: Final = "reference/fields"
_LISTED: Final = "\n## Documentation\n"
"""The heading of README.md below which it lists documents."""
_PICTURE: Final = re.compile(r"^!\[([^\]]*)\]\(([^)\s]+)\)$", re.MULTILINE)
_LINK: Final = re.compile(r"\[([^\]]*)\]\(([^)\s:#]+)(#[^)\s]*)?\)")
_ROW: Final = re.compile(r"^\| \[[^\]]*\]\(([^)\s]+\.md)\)", re.MULTILINE)
_SETTINGS: Final[Mapping[str, str]] = {
    "project": "gitops-dsf",
    "extensions": "myst_parser",
    "html_theme": "furo",
    "html_title": "gitops-dsf",
    "myst_heading_anchors": "6",
    # Excerpts of JSON have dots where something is left out.
    "suppress_warnings": "misc.highlighting_failure",
}


def groups(front_page: str) -> Mapping[str, list[str]]:
    """The pages of each group of the navigation."""
    parts = re.split(r"^## (.+)$", front_page, flags=re.MULTILINE)
    return {title: _ROW.findall(text) for title, text in zip(parts[1::2], parts[2::2], strict=True)}


def sources(*, repository: str | None = REPOSITORY) -> Mapping[str, str]:
    """The Markdown of each page of the site.

    The front page and that of the fields have the navigation, and links to files outside the
    folder lead to the source repository, once it is published.
    """
    fields = reference_pages()
    pages: dict[str, str] = {}
    for page in DOCS.rglob("*.md"):
        pages[page.relative_to(DOCS).as_posix()] = _themed(_linked(page, repository), page.parent)
    # Pages that are kept in git are generated again, so the site never has an old one.
    for name, text in fields.items():
        pages[f"{_FIELDS}/{name}"] = text
    listed = pages.pop("README.md")
    index = f"{_FIELDS}/README.md"
    navigation = {**groups(listed), "Fields": [index]}
    story = _themed(_linked(ROOT / "README.md", repository), DOCS)
    front_page = front(story, listed)
    for title, names in navigation.items():
        front_page += _toctree(f":caption: {title}\n", names)
    pages[index] += _toctree("", [name for name in fields if name != "README.md"])
    return {"index.md": front_page, **pages}


def front(story: str, listed: str) -> str:
    """The front page: the story of the README, and the list of all pages below it."""
    before, heading, _ = story.partition(_LISTED)
    if not heading:
        raise ValueError(f"README.md has no heading {_LISTED.strip()!r}")
    _, _, tables = listed.partition("\n")
    return before + heading + re.sub("^## ", "### ", tables, flags=re.MULTILINE)


def _linked(page: Path, repository: str | None) -> str:
    """The page with links that hold in the site, where README.md is beside the pages of docs/."""
    folder = page.parent
    if page.parent == ROOT:
        folder = DOCS

    def absolute(link: re.Match[str]) -> str:
        text, path, anchor = link.groups(default="")
        target = Path(os.path.normpath(page.parent / path))
        # Folders and files outside of docs/ are not pages of the site.
        if target.is_relative_to(DOCS) and not target.is_dir():
            return f"[{text}]({Path(os.path.relpath(target, folder)).as_posix()}{anchor})"
        if repository is None:
            return text
        return f"[{text}]({repository}/blob/main/{target.relative_to(ROOT).as_posix()}{anchor})"

    return _LINK.sub(absolute, page.read_text(encoding="utf-8"))


def _themed(text: str, folder: Path) -> str:
    """The page with pictures for both themes, by the classes that Furo has for that."""

    def both(picture: re.Match[str]) -> str:
        alternative, name = picture.groups()
        path = Path(name)
        dark = path.with_stem(f"{path.stem}-dark")
        if not (folder / dark).exists():
            return picture[0]
        images: list[str] = []
        for file, theme in ((path, "only-light"), (dark, "only-dark")):
            images.append(
                f"```{{image}} {file.as_posix()}\n:class: {theme}\n:alt: {alternative}\n```"
            )
        return "\n\n".join(images)

    return _PICTURE.sub(both, text)


def _toctree(caption: str, pages: Sequence[str]) -> str:
    return f"\n```{{toctree}}\n:hidden:\n{caption}\n" + "\n".join(pages) + "\n```\n"


def build(out: Path) -> int:
    """Writes the site, and returns the exit code of Sphinx.

    A warning, as of a broken link, is an error.
    """
    with tempfile.TemporaryDirectory(prefix="gitops-dsf-site-") as temporary:
        folder = Path(temporary) / "source"
        for path, text in sources().items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        shutil.copytree(DOCS / "images", folder / "images")
        command = [sys.executable, "-m", "sphinx", "-b", "html", "-q", "-W", "--keep-going", "-C"]
        for name, value in _SETTINGS.items():
            command += ["-D", f"{name}={value}"]
        command += ["-d", str(Path(temporary) / "doctrees"), str(folder), str(out)]
        code = subprocess.run(command, check=False).returncode
    if code == 0:
        sys.stdout.write(f"{out}/index.html\n")
    return code


if __name__ == "__main__":
    options = argparse.ArgumentParser(prog="python -m tools.site", description=__doc__)
    options.add_argument("--out", type=Path, default=Path("dist/site"), metavar="DIR")
    sys.exit(build(options.parse_args().out))
