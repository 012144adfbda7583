"""Access to files below a folder that no symbolic link can redirect.

Every component of a path is opened relative to the descriptor of its parent, and a symbolic link is an error
at each of them. Only regular files are read, so a named pipe cannot block the program and a device cannot
fill its memory.
"""

import contextlib
import errno
import io
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


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
    """An open folder. Paths are relative to it, with forward slashes, and must not contain `.` or `..`.

    The path of the folder itself may contain symbolic links, because the caller chose it. Errors are OSErrors
    that name the whole path.
    """

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        # The last used folder is kept open: paths are sorted, and one folder can hold thousands of files.
        self._folder = ""
        self._descriptor = self._top

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._forget()
        os.close(self._top)

    def walk(self) -> Iterator[tuple[str, os.stat_result]]:
        """Yields every entry below the folder that is not a folder. Symbolic links are not followed."""
        pending = [""]
        while pending:
            folder = pending.pop()
            prefix = f"{folder}/" if folder else ""
            try:
                descriptor = self._open(folder)
                with os.scandir(descriptor) as entries:
                    found = [
                        (entry.name, entry.is_dir(follow_symlinks=False), entry.stat(follow_symlinks=False))
                        for entry in entries
                    ]
            except OSError as error:
                raise self._named(error, folder) from error
            pending += (f"{prefix}{name}" for name, is_folder, _ in found if is_folder)
            yield from ((f"{prefix}{name}", state) for name, is_folder, state in found if not is_folder)

    def read(self, path: str, *, limit: int) -> bytes:
        """Returns the bytes of a regular file. Raises NotRegularError, TooLargeError above the limit, or
        another OSError.
        """
        folder, _, name = path.rpartition("/")
        try:
            descriptor = os.open(name, _FILE, dir_fd=self._open(folder))
        except OSError as error:
            # ELOOP: a symbolic link. ENXIO: a socket.
            if error.errno in {errno.ELOOP, errno.ENXIO}:
                raise NotRegularError(self._whole(path)) from error
            raise self._named(error, path) from error
        try:
            state = os.fstat(descriptor)
            if not stat.S_ISREG(state.st_mode):
                raise NotRegularError(self._whole(path))
            if state.st_size > limit:
                raise TooLargeError(self._whole(path), state.st_size)
            # Reading one byte more than the size detects the end. A file that grows meanwhile is read up to
            # the limit.
            content = os.read(descriptor, state.st_size + 1)
            while (
                content and len(content) <= limit and (more := os.read(descriptor, limit + 1 - len(content)))
            ):
                content += more
        finally:
            os.close(descriptor)
        if len(content) > limit:
            raise TooLargeError(self._whole(path), len(content))
        return content

    def replace(self, path: str, parts: Iterable[bytes], *, temporary: str) -> None:
        """Writes a file to a temporary name in its folder and renames it. Creates missing folders."""
        folder, _, name = path.rpartition("/")
        try:
            descriptor = self._open(folder, make=True)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=descriptor)
            new = os.open(temporary, _NEW, 0o666, dir_fd=descriptor)
            try:
                # With a buffer size, Python does not check whether this is a terminal. Larger writes bypass
                # the buffer.
                with os.fdopen(new, "wb", buffering=io.DEFAULT_BUFFER_SIZE) as file:
                    file.write(b"".join(parts))
                os.replace(temporary, name, src_dir_fd=descriptor, dst_dir_fd=descriptor)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary, dir_fd=descriptor)
                raise
        except OSError as error:
            raise self._named(error, path) from error

    def remove(self, path: str) -> None:
        """Deletes a file or a symbolic link. Does nothing if it is missing."""
        folder, _, name = path.rpartition("/")
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=self._open(folder))
        except OSError as error:
            raise self._named(error, path) from error

    def remove_empty(self, folder: str) -> None:
        """Deletes a folder if it is empty."""
        parent, _, name = folder.rpartition("/")
        with contextlib.suppress(OSError):
            os.rmdir(name, dir_fd=self._open(parent))

    def _open(self, folder: str, *, make: bool = False) -> int:
        """The descriptor of a folder. It is valid until the next call."""
        if folder == self._folder:
            return self._descriptor
        self._forget()
        descriptor = self._top
        try:
            for name in folder.split("/") if folder else ():
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(name, dir_fd=descriptor)
                inner = os.open(name, _FOLDER, dir_fd=descriptor)
                if descriptor != self._top:
                    os.close(descriptor)
                descriptor = inner
        except OSError as error:
            if descriptor != self._top:
                os.close(descriptor)
            if error.errno in {errno.ELOOP, errno.ENOTDIR}:
                msg = "not a folder"
                raise NotADirectoryError(errno.ENOTDIR, msg, self._whole(folder)) from error
            raise
        self._folder, self._descriptor = folder, descriptor
        return descriptor

    def _forget(self) -> None:
        if self._descriptor != self._top:
            os.close(self._descriptor)
        self._folder, self._descriptor = "", self._top

    def _whole(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root

    def _named(self, error: OSError, path: str) -> OSError:
        """The same error with the whole path: the system reports only the last component."""
        if error.filename is not None and str(error.filename).startswith(self._root):
            return error
        return OSError(error.errno, error.strerror, self._whole(path))
