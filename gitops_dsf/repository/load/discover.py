"""Finds the files of a repository: gitops-dsf.yaml, and every YAML file in the source folders."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, Position, codes
from gitops_dsf.errors import RepositoryError
from gitops_dsf.repository.load.forgotten import forgotten
from gitops_dsf.repository.load.limits import ReadLimits
from gitops_dsf.repository.load.names import FOLDERS, SETTINGS_FILE, SUFFIXES
from gitops_dsf.repository.safefolder import NotRegularError, SafeFolder, TooLargeError

_MEANT: Final = (*SUFFIXES, ".json", ".yaml.txt", ".yml.txt")
"""Lower-case file name endings that people may expect to be read."""


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """The text of one file, without a byte order mark."""

    file: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Discovered:
    """The files of a repository in order of name."""

    files: list[SourceFile]
    diagnostics: list[Diagnostic]


def discover(root: Path, *, limits: ReadLimits) -> Discovered:
    """Reads the files of a repository. Raises RepositoryError when the folder itself cannot be read."""
    if not root.is_dir():
        msg = f"{root} is not a folder"
        raise RepositoryError(msg)
    diagnostics = list(forgotten(root))
    names = sorted(_names(root, diagnostics))
    folder = SafeFolder(root)
    contents = (
        (_shown(name), _read(folder, root, name, limits=limits, diagnostics=diagnostics)) for name in names
    )
    return _discovered(contents, limits=limits, diagnostics=diagnostics)


def _discovered(
    contents: Iterable[tuple[str, bytes | None]], *, limits: ReadLimits, diagnostics: list[Diagnostic]
) -> Discovered:
    """Decodes files. Skips those without content, which have a finding."""
    files: list[SourceFile] = []
    total = 0
    for name, content in contents:
        if content is None:
            continue
        total += len(content)
        if total > limits.total_bytes:
            diagnostics.append(_too_much(name, limits))
            break
        text = _decode(content, name=name, diagnostics=diagnostics)
        if text is not None:
            files.append(SourceFile(file=name, text=text))
    return Discovered(files=files, diagnostics=diagnostics)


def _shown(name: str) -> str:
    """A file name as text, also if it is not UTF-8."""
    return os.fsencode(name).decode("utf-8", "replace")


def _too_large(file: str, size: int, limits: ReadLimits) -> Diagnostic:
    message = f"{size} bytes; a file may have at most {limits.file_bytes}"
    return codes.SIZE.at(Position(file=file), message, "split it into several files")


def _too_much(file: str, limits: ReadLimits) -> Diagnostic:
    message = (
        f"the repository's YAML files are larger than {limits.total_bytes} bytes together; the rest is not"
        " read"
    )
    return codes.SIZE.at(Position(file=file), message, "split the fleet into several repositories")


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
            msg = f"{where} cannot be read: {error.strerror}"
            raise RepositoryError(msg) from error
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


def _read(
    folder: SafeFolder,
    root: Path,
    name: str,
    *,
    limits: ReadLimits,
    diagnostics: list[Diagnostic],
) -> bytes | None:
    shown = _shown(name)
    try:
        try:
            return folder.read(name, limit=limits.file_bytes)
        except NotRegularError:
            path, base = root / name, root.resolve()
            if not path.is_symlink():
                raise
            mistake = _link_mistake(path, shown, base=base)
            if mistake is not None:
                diagnostics.append(mistake)
                return None
            return folder.read(
                path.resolve(strict=True).relative_to(base).as_posix(), limit=limits.file_bytes
            )
    except NotRegularError:
        diagnostics.append(
            codes.NOT_AN_OBJECT.at(Position(file=shown), "not a regular file", "remove it, or rename it")
        )
    except TooLargeError as error:
        diagnostics.append(_too_large(shown, error.size, limits))
    except OSError as error:
        msg = f"{shown} cannot be read: {error.strerror}"
        raise RepositoryError(msg) from error
    return None


def _link_mistake(path: Path, name: str, *, base: Path) -> Diagnostic | None:
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError):
        return codes.SYMLINK.at(
            Position(file=name), "the symbolic link leads nowhere", "remove it, or commit the file itself"
        )
    if not target.is_relative_to(base):
        return codes.SYMLINK.at(
            Position(file=name), "the symbolic link leads out of the repository", "commit the file itself"
        )
    if target.is_dir():
        return codes.SYMLINK.at(
            Position(file=name), "folders behind symbolic links are not read", "commit the folder itself"
        )
    return None


def _decode(content: bytes, *, name: str, diagnostics: list[Diagnostic]) -> str | None:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line = before.count(b"\n")
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace"))
        position = Position(file=name, line=line + 1, column=column + 1)
        message = f"the byte 0x{content[error.start]:02x} is not UTF-8"
        diagnostics.append(codes.ENCODING.at(position, message, "save the file as UTF-8"))
        return None
