"""Markdown in the look of a forge, as a page of HTML.

The style sheets beside this module imitate what a comment looks like at GitHub and GitLab. They are
written for these pictures, and copied from nobody.
"""

from pathlib import Path
from typing import Final, Literal

from markdown_it import MarkdownIt

Forge = Literal["github", "gitlab"]
Theme = Literal["light", "dark"]
FORGES: Final[tuple[Forge, ...]] = ("github", "gitlab")
THEMES: Final[tuple[Theme, ...]] = ("light", "dark")
WIDTHS: Final = (1012, 400)
"""Pixels: the column of a pull request on a wide screen, and a telephone."""
_FOLDER: Final = Path(__file__).parent


def html_of(markdown: str, forge: Forge) -> str:
    """The HTML of a comment, by CommonMark with tables, as both forges read it."""
    # GitHub makes each line break of a comment a <br>. GitLab reads them as CommonMark does.
    options = {"html": True, "breaks": forge == "github"}
    renderer = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
    return str(renderer.render(markdown))


def page(markdown: str, *, forge: Forge, theme: Theme, width: int, is_open: bool = False) -> str:
    """A page with one comment, `width` pixels wide. `is_open`: with all folded sections open."""
    style = (_FOLDER / f"{forge}.css").read_text("utf-8")
    content = html_of(markdown, forge)
    if is_open:
        content = content.replace("<details>", "<details open>")
    return (
        f'<!doctype html><html data-theme="{theme}"><meta charset="utf-8">'
        f"<style>body {{ width: {width}px }} {style}</style>"
        f"<body><article><header>gitops-dsf</header><main>{content}</main></article></body></html>"
    )
