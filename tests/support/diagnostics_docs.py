"""Reads docs/diagnostics.md: its base repository, and the example of each code that is written over it."""

import re
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs" / "diagnostics.md"
ENTRY = re.compile(r"^### (DSF\d{3}) (.+)$", re.MULTILINE)
BLOCK = re.compile(r"^```(yaml|console) (base|bad|good)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^# ([\w./-]+\.yaml)\n", re.MULTILINE)
CARET = re.compile(r"^#(<|\s*\^)\s*$")


@dataclass(frozen=True)
class Entry:
    code: str
    title: str
    blocks: list[tuple[str, str, str]]

    def example(self, kind: str) -> str | None:
        return next(
            (text for language, which, text in self.blocks if which == kind and language == "yaml"), None
        )


def read_entries() -> tuple[dict[str, str], list[Entry]]:
    text = DOCS.read_text(encoding="utf-8")
    heads = list(ENTRY.finditer(text))
    intro = text[: heads[0].start()]
    base = {name: body for _, _, block in BLOCK.findall(intro) for name, body in files(block).items()}
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


def overlay(base: str, change: str) -> str:
    """Merges a fragment into a whole file. Its fields replace those with the same name, at the top level and
    one level below.
    """
    sections, changed = split(base, ""), split(change, "")
    for key, lines in changed.items():
        if key in sections and len(lines) > 1 and len(sections[key]) > 1:
            inner, outer = split("\n".join(lines[1:]), "  "), split("\n".join(sections[key][1:]), "  ")
            sections[key] = [lines[0], *(line for part in {**outer, **inner}.values() for line in part)]
        else:
            sections[key] = lines
    return "\n".join(line for part in sections.values() for line in part) + "\n"


def split(text: str, indent: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        match = re.match(rf"{indent}(\w+):", line)
        if match or not found:
            found[match[1] if match else ""] = []
        next(reversed(found.values())).append(line)
    return found


def is_whole(body: str) -> bool:
    return body.startswith(("apiVersion:", "- ")) or "\t" in body


def write(root: Path, example: str) -> list[tuple[str, int, int]]:
    """Writes base and example, and returns the marked places."""
    changed = files(example)
    marks: list[tuple[str, int, int]] = []
    for name in {**BASE, **changed}:
        body = BASE.get(name, "")
        if name in changed:
            change = changed[name]
            if name not in BASE or is_whole(change):
                body = change
            elif CARET.match(change.splitlines()[0]):
                body = change + body
            else:
                body = overlay(body, change)
        lines: list[str] = []
        for line in body.splitlines():
            if CARET.match(line):
                column = line.index("^") + 1 if "^" in line else 0
                marks.append((name, max(len(lines), 1), column))
            else:
                lines.append(line)
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return marks
