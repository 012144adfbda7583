"""Generates docs/reference/diagnostics.md from the codes of findings.

An example on the page is a diff of its bad and its good files. `python -m tools.diagnostics` writes
the page.
"""

import sys
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from pathlib import Path
from typing import Final

from gitops_dsf.diagnostics.code import FindingCode
from gitops_dsf.diagnostics.codes import CODES

PAGE: Final = Path("docs/reference/diagnostics.md")
BASE: Final = Path(__file__).with_name("diagnostics_base.yaml").read_text(encoding="utf-8")
"""The repository over which examples are written. It has no findings."""
_HEAD: Final = """\
<!-- Generated from gitops_dsf/diagnostics/codes by `make schemas`; do not edit. -->
# Diagnostics

Every finding of `gitops-dsf validate` and `render` has a code, which never gets another meaning.
`gitops-dsf explain CODE` prints its entry.

**Errors** stop rendering. **Warnings** fail only `validate --strict` and `ci check --strict`.
**Notices** never fail. `validate --error CODE` reports findings of a code as errors, as `ci check`
does with DSF129 and DSF176. One run reports all findings.

In an example the `-` lines give the finding, and the `+` lines do not. It shows only what differs
from this repository, which has none:

```yaml
{base}```
"""
_SECTIONS: Final[Mapping[str, str]] = {
    "0": "YAML and structure",
    "1": "Scorers",
    "2": "Clusters, selectors and masks",
    "3": "Applications and Placements",
    "4": "ApplicationSets",
    "5": "Output\n\nThese are checked when there are no other errors.",
    "6": (
        "Tests\n\n`gitops-dsf test` runs the documents in `tests/`"
        " ([Testing scores](docs/decisions/preview.md#testing-scores))."
    ),
}
"""The heading, and the text below it, before the codes of a hundred."""


def page() -> str:
    """The page, in Markdown."""
    parts = [_HEAD.format(base=BASE)]
    hundred = ""
    for code in CODES.values():
        # DSF123 is in the section of the hundred 1.
        if code.id[3] != hundred:
            hundred = code.id[3]
            parts.append(f"## {_SECTIONS[hundred]}\n")
        parts.append(_entry(code))
    text = "\n".join(parts)
    # Links are written from the root of the repository, as in every source file.
    return text.replace("](docs/reference/", "](").replace("](docs/", "](../")


def _entry(code: FindingCode) -> str:
    entry = f"### {code.id} {code.title}\n\n{code.explanation}\n"
    if code.bad:
        difference = "\n".join(_difference(code.bad, code.good))
        entry += f"\n```diff\n{difference}\n```\n"
    return entry


def _difference(bad: str, good: str) -> Iterator[str]:
    """All lines of both texts, each with a sign before it."""
    before = bad.split("\n")
    after = good.split("\n")
    # autojunk ignores lines that are frequent in a text of 200 lines or more, such as `spec:`.
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for _, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        old = before[old_start:old_end]
        new = after[new_start:new_end]
        if old == new:
            yield from map(" {}".format, old)
        else:
            yield from map("-{}".format, old)
            yield from map("+{}".format, new)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")
