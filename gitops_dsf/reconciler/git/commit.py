"""A commit as `git fast-import` reads it, in one process whatever the number of files. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self

from gitops_dsf.errors import UsageError

_SHAPE: Final = re.compile(r"(?P<name>[^<>\n\x00]*[^<>\s\x00])\s*<(?P<mail>[^<>\s\x00]+)>")


@dataclass(frozen=True, kw_only=True, slots=True)
class Author:
    """Who commits: name and mail address, as git writes them into a commit."""

    name: str
    mail: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Reads `Name <mail>`. Raises UsageError."""
        found = _SHAPE.fullmatch(text.strip())
        if found is None:
            msg = (
                f"author {text!r}: write a name and a mail address, such as 'gitops-dsf"
                " <gitops-dsf@example.com>'"
            )
            raise UsageError(msg)
        return cls(name=found["name"], mail=found["mail"])

    def __str__(self) -> str:
        return f"{self.name} <{self.mail}>"


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
    """`modes` are the modes of the parent's files: a file keeps its mode. `at` has a time zone.

    Raises ValueError for a path that git refuses.
    """
    who = f"{author} {int(at.timestamp())} {at:%z}"
    parts = [
        f"commit {ref}\nmark :1\nauthor {who}\ncommitter {who}\n".encode(),
        _data(message.rstrip().encode() + b"\n"),
    ]
    if parent:
        parts.append(f"from {parent}\n".encode())
    for path, content in sorted(files.items()):
        if content is not None:
            parts += [f"M {modes.get(path, '100644')} inline ".encode(), _quoted(path), b"\n", _data(content)]
        elif path in modes:
            parts += [b"D ", _quoted(path), b"\n"]
    # Git writes the commit's id to standard output.
    parts.append(b"get-mark :1\ndone\n")
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
        msg = f"{path!r} cannot be a path in a repository"
        raise ValueError(msg)
    raw = (
        path.encode(errors="surrogateescape")
        .replace(b"\\", b"\\\\")
        .replace(b'"', b'\\"')
        .replace(b"\n", b"\\n")
    )
    return b'"' + raw + b'"'
