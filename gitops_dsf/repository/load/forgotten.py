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
    """Reports folders with documents of ours, and names that look like a misspelt known one. Their content
    would silently have no effect.
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
        elif name.endswith(SUFFIXES) and _close_to_settings(name):
            message = f"the file {name} is not read"
            yield codes.UNREAD_FOLDER.at(Position(file=name), message, f"did you mean {SETTINGS_FILE}?")


def _close_to_settings(name: str) -> bool:
    return bool(difflib.get_close_matches(name.lower(), [SETTINGS_FILE], n=1, cutoff=0.85))


def _meant(folder: Path) -> str:
    """The source folder of most documents in a folder; empty if it holds none of ours."""
    if folder.is_symlink():
        return ""
    if next(folder.rglob(SETTINGS_FILE), None) is not None:
        return ""  # a fleet repository of its own
    found = Counter[str]()
    for file in islice(_yaml_files(folder), _MOST_FILES):
        try:
            with file.open("rb") as stream:
                text = stream.read(_MOST_BYTES)
        except OSError:
            continue
        if _OURS.search(text):
            kinds = (kind.decode() for kind in _KIND.findall(text))
            found.update(FOLDER_OF_KIND[kind] for kind in kinds if FOLDER_OF_KIND.get(kind) in FOLDERS)
    return min(found, key=lambda name: (-found[name], name)) if found else ""


def _yaml_files(folder: Path) -> Iterator[Path]:
    try:
        entries = sorted(islice(folder.rglob("*"), _MOST_ENTRIES))
    except OSError:
        return
    for path in entries:
        if path.name.endswith(SUFFIXES) and path.is_file() and not path.is_symlink():
            yield path
