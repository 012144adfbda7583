"""Finds and reads the source files of a repository, within bounds of size."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, Position, codes
from gitops_dsf.errors import RepositoryError
from gitops_dsf.repository.load.forgotten import forgotten
from gitops_dsf.repository.load.paths import FOLDERS, SETTINGS_FILE, SUFFIXES
from gitops_dsf.repository.safefolder import NotRegularError, SafeFolder, TooLargeError

_MEANT: Final = (*SUFFIXES, ".json", ".yaml.txt", ".yml.txt")
"""Lower-case file name endings that people may expect to be read."""

_LFS: Final = b"version https://git-lfs.github.com/spec/"
"""How a file begins that Git LFS has in git in place of another."""

MEBIBYTE: Final = 1024 * 1024
MAX_FILE_BYTES: Final = 8 * MEBIBYTE
"""Of one file. 2,000 clusters with claims in one file have about 2 MiB."""
MAX_TOTAL_BYTES: Final = 128 * MEBIBYTE
"""Of all files together."""


def discover(root: Path) -> tuple[dict[str, str], list[str], list[Diagnostic]]:
    """The texts of the files of a repository in order of name, without byte order marks.

    Returns also the names of all files that belong to it, and findings about those whose text is
    not there, and about others. Raises RepositoryError when the folder itself cannot be read.

    Returns also the names of all files that belong to it, and findings about those whose text is
    not there, and about others. Raises RepositoryError when the folder itself cannot be read.
    """
    if not root.is_dir():
        raise RepositoryError(f"{root} is not a folder")
    diagnostics = list(forgotten(root))
    files: dict[str, str] = {}
    folder, total = SafeFolder(root), 0
    names = sorted(_names(root, diagnostics))
    for name in names:
        file = _shown(name)
        found: bytes | str | Diagnostic = _read(folder, root, name)
        if isinstance(found, bytes):
            total += len(found)
            if total > MAX_TOTAL_BYTES:
                message = (
                    f"the repository's YAML files are larger than {MAX_TOTAL_BYTES} bytes"
                    " together; the"
                )
                hint = "split the fleet into several repositories"
                diagnostics.append(
                    codes.SIZE.at(Position(file=file), f"{message} rest is not read", hint)
                )
                break
            found = _pointer(file) if found.startswith(_LFS) else _decode(found, file=file)
        if isinstance(found, Diagnostic):
            diagnostics.append(found)
        else:
            files[file] = found
    return files, names, diagnostics


def _shown(name: str) -> str:
    """A file name as text, also if it is not UTF-8."""
    return os.fsencode(name).decode("utf-8", "replace")


def _names(root: Path, diagnostics: list[Diagnostic]) -> Iterator[str]:
    """Relative paths with forward slashes, with every symbolic link:

    `_read` checks where it leads.
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
            path = f"{where}/{entry.name}"
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                pending.append(path)
            elif path.endswith(SUFFIXES) or (entry.is_symlink() and entry.is_dir()):
                yield path
            elif path.lower().endswith(_MEANT):
                hint = "rename it: names of files that are read end in .yaml or .yml"
                message, position = (
                    f"the file {_shown(path)} is not read",
                    Position(file=_shown(path)),
                )
                diagnostics.append(codes.UNREAD_FOLDER.at(position, message, hint))


def _read(folder: SafeFolder, root: Path, name: str) -> bytes | Diagnostic:
    position = Position(file=_shown(name))
    try:
        try:
            return folder.read(name, limit=MAX_FILE_BYTES)
        except NotRegularError:
            path, base, message, hint = root / name, root.resolve(), "", ""
            if not path.is_symlink():
                raise
            if not path.exists():
                message, hint = (
                    "the symbolic link leads nowhere",
                    "remove it, or commit the file itself",
                )
            elif not (target := path.resolve()).is_relative_to(base):
                message, hint = (
                    "the symbolic link leads out of the repository",
                    "commit the file itself",
                )
            elif target.is_dir():
                message, hint = (
                    "folders behind symbolic links are not read",
                    "commit the folder itself",
                )
            if message:
                return codes.SYMLINK.at(position, message, hint)
            return folder.read(target.relative_to(base).as_posix(), limit=MAX_FILE_BYTES)
    except NotRegularError:
        return codes.NOT_AN_OBJECT.at(position, "not a regular file", "remove it, or rename it")
    except TooLargeError as error:
        message = f"{error.size} bytes; a file may have at most {MAX_FILE_BYTES}"
        return codes.SIZE.at(position, message, "split it into several files")
    except OSError as error:
        raise RepositoryError(f"{position.file} cannot be read: {error.strerror}") from error


def _pointer(file: str) -> Diagnostic:
    message = "this is a pointer of Git LFS, and not the file"
    hint = "run `git lfs pull`, and take filter=lfs away from the source folders in .gitattributes"
    return codes.CHANGED_BY_GIT.at(Position(file=file), message, hint)


def _decode(content: bytes, *, file: str) -> str | Diagnostic:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace"))
        position = Position(file=file, line=before.count(b"\n") + 1, column=column + 1)
        message = f"the byte 0x{content[error.start]:02x} is not UTF-8"
        return codes.ENCODING.at(position, message, "save the file as UTF-8")
