"""Reads snapshots and other objects from files and git.

YAML is read as in a repository. JSON is decoded object by object, directly to the requested type:
the scores of a hub may be hundreds of megabytes.
"""

import os
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final

import msgspec

from dsf_wire.jsontext import without_mark
from gitops_dsf.diagnostics import Severity
from gitops_dsf.hub.snapshots.collect import SnapshotDocument, collect
from gitops_dsf.hub.snapshots.snapshot import Snapshot, SnapshotError
from gitops_dsf.repository.load import load_text
from gitops_dsf.repository.load.compose import MAX_DEPTH
from gitops_dsf.repository.load.discover import MEBIBYTE

SUFFIXES = (".yaml", ".yml", ".json")
MAX_FILE_BYTES = 256 * MEBIBYTE
"""A hub's scores in one file are larger than any file that people write."""
_MAX_FINDINGS: Final = 5
"""Mistakes of a YAML file that are named in the message."""
_SPACE: Final = b" \t\r\n"
_VALUES: Final = msgspec.json.Decoder(msgspec.Raw)
_ITEMS: Final = msgspec.json.Decoder(list[msgspec.Raw])


class _KindAndItems(msgspec.Struct, frozen=True):
    kind: Any = None
    items: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


def documents(content: bytes, *, file: str) -> Iterator[SnapshotDocument]:
    """Yields every object of a file. Raises SnapshotError if it has another form.

    A file is YAML or JSON. JSON may be one object, a list of objects, or objects one after the
    other, as `kubectl get -o json`, `jq -s` and `jq -c '.items[]'` print them.
    """
    # Editors on Windows save UTF-8 with a byte order mark.
    content = without_mark(content)
    is_json = content.lstrip(_SPACE)[:1] in {b"{", b"["}
    try:
        # JSON is decoded object by object later on, when a wrong byte has no place any more.
        text = "" if is_json and content.isascii() else content.decode()
    except UnicodeDecodeError as error:
        raise SnapshotError(
            f"{file} is not UTF-8 (byte {error.start}); save it as UTF-8"
        ) from error
    if is_json:
        for location, value in _values(content, file=file):
            yield from _objects(value, place=location)
    else:
        yield from _yaml_documents(text, file=file)


def from_path(path: Path, *, resources: frozenset[str] | None = None) -> Snapshot:
    """Reads a file, or all below a folder; only scores with these names, if given.

    Raises SnapshotError.
    """
    if path.is_dir():
        contents = _folder(path)
    else:
        contents = documents(_content(path), file=str(path))
    return collect(contents, origin=str(path), resources=resources)


def from_contents(
    contents: Iterable[tuple[str, bytes]], *, origin: str, resources: frozenset[str] | None = None
) -> Snapshot:
    """Reads contents with their paths; only scores with these names, if given.

    Raises SnapshotError.
    """
    read = (documents(content, file=path) for path, content in contents)
    return collect(chain.from_iterable(read), origin=origin, resources=resources)


def _yaml_documents(text: str, *, file: str) -> Iterator[SnapshotDocument]:
    loaded = load_text(text, file=file)
    errors = [finding for finding in loaded.diagnostics if finding.severity is Severity.ERROR]
    if errors:
        lines = [f"{error.position}: {error.message}" for error in errors[:_MAX_FINDINGS]]
        if len(errors) > _MAX_FINDINGS:
            lines.append(f"and {len(errors) - _MAX_FINDINGS} more")
        raise SnapshotError("\n  ".join(lines))
    for document in loaded.documents:
        # Encoded again, so that YAML and JSON go through the same types.
        text_of_document = msgspec.json.encode(document.data)
        yield from _objects(text_of_document, place=f"{file}:{document.start[0]}")


def _values(content: bytes, *, file: str) -> Iterator[tuple[str, msgspec.Raw]]:
    """The objects of a JSON text, each with its place. Raises SnapshotError."""
    try:
        # Values may be on several lines: msgspec 0.22 takes any white space between them.
        values = _VALUES.decode_lines(content)
        for number, value in enumerate(values, 1):
            location = file if len(values) == 1 else f"{file}: value {number}"
            if bytes(memoryview(value)[:1]) != b"[":
                yield location, value
                continue
            for index, element in enumerate(_ITEMS.decode(value)):
                yield f"{location}: [{index}]", element
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SnapshotError(f"{file}: not valid JSON: {error}") from error


def _objects(
    text: bytes | msgspec.Raw, *, place: str, item_of: str = "", level: int = 0
) -> Iterator[SnapshotDocument]:
    """The objects of a text: itself, or the items of a list.

    `item_of` is the kind of the items: in a typed list, the API server omits it from each item.
    """
    if level > MAX_DEPTH:
        raise SnapshotError(f"{place[:200]}: lists inside lists, more than {MAX_DEPTH} levels")
    try:
        head = msgspec.json.decode(text, type=_KindAndItems)
    except msgspec.ValidationError as error:
        raise SnapshotError(f"{place}: expected an object with apiVersion and kind") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SnapshotError(f"{place}: not valid JSON: {error}") from error
    kind = head.kind if isinstance(head.kind, str) else ""
    if head.kind is None:
        kind = item_of
    if not kind.endswith("List") or isinstance(head.items, msgspec.UnsetType):
        yield SnapshotDocument(place=place, kind=kind, text=text)
        return
    try:
        items = msgspec.json.decode(head.items, type=list[msgspec.Raw] | None)
    except msgspec.ValidationError as error:
        raise SnapshotError(f"{place}: items of a {kind} must be a list") from error
    for index, element in enumerate(items or ()):
        yield from _objects(
            element,
            place=f"{place}: items[{index}]",
            item_of=kind.removesuffix("List"),
            level=level + 1,
        )


def _folder(root: Path) -> Iterator[SnapshotDocument]:
    for folder, folders, names in os.walk(root, onerror=_refuse_folder):
        # Sorted, so that messages and the first of two equal objects do not depend on the disk.
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.endswith(SUFFIXES) and not name.startswith("."):
                path = Path(folder, name)
                yield from documents(_content(path), file=str(path))


def _refuse_folder(error: OSError) -> None:
    raise SnapshotError(f"{error.filename} cannot be read: {error.strerror}") from error


def _content(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise SnapshotError(
                f"{path} is larger than {MAX_FILE_BYTES} bytes; split it into several files of one"
                " folder"
            )
        return path.read_bytes()
    except FileNotFoundError as error:
        raise SnapshotError(
            f"{path} does not exist; name a file or a folder with AddOnPlacementScores"
        ) from error
    except OSError as error:
        raise SnapshotError(f"{path} cannot be read: {error.strerror or error}") from error
