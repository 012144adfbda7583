"""Pages of documentation, their blocks and headings, and the targets of make that they name."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        ROOT / "argocd/README.md",
        ROOT / "repo-template/README.md",
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("examples/**/*.md"),
    ]
)
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)(?P<info>[^\n]*)\n(?P<text>.*?)^(?P=indent)```",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    language: str
    title: str
    """The file that it is, or what else follows the language."""
    text: str


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path, language: str | None = None) -> list[Block]:
    """Fenced blocks, without the indentation of a list that they stand in."""
    return [
        block for block in _blocks(page.read_text("utf-8")) if language in {None, block.language}
    ]


def _blocks(text: str) -> Iterator[Block]:
    for found in FENCE.finditer(text):
        title = found["info"].strip().removeprefix("title=").strip('"')
        body = re.sub(f"^{found['indent']}", "", found["text"], flags=re.MULTILINE)
        yield Block(found["language"], title, body)


def files_of_the_readme() -> dict[str, str]:
    """The YAML files of its example, by the path that stands above each."""
    example = r"`([\w/.-]+\.yaml)`[^`]*(?:`[^`]+`[^`]*)?\n\n```yaml\n(.*?)^```$"
    return dict(
        re.findall(example, (ROOT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    )


@cache
def anchors(page: Path) -> frozenset[str]:
    """GitHub's rule: lower-case, punctuation dropped, blanks to dashes."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return frozenset(
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings
    )
