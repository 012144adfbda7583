"""A commit as `git fast-import` reads it: one process whatever the number of files. Pure."""

from collections.abc import Mapping
from datetime import datetime

from gitops_dsf.reconciler.git.author import Author


def commit_stream(
    *,
    ref: str,
    parent: str | None,
    files: Mapping[str, bytes | None],
    modes: Mapping[str, str],
    message: str,
    author: Author,
    at: datetime,
) -> bytes:
    """`modes` are those of the parent's files: a file keeps its own. `at` has a time zone.

    Raises ValueError for a path that git refuses.
    """
    who = f"{author} {int(at.timestamp())} {at:%z}"
    parts = [
        f"commit {ref}\nauthor {who}\ncommitter {who}\n".encode(),
        _data(message.rstrip().encode() + b"\n"),
    ]
    if parent:
        parts.append(f"from {parent}\n".encode())
    for path, content in sorted(files.items()):
        if content is not None:
            parts += [f"M {modes.get(path, '100644')} inline ".encode(), _quoted(path), b"\n", _data(content)]
        elif path in modes:
            parts += [b"D ", _quoted(path), b"\n"]
    parts.append(b"done\n")
    return b"".join(parts)


def _data(content: bytes) -> bytes:
    return b"data %d\n%b\n" % (len(content), content)


def _quoted(path: str) -> bytes:
    if (
        not path
        or path.startswith("/")
        or {"", ".", "..", ".git"} & {part.lower() for part in path.split("/")}
        or "\0" in path
    ):
        msg = f"{path!r} is no path of a repository"
        raise ValueError(msg)
    raw = (
        path.encode(errors="surrogateescape")
        .replace(b"\\", b"\\\\")
        .replace(b'"', b'\\"')
        .replace(b"\n", b"\\n")
    )
    return b'"' + raw + b'"'
