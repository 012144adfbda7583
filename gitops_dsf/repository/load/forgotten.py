"""Reports files that people may expect to be read, although they stand beside the source folders.

It looks into few files of a folder, and only at their beginning, because a repository may hold much
else. So a file that it does not report is not certain to be none of ours.
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
from gitops_dsf.wording import and_text

_OTHER_FOLDERS: Final = frozenset(
    {"rendered", "docs", "examples", "scripts", "test", "hack", "argocd", "schemas"}
)
"""Folders that hold objects of ours, or have names like ours, for good reasons."""
_MAX_FILES: Final = 20
"""Upper limit of files that are read in one folder."""
_MAX_ENTRIES: Final = 500
"""Upper limit of entries of a folder, with those below it, that are listed."""
_MAX_BYTES: Final = 65_536
"""The number of bytes that are read of a file."""
_OURS: Final = re.compile(
    rb"^apiVersion: *[\"']?"
    rb"(?:gitops-dsf\.io|(?:dynamic-scoring|cluster)\.open-cluster-management\.io)/",
    re.MULTILINE,
)
_KIND: Final = re.compile(rb"^kind: *[\"']?(\w+)", re.MULTILINE)


def forgotten(root: Path) -> Iterator[Diagnostic]:
    """Reports documents of ours beside the source folders, and misspelt names of known ones."""
    for entry in sorted(root.iterdir()):
        name = entry.name
        if name.startswith(".") or name in {*FOLDERS, *_OTHER_FOLDERS, SETTINGS_FILE}:
            continue
        position = Position(file=name)
        if entry.is_dir():
            # Close enough for a plural, a missing letter or two swapped ones, such as scorer/.
            similar_names = difflib.get_close_matches(name.lower(), FOLDERS, n=1, cutoff=0.75)
            meant = similar_names[0] if similar_names else _meant_folder(entry)
            if meant:
                message = f"the folder {name}/ is not read"
                yield codes.UNREAD_FOLDER.at(position, message, f"did you mean {meant}/?")
        elif name.endswith(SUFFIXES) and entry.is_file() and (hint := _hint(entry)):
            yield codes.UNREAD_FOLDER.at(position, f"the file {name} is not read", hint)


def _hint(file: Path) -> str:
    """The hint for a file beside the source folders; empty if it is none of ours."""
    if difflib.get_close_matches(file.name.lower(), [SETTINGS_FILE], n=1, cutoff=0.85):
        return f"did you mean {SETTINGS_FILE}?"
    destinations = _destinations(file)
    folders = sorted({f"{name}/" for name in destinations if name in FOLDERS})
    if len(folders) > 1:
        return f"split it: its documents belong into {and_text(folders)}"
    if folders:
        return f"move it into {folders[0]}"
    return f"name it {SETTINGS_FILE}" if destinations else ""


def _destinations(file: Path) -> list[str]:
    """The destinations of our documents in a file, by their kinds: folders, or the settings file.

    There is one for each document. A file that cannot be read holds none.
    """
    try:
        with file.open("rb") as stream:
            text = stream.read(_MAX_BYTES)
    except OSError:
        return []
    if not _OURS.search(text):
        return []
    destinations: list[str] = []
    for kind in map(bytes.decode, _KIND.findall(text)):
        if kind in FOLDER_OF_KIND:
            destinations.append(FOLDER_OF_KIND[kind])
    return destinations


def _meant_folder(folder: Path) -> str:
    """The source folder of most documents in a folder; empty if it holds none of ours."""
    if folder.is_symlink() or any(folder.rglob(SETTINGS_FILE)):
        return ""  # or a fleet repository of its own
    # Sorted, because the order of a folder differs between file systems, and findings must not.
    entries = sorted(islice(folder.rglob("*"), _MAX_ENTRIES))
    files = [path for path in entries if path.name.endswith(SUFFIXES) and path.is_file()]
    documents = Counter[str]()
    for file in files[:_MAX_FILES]:
        documents.update(name for name in _destinations(file) if name in FOLDERS)
    # The name decides between folders with as many documents, so that each run says the same.
    return min(documents, key=lambda name: (-documents[name], name), default="")
