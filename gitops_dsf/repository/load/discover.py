"""Finds the files of a repository: gitops-dsf.yaml, and every YAML file in the source folders."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, Position, codes
from gitops_dsf.errors import RepositoryError
from gitops_dsf.repository.load.forgotten import forgotten
from gitops_dsf.repository.load.names import FOLDERS, SETTINGS_FILE, SUFFIXES
from gitops_dsf.repository.safefolder import NotRegularError, SafeFolder, TooLargeError

_MEANT: Final = (*SUFFIXES, ".json", ".yaml.txt", ".yml.txt")
"""Lower-case file name endings that people may expect to be read."""

MEBIBYTE: Final = 1024 * 1024
MAX_FILE_BYTES: Final = 8 * MEBIBYTE
"""Of one file. 2,000 clusters with claims in one file have about 2 MiB."""
MAX_TOTAL_BYTES: Final = 128 * MEBIBYTE
"""Of all files together."""


def discover(root: Path) -> tuple[dict[str, str], list[Diagnostic]]:
    """The texts of the files of a repository in order of name, without byte order marks, and findings about
    other files. Raises RepositoryError when the folder itself cannot be read.
    """
    if not root.is_dir():
        raise RepositoryError(f"{root} is not a folder")
    diagnostics = list(forgotten(root))
    files: dict[str, str] = {}
    folder, total = SafeFolder(root), 0
    for name in sorted(_names(root, diagnostics)):
        file = _shown(name)
        found: bytes | str | Diagnostic = _read(folder, root, name)
        if isinstance(found, bytes):
            total += len(found)
            if total > MAX_TOTAL_BYTES:
                message = f"the repository's YAML files are larger than {MAX_TOTAL_BYTES} bytes together; the"
                hint = "split the fleet into several repositories"
                diagnostics.append(codes.SIZE.at(Position(file=file), f"{message} rest is not read", hint))
                break
            found = _decode(found, file=file)
        if isinstance(found, Diagnostic):
            diagnostics.append(found)
        else:
            files[file] = found
    return files, diagnostics


def _shown(name: str) -> str:
    """A file name as text, also if it is not UTF-8."""
    return os.fsencode(name).decode("utf-8", "replace")


def _names(root: Path, diagnostics: list[Diagnostic]) -> Iterator[str]:
    """Paths relative to the root, with forward slashes. They include every symbolic link; `_read` checks
    where it leads.
    """
    if os.path.lexists(root / SETTINGS_FILE):
        yield SETTINGS_FILE
    for folder in FOLDERS:
        if (root / folder).is_symlink():
            yield folder
        elif (root / folder).is_dir():
            yield from _below(root, folder, diagnostics)


def _below(root: Path, folder: str, diagnostics: list[Diagnostic]) -> Iterator[str]:
    pending = [folder]
    while pending:
        where = pending.pop()
        try:
            entries = list(os.scandir(root / where))
        except OSError as error:
            raise RepositoryError(f"{where} cannot be read: {error.strerror}") from error
        for entry in entries:
            name = entry.name
            if name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                pending.append(f"{where}/{name}")
            elif name.endswith(SUFFIXES) or (entry.is_symlink() and entry.is_dir()):
                yield f"{where}/{name}"
            elif name.lower().endswith(_MEANT):
                shown = _shown(f"{where}/{name}")
                position = Position(file=shown)
                hint = "rename it: names of files that are read end in .yaml or .yml"
                diagnostics.append(codes.UNREAD_FOLDER.at(position, f"the file {shown} is not read", hint))


def _read(folder: SafeFolder, root: Path, name: str) -> bytes | Diagnostic:
    position, path = Position(file=_shown(name)), root / name
    try:
        if path.is_symlink():
            if not path.exists():
                message, hint = "the symbolic link leads nowhere", "remove it, or commit the file itself"
                return codes.SYMLINK.at(position, message, hint)
            target, base = path.resolve(), root.resolve()
            if not target.is_relative_to(base):
                message = "the symbolic link leads out of the repository"
                return codes.SYMLINK.at(position, message, "commit the file itself")
            if target.is_dir():
                message = "folders behind symbolic links are not read"
                return codes.SYMLINK.at(position, message, "commit the folder itself")
            name = target.relative_to(base).as_posix()
        return folder.read(name, limit=MAX_FILE_BYTES)
    except NotRegularError:
        return codes.NOT_AN_OBJECT.at(position, "not a regular file", "remove it, or rename it")
    except TooLargeError as error:
        message = f"{error.size} bytes; a file may have at most {MAX_FILE_BYTES}"
        return codes.SIZE.at(position, message, "split it into several files")
    except OSError as error:
        raise RepositoryError(f"{position.file} cannot be read: {error.strerror}") from error


def _decode(content: bytes, *, file: str) -> str | Diagnostic:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace"))
        position = Position(file=file, line=before.count(b"\n") + 1, column=column + 1)
        message = f"the byte 0x{content[error.start]:02x} is not UTF-8"
        return codes.ENCODING.at(position, message, "save the file as UTF-8")
