"""Reports files that people may expect to be read, although they stand beside the source folders.

It looks into few files of a folder, and only at their beginning: a repository may hold much else.
"""

import difflib
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, Position, codes
from gitops_dsf.repository.load.paths import FOLDER_OF_KIND, FOLDERS, SETTINGS_FILE, SUFFIXES

_OTHER_FOLDERS: Final = frozenset(
    {"rendered", "docs", "examples", "scripts", "test", "hack", "argocd", "schemas"}
)

_MAX_FILES: Final = 20
"""How many files of a folder are looked into."""

_MAX_ENTRIES: Final = 500

_MAX_BYTES: Final = 65_536

_OURS: Final = re.compile(
    rb"^apiVersion: *[\"']?(?:gitops-dsf\.io|(?:dynamic-scoring|cluster)\.open-cluster-management\.io)/",
    re.MULTILINE,
)

_KIND: Final = re.compile(rb"^kind: *[\"']?(\w+)", re.MULTILINE)


def forgotten(root: Path) -> Iterator[Diagnostic]:
    """Reports documents of ours beside the source folders, and misspelt names of known ones."""
    for entry in sorted(root.iterdir()):
        name = entry.name
        if (
            name.startswith(".")
            or name in FOLDERS
            or name == SETTINGS_FILE
            or name in _OTHER_FOLDERS
        ):
            continue
        if entry.is_dir():
            close = difflib.get_close_matches(name.lower(), FOLDERS, n=1, cutoff=0.75)
            meant = close[0] if close else _meant(entry)
            if meant:
                message = f"the folder {name}/ is not read"
                yield codes.UNREAD_FOLDER.at(
                    Position(file=name), message, f"did you mean {meant}/?"
                )
        elif name.endswith(SUFFIXES) and entry.is_file() and (hint := _hint(entry)):
            yield codes.UNREAD_FOLDER.at(Position(file=name), f"the file {name} is not read", hint)


def _hint(file: Path) -> str:
    """What to do with a file beside the source folders; empty if it is none of ours."""
    if difflib.get_close_matches(file.name.lower(), [SETTINGS_FILE], n=1, cutoff=0.85):
        return f"did you mean {SETTINGS_FILE}?"
    places = sorted({f"{name}/" for name in _places(file) if name in FOLDERS})
    if len(places) > 1:
        return f"split it: its documents belong into {', '.join(places[:-1])} and {places[-1]}"
    return (
        f"move it into {places[0]}"
        if places
        else f"name it {SETTINGS_FILE}"
        if _places(file)
        else ""
    )


def _places(file: Path) -> list[str]:
    """Where the documents of ours in a file belong, by their kinds."""
    try:
        with file.open("rb") as stream:
            text = stream.read(_MAX_BYTES)
    except OSError:
        return []
    kinds = _KIND.findall(text) if _OURS.search(text) else []
    return [FOLDER_OF_KIND[kind.decode()] for kind in kinds if kind.decode() in FOLDER_OF_KIND]


def _meant(folder: Path) -> str:
    """The source folder of most documents in a folder; empty if it holds none of ours."""
    if folder.is_symlink() or any(folder.rglob(SETTINGS_FILE)):
        return ""  # or a fleet repository of its own
    entries = sorted(islice(folder.rglob("*"), _MAX_ENTRIES))
    files = islice(
        (path for path in entries if path.name.endswith(SUFFIXES) and path.is_file()), _MAX_FILES
    )
    found = Counter(place for file in files for place in _places(file) if place in FOLDERS)
    return min(found, key=lambda name: (-found[name], name)) if found else ""
