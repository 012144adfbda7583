"""Access to files of a repository and of a rendered tree."""

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from gitops_dsf.errors import RepositoryError

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class NotRegularError(OSError):
    """A path that should be a regular file is a symbolic link, a folder, a pipe, a socket or a device."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.EINVAL, "not a regular file", path)


class TooLargeError(OSError):
    """A file is larger than the caller's limit."""

    def __init__(self, path: str, size: int) -> None:
        super().__init__(errno.EFBIG, "the file is too large", path)
        self.size = size


class SafeFolder:
    """A folder. Paths are relative to it, with forward slashes, and must not contain `.` or `..`.

    The path of the folder itself may contain symbolic links, because the caller chose it. Errors are OSErrors
    that name the whole path.
    """

    def __init__(self, root: Path) -> None:
        self._root, self._prefix = root, str(root / "_")[:-1]
        self._real = root.resolve(strict=True)
        self._checked = set[str]()
        if not root.is_dir():
            raise _not_a_folder(root)

    def walk(self) -> Iterator[tuple[str, int | None]]:
        """Yields every entry below the folder that is not a folder, with the bytes of a regular file and None
        for others. Symbolic links are not followed.
        """
        pending = [""]
        while pending:
            folder = pending.pop()
            with os.scandir(self._root / folder) as entries:
                for entry in entries:
                    path = f"{folder}/{entry.name}" if folder else entry.name
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(path)
                    else:
                        state = entry.stat(follow_symlinks=False)
                        yield path, state.st_size if stat.S_ISREG(state.st_mode) else None

    def read(self, path: str, *, limit: int) -> bytes:
        """The bytes of a regular file. Raises NotRegularError, TooLargeError, or another OSError."""
        self._check(path)
        file = self._prefix + path
        try:
            descriptor = os.open(file, _FILE)
        except OSError as error:
            # ELOOP: a symbolic link. ENXIO: a socket.
            if error.errno in {errno.ELOOP, errno.ENXIO}:
                raise NotRegularError(file) from error
            raise
        try:
            state = os.fstat(descriptor)
            if not stat.S_ISREG(state.st_mode):
                raise NotRegularError(file)
            if state.st_size > limit:
                raise TooLargeError(file, state.st_size)
            return b"".join(iter(lambda: os.read(descriptor, state.st_size + 1), b""))
        finally:
            os.close(descriptor)

    def replace(self, path: str, parts: Iterable[bytes], *, temporary: str) -> None:
        """Writes a file to a temporary name in its folder and renames it. Creates missing folders.

        Uses no Path, because threads can make only one at a time, while others write.
        """
        self._check(path, make=True)
        target = self._prefix + path
        new = f"{os.path.dirname(target)}/{temporary}"  # noqa: PTH120
        try:
            with open(new, "xb", buffering=1 << 12) as file:  # noqa: PTH123
                file.write(b"".join(parts))
            os.replace(new, target)  # noqa: PTH105
        except OSError as error:
            with contextlib.suppress(OSError):
                os.unlink(new)  # noqa: PTH108
            raise OSError(error.errno, error.strerror, target) from error

    def remove(self, path: str) -> None:
        """Deletes a file or a symbolic link. Does nothing if it is missing."""
        self._at(path).unlink(missing_ok=True)

    def remove_empty(self, folder: str) -> None:
        with contextlib.suppress(OSError):
            self._at(folder).rmdir()

    def _at(self, path: str) -> Path:
        self._check(path)
        return self._root / path

    def _check(self, path: str, *, make: bool = False) -> None:
        """Raises NotADirectoryError if the folder of a path is none, or a symbolic link is on the way."""
        folder = path.rpartition("/")[0]
        if folder not in self._checked:
            where = self._root / folder
            if where.resolve() != self._real / folder or (where.exists() and not where.is_dir()):
                raise _not_a_folder(where)
            if make:
                where.mkdir(parents=True, exist_ok=True)
            if where.exists():
                self._checked.add(folder)


def _not_a_folder(path: Path) -> OSError:
    return NotADirectoryError(errno.ENOTDIR, "not a folder", str(path))


_NEW_FILE_MODE: Final = 0o644


def read_text(root: Path, file: str) -> str:
    """The text of a file, by path relative to the repository. Line breaks stay. Raises RepositoryError."""
    try:
        return (root / file).read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise RepositoryError(f"{file} cannot be read: {error}") from error


def write_files(root: Path, files: Mapping[str, str | bytes | None]) -> None:
    """Writes files by path relative to the repository, in new folders too; None removes one that is there.

    Raises RepositoryError when a file cannot be written or a symbolic link leads out of the repository. Files
    that were written before the error stay.
    """
    inside = root.resolve()
    for file, content in sorted(files.items()):
        path = root / file
        if not path.resolve().is_relative_to(inside):
            raise RepositoryError(f"{file} leads out of the repository; replace the symbolic link")
        if content is not None:
            write_file(path, content)
            continue
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise RepositoryError(f"{file} cannot be removed: {error.strerror or error}") from error


def write_file(path: Path, content: str | bytes) -> None:
    """Writes one file, or the file that a symbolic link points to. An existing file keeps its mode.

    Raises RepositoryError when it cannot be written; then it is unchanged.
    """
    target = path.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = target.stat().st_mode & 0o7777 if target.exists() else _NEW_FILE_MODE
        descriptor, name = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.name[:80]}.", suffix=".tmp"
        )
        new = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
            new.chmod(mode)
            new.replace(target)
        finally:
            new.unlink(missing_ok=True)
    except OSError as error:
        raise RepositoryError(f"{path} cannot be written: {error.strerror or error}") from error
