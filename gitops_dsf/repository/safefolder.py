"""A folder whose files are read and written without following a symbolic link out of it.

Sources and rendered trees come from git, where anybody who can open a pull request can commit a
symbolic link. It does not protect against another process that changes the folder at the same time.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class NotRegularError(OSError):
    """A path that should be a regular file is none.

    It is a symbolic link, a folder, a pipe, a socket or a device.
    """

    def __init__(self, path: str) -> None:
        super().__init__(errno.EINVAL, "not a regular file", path)


class TooLargeError(OSError):
    """A file is larger than the caller's limit."""

    def __init__(self, path: str, size: int) -> None:
        super().__init__(errno.EFBIG, "the file is too large", path)
        self.size = size


class SafeFolder:
    """A folder.

    Paths are relative to it, with forward slashes, and must not contain `.` or `..`.

    The path of the folder itself may contain symbolic links, because the caller chose it. Errors
    are OSErrors that name the whole path.
    """

    def __init__(self, root: Path) -> None:
        self._root, self._prefix = root, str(root / "_")[:-1]
        self._real = root.resolve(strict=True)
        self._checked = set[str]()
        if not root.is_dir():
            raise _not_a_folder(root)

    def walk(self) -> Iterator[tuple[str, int | None]]:
        """Yields every entry below the folder that is not a folder.

        Regular files come with their bytes, others with None. Symbolic links are not followed.
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
        """The bytes of a regular file.

        Raises NotRegularError, TooLargeError, or another OSError.
        """
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
        """Checks that no symbolic link is on the way to a path.

        Raises NotADirectoryError for one, and if the folder of the path is none.
        """
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
