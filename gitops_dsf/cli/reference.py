"""The entries of docs/reference/diagnostics.md by code, which the wheel carries."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from gitops_dsf.packagedata import packaged

PAGE: Final = "docs/reference/diagnostics.md"
_ENTRY: Final = re.compile(r"^### (DSF\d{3}) ([^\n]+)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
_DIFF: Final = re.compile(r"^```diff\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""An example of YAML: its `-` lines are in the bad one only, its `+` lines in the good one only."""
_LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One code: what it means; most have an example with and without the finding."""

    title: str
    text: str
    """What it means and why, in paragraphs."""
    bad: str
    good: str

    @property
    def examples(self) -> tuple[tuple[str, str], ...]:
        both = (("With this finding", self.bad), ("Without it", self.good))
        return tuple((head, example) for head, example in both if example)

    @property
    def anchor(self) -> str:
        """The part of the page's address behind `#`, without the code."""
        return re.sub(r"[^\w\- ]", "", self.title.lower()).replace(" ", "-")


@cache
def entries() -> Mapping[str, Entry]:
    """Every entry by its code, in order. Raises RepositoryError when the installation lacks the page."""
    page = packaged(PAGE).read_text(encoding="utf-8")
    return {code: _entry(title, body) for code, title, body in _ENTRY.findall(page)}


def _entry(title: str, body: str) -> Entry:
    diff = _DIFF.search(body)
    lines = diff[1].splitlines(keepends=True) if diff else []
    bad, good = ("".join(line[1:] for line in lines if line[0] in (" ", sign)).rstrip() for sign in "-+")
    return Entry(title=title, text=_LINK.sub(r"\1", body.partition("\n```")[0]).strip(), bad=bad, good=good)
