"""A folder whose files are read and written without following a symbolic link out of it.

Sources and rendered trees come from git, where anybody who can open a pull request can commit a
symbolic link. Not guaranteed: protection against another process that changes the folder at the
same time.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

_FILE_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Flags to open a file. With O_NONBLOCK, opening a pipe does not wait for a writer."""


class NotRegularError(OSError):
    """A path is a symbolic link, a folder, a pipe, a socket or a device, and no regular file."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.EINVAL, "not a regular file", path)


class FileTooLargeError(OSError):
    """A file is larger than the caller's limit."""

    def __init__(self, path: str, size: int) -> None:
        super().__init__(errno.EFBIG, "the file is too large", path)
        self.size = size


class SafeFolder:
    """Reads and writes files below a folder.

    Paths are relative to it, with forward slashes, and must not contain `.` or `..`. The path of
    the folder itself may contain symbolic links, because the caller chose it. Errors are OSErrors
    that name the whole path.
    """

    def __init__(self, root: Path) -> None:
        """Raises OSError if the folder does not exist, or is a file."""
        self._root = root
        self._prefix = str(root / "_")[:-1]
        """The text in front of a path; empty for the current folder."""
        self._real = root.resolve(strict=True)
        self._checked = {""}
        """Folders that exist, with no symbolic link on the way. A tree has thousands of files in
        few folders, and to resolve a path takes a system call for each of its parts.
        """
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
                    # A link to a folder is an entry: behind it there may be files from outside.
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
            descriptor = os.open(file, _FILE_FLAGS)
        except OSError as error:
            # ELOOP: a symbolic link. ENXIO: a socket.
            if error.errno in {errno.ELOOP, errno.ENXIO}:
                raise NotRegularError(file) from error
            raise
        try:
            # The open file is looked at, and not its path, which may lead to another one by now.
            state = os.fstat(descriptor)
            if not stat.S_ISREG(state.st_mode):
                raise NotRegularError(file)
            if state.st_size > limit:
                raise FileTooLargeError(file, state.st_size)
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
            # x: a link that was committed under the temporary name is not followed.
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
        """Removes a folder. Does nothing if it is missing or has content."""
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
            directory = self._root / folder
            # Path.resolve() takes twice as long, and raises RuntimeError for links in a circle: of
            # these realpath() returns the path, and `lexists` finds it.
            leads_elsewhere = os.path.realpath(directory) != str(self._real / folder)
            # In this order: another thread may make the folder between the two questions.
            exists = os.path.lexists(directory)
            if leads_elsewhere or (exists and not directory.is_dir()):
                raise _not_a_folder(directory)
            if make and not exists:
                directory.mkdir(parents=True, exist_ok=True)
            # What does not exist yet may still become a link, so it is not remembered.
            if exists or make:
                self._checked.add(folder)


def _not_a_folder(path: Path) -> OSError:
    return NotADirectoryError(errno.ENOTDIR, "not a folder", str(path))
