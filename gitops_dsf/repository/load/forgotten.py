"""Finds folders and files beside the source folders that people may expect to be read."""

import difflib
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, Position, codes
from gitops_dsf.repository.load.names import FOLDER_OF_KIND, FOLDERS, SETTINGS_FILE, SUFFIXES

_OTHER_FOLDERS: Final = frozenset(
    {"rendered", "docs", "examples", "scripts", "test", "hack", "argocd", "schemas"}
)
_MOST_FILES: Final = 20
"""How many files of a folder are looked into."""
_MOST_ENTRIES: Final = 500
_MOST_BYTES: Final = 65_536
_OURS: Final = re.compile(
    rb"^apiVersion: *[\"']?(?:gitops-dsf\.io|(?:dynamic-scoring|cluster)\.open-cluster-management\.io)/",
    re.MULTILINE,
)
_KIND: Final = re.compile(rb"^kind: *[\"']?(\w+)", re.MULTILINE)


def forgotten(root: Path) -> Iterator[Diagnostic]:
    """Reports folders and files with documents of ours, and names that look like a misspelt known one. Their
    content would silently have no effect.
    """
    for entry in sorted(root.iterdir()):
        name = entry.name
        if name.startswith(".") or name in FOLDERS or name == SETTINGS_FILE or name in _OTHER_FOLDERS:
            continue
        if entry.is_dir():
            close = difflib.get_close_matches(name.lower(), FOLDERS, n=1, cutoff=0.75)
            meant = close[0] if close else _meant(entry)
            if meant:
                message = f"the folder {name}/ is not read"
                yield codes.UNREAD_FOLDER.at(Position(file=name), message, f"did you mean {meant}/?")
        elif name.endswith(SUFFIXES) and entry.is_file() and (hint := _hint(entry)):
            yield codes.UNREAD_FOLDER.at(Position(file=name), f"the file {name} is not read", hint)


def _hint(file: Path) -> str:
    """What to do with a file beside the source folders; empty if it is none of ours."""
    if difflib.get_close_matches(file.name.lower(), [SETTINGS_FILE], n=1, cutoff=0.85):
        return f"did you mean {SETTINGS_FILE}?"
    places = sorted({f"{name}/" for name in _places(file) if name in FOLDERS})
    if len(places) > 1:
        return f"split it: its documents belong into {', '.join(places[:-1])} and {places[-1]}"
    return f"move it into {places[0]}" if places else f"name it {SETTINGS_FILE}" if _places(file) else ""


def _places(file: Path) -> list[str]:
    """Where the documents of ours in a file belong, by their kinds."""
    try:
        with file.open("rb") as stream:
            text = stream.read(_MOST_BYTES)
    except OSError:
        return []
    kinds = _KIND.findall(text) if _OURS.search(text) else []
    return [FOLDER_OF_KIND[kind.decode()] for kind in kinds if kind.decode() in FOLDER_OF_KIND]


def _meant(folder: Path) -> str:
    """The source folder of most documents in a folder; empty if it holds none of ours."""
    if folder.is_symlink() or any(folder.rglob(SETTINGS_FILE)):
        return ""  # or a fleet repository of its own
    entries = sorted(islice(folder.rglob("*"), _MOST_ENTRIES))
    files = (path for path in entries if path.name.endswith(SUFFIXES) and path.is_file())
    found = Counter(
        place for file in islice(files, _MOST_FILES) for place in _places(file) if place in FOLDERS
    )
    return min(found, key=lambda name: (-found[name], name)) if found else ""
