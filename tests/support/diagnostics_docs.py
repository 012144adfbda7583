"""Writes the examples of codes as repositories: their files over those of the base repository."""

import re
from pathlib import Path

from tools.diagnostics import BASE as BASE_TEXT

FILE = re.compile(r"^# ([\w./-]+\.yaml)\n", re.MULTILINE)
FIELD = r"([\w./-]+):"


def files(example: str) -> dict[str, str]:
    """The text of each file of an example."""
    parts = FILE.split(f"{example.rstrip()}\n")
    assert parts[0] == "", f"an example starts with the path of a file: {example!r}"
    return dict(zip(parts[1::2], parts[2::2], strict=True))


BASE = files(BASE_TEXT)


def overlay(base: list[str], change: list[str], indent: str = "") -> list[str]:
    """Merges a fragment into a whole file: a field replaces the field with the same name, unless
    both are mappings in block style.
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
    """Whether a text is a whole file, not a fragment: a comment alone empties the file."""
    return body.startswith(("apiVersion:", "- ", "# "))


def write(root: Path, example: str) -> None:
    """Writes the base with an example over it."""
    changed = files(example) if example else {}
    for name in {**BASE, **changed}:
        body, change = BASE.get(name, ""), changed.get(name, "")
        if name not in BASE or is_whole(change):
            body = change
        elif change:
            body = "\n".join(overlay(body.splitlines(), change.splitlines())) + "\n"
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(body, encoding="utf-8")
