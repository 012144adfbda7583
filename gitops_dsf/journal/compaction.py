"""Makes old months small: who moved, when and where stays; explanations and scores go."""

from collections.abc import Mapping
from typing import Any

import msgspec

from gitops_dsf.journal.lines import FILE, read
from gitops_dsf.journal.record import DETAILS, without_details


def compacted(files: Mapping[str, bytes], *, before: str) -> dict[str, bytes]:
    """The files of months before `before` (YYYY-MM) that get smaller, with their new content.

    Lines that are not records stay as they are. Nothing of a journal is removed without being seen.
    """
    changed = {}
    for name, content in files.items():
        if FILE.fullmatch(name) is None or name.removesuffix(".jsonl") >= before:
            continue
        lines = [_smaller(line) for line in content.split(b"\n")]
        new = b"\n".join(line for line in lines if line) + b"\n"
        if len(new) < len(content):
            changed[name] = new
    return changed


def _smaller(line: bytes) -> bytes:
    found = read({"": line}).records
    if not found or without_details(found[0]) is found[0]:
        return line.strip()
    try:
        # As plain data, so that keys that this version does not know stay.
        content = msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return line.strip()
    kept = {key: value for key, value in content.items() if key not in DETAILS}
    return msgspec.json.encode({**kept, "compacted": True})
