"""`python -m tests.pictures [CASE ...] [--out FOLDER]`: comments of previews as pictures.

Each case at both forges, light and dark, wide and narrow, and once with all sections open. Without
a case, only the pictures of the demo's comment in docs; `all` stands for every case.
"""

import argparse
import sys
import tempfile
from itertools import product
from pathlib import Path

from playwright.sync_api import Browser

from tests.pictures.browser import take
from tests.pictures.cases import CASES
from tests.pictures.docs import PICTURES, demo_pages, write_picture
from tests.pictures.pages import FORGES, THEMES, WIDTHS, page
from tests.support.chromium import MISSING, chromium


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.pictures")
    parser.add_argument("case", nargs="*", choices=[*CASES, "all", []])
    parser.add_argument("--out", type=Path, default=Path("dist/pictures"))
    args = parser.parse_args()
    names = list(CASES) if "all" in args.case else args.case
    # Before the browser starts: it runs an event loop, and previews of the demo run one, too.
    with tempfile.TemporaryDirectory() as folder:
        demo = {} if names else demo_pages(Path(folder))
        comments = {name: _comment(name, Path(folder, name)) for name in names}
    with chromium() as browser:
        if browser is None:
            print(MISSING, file=sys.stderr)
            return 1
        for theme, html in demo.items():
            write_picture(browser, html, PICTURES[theme])
            print(PICTURES[theme])
        for name, markdown in comments.items():
            _write_pictures(browser, name, markdown, args.out)
    return 0


def _comment(name: str, folder: Path) -> str:
    folder.mkdir()
    return CASES[name](folder)


def _write_pictures(browser: Browser, name: str, markdown: str, out: Path) -> None:
    """One comment in every look."""
    out.mkdir(parents=True, exist_ok=True)
    for forge, theme, width, is_open in product(FORGES, THEMES, WIDTHS, (False, True)):
        sections = "open" if is_open else "folded"
        path = out / f"{name}-{forge}-{theme}-{width}-{sections}.png"
        html = page(markdown, forge=forge, theme=theme, width=width, is_open=is_open)
        take(browser, html, path, width=width)
        print(path)


if __name__ == "__main__":
    sys.exit(main())
