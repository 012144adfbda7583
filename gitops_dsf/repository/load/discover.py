"""Finds and reads the source files of a repository, within bounds of size.

A file that cannot be used is a finding, and the others are read anyway. No symbolic link is
followed out of the repository.

Not guaranteed: that all files are of one moment. Another process may change the folder meanwhile.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from gitops_dsf.diagnostics import Diagnostic, Position, codes
from gitops_dsf.errors import RepositoryError
from gitops_dsf.repository.load.forgotten import forgotten
from gitops_dsf.repository.load.paths import FOLDERS, SETTINGS_FILE, SUFFIXES
from gitops_dsf.repository.safefolder import FileTooLargeError, NotRegularError, SafeFolder

MEBIBYTE: Final = 1024 * 1024
MAX_FILE_BYTES: Final = 8 * MEBIBYTE
"""Upper limit of one file. 2,000 clusters with claims in one file have about 2 MiB."""
MAX_TOTAL_BYTES: Final = 128 * MEBIBYTE
"""Upper limit of all files together."""

_EXPECTED_SUFFIXES: Final = (*SUFFIXES, ".json", ".yaml.txt", ".yml.txt")
"""Lower-case endings of files that people may expect to be read."""
_LFS_POINTER: Final = b"version https://git-lfs.github.com/spec/"
"""The beginning of a file that Git LFS commits in place of another one."""


class SourceFiles(NamedTuple):
    """The files of a repository, in order of name."""

    texts: dict[str, str]
    """The texts without byte order marks, by path. A file with a finding has none."""
    names: list[str]
    """The paths of all files that belong to the repository, also of those without a text."""
    diagnostics: list[Diagnostic]


def discover(root: Path) -> SourceFiles:
    """Reads the source files of a repository.

    Raises RepositoryError when the folder itself, or a file in it, cannot be read.
    """
    if not root.is_dir():
        raise RepositoryError(f"{root} is not a folder")
    diagnostics = list(forgotten(root))
    texts: dict[str, str] = {}
    folder = SafeFolder(root)
    total = 0
    # The order of a folder differs between file systems, and findings must not.
    names = sorted(_names(root, diagnostics))
    for name in names:
        file = _printable_name(name)
        content = _read(folder, root, name)
        if isinstance(content, Diagnostic):
            diagnostics.append(content)
            continue
        total += len(content)
        if total > MAX_TOTAL_BYTES:
            diagnostics.append(
                codes.SIZE.at(
                    Position(file=file),
                    f"the repository's YAML files are larger than {MAX_TOTAL_BYTES} bytes together;"
                    " the rest is not read",
                    "split the fleet into several repositories",
                )
            )
            break
        # A pointer is valid UTF-8, and even a valid YAML text, so it is looked for first.
        text = _pointer(file) if content.startswith(_LFS_POINTER) else _decode(content, file=file)
        if isinstance(text, Diagnostic):
            diagnostics.append(text)
        else:
            texts[file] = text
    return SourceFiles(texts, names, diagnostics)


def _printable_name(name: str) -> str:
    """A file name as text that can be encoded, also if the name on the disk is not UTF-8."""
    return os.fsencode(name).decode("utf-8", "replace")


def _names(root: Path, diagnostics: list[Diagnostic]) -> Iterator[str]:
    """The relative paths of the sources, with forward slashes.

    Symbolic links are among them, wherever they lead: `_read` judges that.
    """
    if os.path.lexists(root / SETTINGS_FILE):
        yield SETTINGS_FILE
    for folder in FOLDERS:
        # A link in place of a folder would read files that no reviewer of the repository sees.
        if (root / folder).is_symlink():
            yield folder
        elif (root / folder).is_dir():
            yield from _names_below(root, folder, diagnostics)


def _names_below(root: Path, folder: str, diagnostics: list[Diagnostic]) -> Iterator[str]:
    """The sources below a folder. Files that people may expect to be read become findings."""
    pending = [folder]
    while pending:
        current = pending.pop()
        try:
            # Not Path.rglob(): in Python 3.11 it hides folders that may not be read, and a fleet
            # without their files would render.
            entries = list(os.scandir(root / current))
        except OSError as error:
            raise RepositoryError(f"{current} cannot be read: {error.strerror}") from error
        for entry in entries:
            path = f"{current}/{entry.name}"
            # Hidden files are those of editors and of `write_file`, which may be half written.
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                pending.append(path)
            elif path.endswith(SUFFIXES) or (entry.is_symlink() and entry.is_dir()):
                yield path
            elif path.lower().endswith(_EXPECTED_SUFFIXES):
                file = _printable_name(path)
                diagnostics.append(
                    codes.UNREAD_FOLDER.at(
                        Position(file=file),
                        f"the file {file} is not read",
                        "rename it: names of files that are read end in .yaml or .yml",
                    )
                )


def _read(folder: SafeFolder, root: Path, name: str) -> bytes | Diagnostic:
    """The bytes of a file, or what is wrong with it. Raises RepositoryError."""
    position = Position(file=_printable_name(name))
    try:
        try:
            return folder.read(name, limit=MAX_FILE_BYTES)
        except NotRegularError:
            path = root / name
            if not path.is_symlink():
                raise
            if finding := _link_finding(path, root, position):
                return finding
            # The link leads to a regular file of this repository, which is read by its own path.
            target = path.resolve().relative_to(root.resolve())
            return folder.read(target.as_posix(), limit=MAX_FILE_BYTES)
    except NotRegularError:
        return codes.NOT_AN_OBJECT.at(position, "not a regular file", "remove it, or rename it")
    except FileTooLargeError as error:
        message = f"{error.size} bytes; a file may have at most {MAX_FILE_BYTES}"
        return codes.SIZE.at(position, message, "split it into several files")
    except OSError as error:
        raise RepositoryError(f"{position.file} cannot be read: {error.strerror}") from error


def _link_finding(link: Path, root: Path, position: Position) -> Diagnostic | None:
    """The finding about a symbolic link; None if it leads to a file of the repository.

    A link out of the repository would read content that no reviewer of the repository sees.
    """
    if not link.exists():
        hint = "remove it, or commit the file itself"
        return codes.SYMLINK.at(position, "the symbolic link leads nowhere", hint)
    target = link.resolve()
    if not target.is_relative_to(root.resolve()):
        message = "the symbolic link leads out of the repository"
        return codes.SYMLINK.at(position, message, "commit the file itself")
    if target.is_dir():
        message = "folders behind symbolic links are not read"
        return codes.SYMLINK.at(position, message, "commit the folder itself")
    return None


def _pointer(file: str) -> Diagnostic:
    message = "this is a pointer of Git LFS, and not the file"
    hint = "run `git lfs pull`, and take filter=lfs away from the source folders in .gitattributes"
    return codes.CHANGED_BY_GIT.at(Position(file=file), message, hint)


def _decode(content: bytes, *, file: str) -> str | Diagnostic:
    """The text of a file, or where it is not UTF-8."""
    try:
        # Editors on Windows write a byte order mark, which is not part of the first field's name.
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        # Columns count characters, so the line before the mistake is decoded, too.
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace"))
        position = Position(file=file, line=before.count(b"\n") + 1, column=column + 1)
        message = f"the byte 0x{content[error.start]:02x} is not UTF-8"
        return codes.ENCODING.at(position, message, "save the file as UTF-8")
