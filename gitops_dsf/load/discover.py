"""Which files of a repository are read: gitops-dsf.yaml and every YAML file in the five source folders."""

import difflib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gitops_dsf import codes
from gitops_dsf.diagnostics import Diagnostic, Position
from gitops_dsf.errors import RepositoryError
from gitops_dsf.load.limits import Limits

SETTINGS_FILE: Final = "gitops-dsf.yaml"
FOLDERS: Final = ("apps", "clusters", "config", "locks", "scorers")
SUFFIXES: Final = (".yaml", ".yml")
_OTHER_FOLDERS: Final = frozenset({"rendered", "docs", "scripts", "tests", "test", "hack", "argocd", "schemas"})


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """The text of one file, without a byte order mark."""

    file: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Discovered:
    """The files of a repository in the order of their names."""

    files: list[SourceFile]
    diagnostics: list[Diagnostic]


def discover(root: Path, *, limits: Limits) -> Discovered:
    """Reads the files of a repository. Raises RepositoryError when the folder itself cannot be read."""
    if not root.is_dir():
        msg = f"{root} is not a folder"
        raise RepositoryError(msg)
    diagnostics = _looks_forgotten(root)
    files: list[SourceFile] = []
    total = 0
    base = root.resolve()
    for path in _paths(root):
        name = path.relative_to(root).as_posix()
        content = _read(path, name=name, base=base, limits=limits, diagnostics=diagnostics)
        if content is None:
            continue
        total += len(content)
        if total > limits.total_bytes:
            message = f"the repository's YAML files are larger than {limits.total_bytes} bytes together; the rest is not read"
            diagnostics.append(codes.SIZE.at(Position(file=name), message, "split the fleet into several repositories"))
            break
        text = _decode(content, name=name, diagnostics=diagnostics)
        if text is not None:
            files.append(SourceFile(file=name, text=text))
    return Discovered(files=files, diagnostics=diagnostics)


def _paths(root: Path) -> list[Path]:
    found = [root / SETTINGS_FILE] if os.path.lexists(root / SETTINGS_FILE) else []
    for folder in FOLDERS:
        if (root / folder).is_symlink():
            found.append(root / folder)
            continue
        for where, folders, names in os.walk(root / folder, onerror=_unreadable):
            linked = [name for name in folders if Path(where, name).is_symlink()]
            folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in linked)
            found += [Path(where, name) for name in names if name.endswith(SUFFIXES) and not name.startswith(".")]
            found += [Path(where, name) for name in linked if not name.startswith(".")]
    return sorted(found, key=lambda path: path.relative_to(root).as_posix())


def _unreadable(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        msg = f"{error.filename} cannot be read: {error.strerror}"
        raise RepositoryError(msg) from error


def _read(path: Path, *, name: str, base: Path, limits: Limits, diagnostics: list[Diagnostic]) -> bytes | None:
    if path.is_symlink():
        try:
            target = path.resolve(strict=True)
        except (OSError, RuntimeError):
            diagnostics.append(
                codes.SYMLINK.at(Position(file=name), "the symbolic link leads nowhere", "remove it, or commit the file itself")
            )
            return None
        if not target.is_relative_to(base):
            message = "the symbolic link leads out of the repository"
            diagnostics.append(codes.SYMLINK.at(Position(file=name), message, "commit the file itself"))
            return None
        if target.is_dir():
            message = "folders behind symbolic links are not read"
            diagnostics.append(codes.SYMLINK.at(Position(file=name), message, "commit the folder itself"))
            return None
    try:
        if not path.is_file():
            diagnostics.append(codes.NOT_AN_OBJECT.at(Position(file=name), "not a regular file", "remove it, or rename it"))
            return None
        size = path.stat().st_size
        if size > limits.file_bytes:
            message = f"{size} bytes; a file may have at most {limits.file_bytes}"
            diagnostics.append(codes.SIZE.at(Position(file=name), message, "split it into several files"))
            return None
        return path.read_bytes()
    except OSError as error:
        msg = f"{name} cannot be read: {error.strerror}"
        raise RepositoryError(msg) from error


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


def _looks_forgotten(root: Path) -> list[Diagnostic]:
    """Names beside the known ones that look like a slip: their content would silently have no effect."""
    found: list[Diagnostic] = []
    for entry in sorted(root.iterdir()):
        name = entry.name
        if name.startswith(".") or name in FOLDERS or name == SETTINGS_FILE or name in _OTHER_FOLDERS:
            continue
        if entry.is_dir():
            close = difflib.get_close_matches(name.lower(), FOLDERS, n=1, cutoff=0.75)
            if close:
                message = f"the folder {name}/ is not read"
                found.append(codes.UNREAD_FOLDER.at(Position(file=name), message, f"did you mean {close[0]}/?"))
        elif name.endswith(SUFFIXES) and _close_to_settings(name):
            message = f"the file {name} is not read"
            found.append(codes.UNREAD_FOLDER.at(Position(file=name), message, f"did you mean {SETTINGS_FILE}?"))
    return found


def _close_to_settings(name: str) -> bool:
    return bool(difflib.get_close_matches(name.lower(), [SETTINGS_FILE], n=1, cutoff=0.85))
