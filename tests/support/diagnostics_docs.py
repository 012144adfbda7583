"""Reads docs/reference/diagnostics.md: its base repository, and the example of each code that is written
over it.

An example is a diff: its `-` lines are in the bad one only, its `+` lines in the good one only.
"""

import re
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs/reference/diagnostics.md"
ENTRY = re.compile(r"^### (DSF\d{3}) (.+)$", re.MULTILINE)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^# ([\w./-]+\.yaml)\n", re.MULTILINE)
FIELD = r"([\w./-]+):"


@dataclass(frozen=True)
class Entry:
    code: str
    title: str
    blocks: list[tuple[str, str]]
    """Kind and text of each."""

    def example(self, kind: str) -> str | None:
        """The bad or the good one."""
        sign = {"bad": "-", "good": "+"}[kind]
        for block, text in self.blocks:
            if block == "diff":
                return "".join(
                    f"{line[1:]}\n" for line in text.splitlines() if line[0] in (" ", sign)
                )
        return None


def read_entries() -> tuple[dict[str, str], list[Entry]]:
    text = DOCS.read_text(encoding="utf-8")
    heads = list(ENTRY.finditer(text))
    intro = text[: heads[0].start()]
    base = {name: body for _, block in BLOCK.findall(intro) for name, body in files(block).items()}
    ends = [*(head.start() for head in heads[1:]), len(text)]
    entries = [
        Entry(head[1], head[2], BLOCK.findall(text[head.end() : end]))
        for head, end in zip(heads, ends, strict=True)
    ]
    return base, entries


def files(block: str) -> dict[str, str]:
    parts = FILE.split(block)
    assert parts[0] == "", f"an example starts with the path of a file: {block!r}"
    return dict(zip(parts[1::2], parts[2::2], strict=True))


BASE, ENTRIES = read_entries()


def overlay(base: list[str], change: list[str], indent: str = "") -> list[str]:
    """Merges a fragment into a whole file: a field replaces the field with the same name, unless both are
    mappings in block style.
    """
    sections, changed = split(base, indent), split(change, indent)
    for key, lines in changed.items():
        old, deeper = sections.get(key, []), f"{indent}  "
        if is_mapping(lines[1:], deeper) and is_mapping(old[1:], deeper):
            sections[key] = [lines[0], *overlay(old[1:], lines[1:], deeper)]
        else:
            sections[key] = lines
    return [line for part in sections.values() for line in part]


def is_mapping(lines: list[str], indent: str) -> bool:
    return bool(lines) and re.match(rf"{indent}{FIELD}", lines[0]) is not None


def split(lines: list[str], indent: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in lines:
        match = re.match(rf"{indent}{FIELD}", line)
        if match or not found:
            found[match[1] if match else ""] = []
        next(reversed(found.values())).append(line)
    return found


def is_whole(body: str) -> bool:
    return body.startswith(("apiVersion:", "- ")) or "\t" in body


def write(root: Path, example: str) -> None:
    """Writes the base with an example over it."""
    changed = files(example)
    for name in {**BASE, **changed}:
        body, change = BASE.get(name, ""), changed.get(name, "")
        if name not in BASE or is_whole(change):
            body = change
        elif change:
            body = "\n".join(overlay(body.splitlines(), change.splitlines())) + "\n"
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(body, encoding="utf-8")
