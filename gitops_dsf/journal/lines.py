"""The files of a journal: JSON lines, one line for each record, one file for each month.

A line that is not a record is named and skipped, because people may edit the branch, and versions
write keys that others do not know.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC
from typing import Final

import msgspec

from dsf_wire.jsontext import without_mark
from gitops_dsf.journal.record import Record

FILE: Final = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])\.jsonl")
"""The name of a month's file."""
MAX_LINE_BYTES: Final = 256 << 10
"""A longer line is not a record. The largest one that the reconciler writes has about 64 KiB."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JournalRead:
    """The records in the files of a journal, in the order of files and lines."""

    records: tuple[Record, ...]
    bad: tuple[str, ...]
    """Lines that are not records, with file, number and what is wrong. Readers skip them."""


def file_of(record: Record) -> str:
    """The name of the file that a record is in: that of the month of its time, in UTC."""
    return f"{record.time.astimezone(UTC):%Y-%m}.jsonl"


def encode(record: Record) -> bytes:
    """One line, with its line break."""
    return msgspec.json.encode(record) + b"\n"


def read(
    files: Mapping[str, bytes], *, about: str | None = None, explained: bool = True
) -> JournalRead:
    """Reads the records of these files, by name.

    A record that appears twice is read once, and unknown keys are ignored. `about` limits the
    records to those of one application. Without `explained` they lack their explanations, which are
    most of a journal.
    """
    records: dict[str, Record] = {}
    bad: list[str] = []
    # Decoding is what takes time, and most lines are about others.
    needle = (about or "").encode()
    for name in sorted(files):
        for number, line in enumerate(without_mark(files[name]).split(b"\n"), 1):
            if needle not in line or not line.strip():
                continue
            record = _decoded(line)
            # With `about`, a bad line without that name is not reported: only whole reads find all.
            if isinstance(record, str):
                bad.append(f"{name}:{number}: {record}")
                continue
            if about is not None and not record.is_about(about):
                continue
            if not explained:
                record = msgspec.structs.replace(record, clusters=())
            # A push that was repeated after a lost answer may have written a record twice.
            records.setdefault(record.id, record)
    return JournalRead(records=tuple(records.values()), bad=tuple(bad))


def appended(files: Mapping[str, bytes], records: Iterable[Record]) -> dict[str, bytes]:
    """The files that change when these records are added."""
    lines_of_file: dict[str, list[bytes]] = {}
    for record in records:
        lines_of_file.setdefault(file_of(record), []).append(encode(record))
    changed = {}
    for name, lines in lines_of_file.items():
        content = files.get(name, b"")
        # A last line without its line break was cut off, or edited by hand. It must not swallow a
        # record.
        separator = b"" if not content or content.endswith(b"\n") else b"\n"
        changed[name] = b"".join((content, separator, *lines))
    return changed


def _decoded(line: bytes) -> Record | str:
    """The record, or what is wrong with the line."""
    if len(line) > MAX_LINE_BYTES:
        return f"this line has {len(line)} bytes, and a record has at most {MAX_LINE_BYTES}"
    try:
        record = msgspec.json.decode(line, type=Record)
        # A time near the year 1 or 9999 with an offset may have no equivalent in UTC.
        record.time.astimezone(UTC)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError) as error:
        return f"this line is not a record: {error}"
    return record
