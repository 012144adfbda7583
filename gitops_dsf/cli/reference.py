"""The entries of docs/diagnostics.md by code, which the wheel carries."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from gitops_dsf.packagedata import packaged

PAGE: Final = "docs/diagnostics.md"
_ENTRY: Final = re.compile(r"^### (DSF\d{3}) ([^\n]+)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
_EXAMPLE: Final = re.compile(r"^```(?:yaml|console) (bad|good)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK: Final = re.compile(r"^#(<|\s*\^)\s*\n", re.MULTILINE)
"""The line under a bad example that points at the reported column."""
_LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One code: what it means, and an example with and without the finding."""

    title: str
    text: str
    """What it means and why, in paragraphs."""
    bad: str
    good: str

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
    examples = dict(_EXAMPLE.findall(body))
    text = _LINK.sub(r"\1", body[: body.find("\n```")] if "\n```" in body else body).strip()
    if body.startswith("```"):
        text = ""
    return Entry(
        title=title,
        text=text,
        bad=_MARK.sub("", examples.get("bad", "")).rstrip(),
        good=examples.get("good", "").rstrip(),
    )
