"""Records that are not on the branch yet, and the last record of each Placement: the ConfigMap
gitops-dsf-journal in the hub namespace.

A record is in the ConfigMap before it is pushed, and the API server refuses a write that is based on an older
version. So all replicas push the same records, with the same ids, and the branch takes each id once.
"""

import asyncio
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

import msgspec

from dsf_runtime.apiserver import ApiError
from gitops_dsf.hub.names import JOURNAL_CONFIGMAP
from gitops_dsf.journal.lines import encode, read
from gitops_dsf.journal.record import Record, without_details
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.configmaps import Item, OwnedKeys
from gitops_dsf.reconciler.journal.observing import Head, digest

LOG = logging.getLogger(__name__)
PENDING_KEY: Final = "pending.jsonl"
HEADS_KEY: Final = "heads.json"
MOST_BYTES: Final = 900_000
"""Bytes of both keys together. The API server accepts 1 MiB."""


@dataclass(frozen=True, kw_only=True)
class Held:
    """What the buffer holds."""

    pending: tuple[Record, ...] = ()
    """In order."""
    heads: Mapping[str, Head] = field(default_factory=dict)
    """By namespace/name of the Placement."""
    dropped: int = 0
    """Records that were dropped to make room, in this write."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Saved:
    """What a write did."""

    count: int = 0
    """Records that were written."""
    dropped: int = 0
    """Records that were dropped to make room."""


class JournalBuffer:
    """Reads and writes the ConfigMap. Tasks of one process may share it."""

    def __init__(self, *, api: HubApi, namespace: str) -> None:
        self._keys = OwnedKeys(api=api, namespace=namespace, name=JOURNAL_CONFIGMAP)
        self._item: Item | None = None
        self._lock = asyncio.Lock()
        self._unsaved: list[tuple[Record, Head]] = []
        self.held = Held()

    async def load(self) -> bool:
        """Reads the ConfigMap. False if it does not exist, or does not say what was recorded last. Raises
        ApiError.
        """
        async with self._lock:
            self._item = item = await self._keys.read()
            if item is None:
                self.held = Held()
                return False
            data = item.get("data") or {}
            found = read(
                {f"ConfigMap {JOURNAL_CONFIGMAP}, {PENDING_KEY}": data.get(PENDING_KEY, "").encode()}
            )
            for bad in found.bad:
                LOG.warning("a record of the journal cannot be read and is left out: %s", bad)
            try:
                heads = msgspec.json.decode(data.get(HEADS_KEY, ""), type=dict[str, Head])
            except msgspec.DecodeError as error:
                LOG.warning(
                    "ConfigMap %s does not say what was recorded last: %s: %s",
                    JOURNAL_CONFIGMAP,
                    HEADS_KEY,
                    error,
                )
                self.held = Held(pending=found.records)
                return False
            self.held = Held(pending=found.records, heads=heads)
            return True

    async def begin(self, heads: Mapping[str, Head]) -> None:
        """Sets the heads that the branch tells, when the ConfigMap does not have them. Nothing is written."""
        async with self._lock:
            self.held = Held(pending=self.held.pending, heads=heads)

    @property
    def heads(self) -> Mapping[str, Head]:
        """The last record of each Placement, with those that are not saved yet."""
        return {**self.held.heads, **{record.placement: head for record, head in self._unsaved}}

    def stage(self, records: Iterable[tuple[Record, Head]]) -> None:
        """Takes records that the next `save` writes."""
        self._unsaved += records

    async def save(self) -> Saved:
        """Writes all records that were staged. Raises ApiError: then they stay staged. Status 409: somebody
        else wrote the ConfigMap, and `reload` finds out what that means.
        """
        async with self._lock:
            staged = tuple(self._unsaved)
            if not staged:
                return Saved()
            heads = {**self.held.heads, **{record.placement: head for record, head in staged}}
            records = [record for record, _ in staged]
            held = fitted(pending=(*self.held.pending, *records), heads=heads)
            await self._write(held)
            del self._unsaved[: len(staged)]
            return Saved(count=len(staged), dropped=held.dropped)

    async def reload(self) -> None:
        """Reads the ConfigMap again. Of the staged records those stay that continue what it says: others were
        saved without an answer, or another replica recorded something else.
        """
        await self.load()
        heads = dict(self.held.heads)
        kept = []
        for record, head in self._unsaved:
            before = heads.get(record.placement)
            if before is None or (
                before.number == record.number - 1
                and (record.from_ is None or before.digest == digest(frozenset(record.from_)))
            ):
                heads[record.placement] = head
                kept.append((record, head))
        self._unsaved = kept

    async def remove(self, ids: Collection[str]) -> None:
        """Removes records that are on the branch. Raises ApiError, as `save` does."""
        async with self._lock:
            left = tuple(record for record in self.held.pending if record.id not in ids)
            if left != self.held.pending:
                await self._write(Held(pending=left, heads=self.held.heads))

    async def forget(self, placements: Collection[str]) -> None:
        """Removes the heads of Placements that do not exist any more. The next write does it on the hub."""
        async with self._lock:
            heads = {key: head for key, head in self.held.heads.items() if key not in placements}
            self.held = Held(pending=self.held.pending, heads=heads)

    async def _write(self, held: Held) -> None:
        data = {PENDING_KEY: _lines(held.pending).decode(), HEADS_KEY: _heads(held.heads).decode()}
        try:
            self._item = await self._keys.write(self._item, data)
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                self._item = None  # somebody deleted it, and the next write creates it again
            raise
        self.held = held


def fitted(*, pending: Sequence[Record], heads: Mapping[str, Head], most: int = MOST_BYTES) -> Held:
    """What fits into the ConfigMap. Old records lose their explanations and scores first, then they are
    dropped. The record after a dropped one counts it.
    """
    room = most - len(_heads(heads))
    kept = list(pending)
    sizes = [len(encode(record)) for record in kept]
    total = sum(sizes)
    for place, record in enumerate(kept):
        if total <= room:
            break
        kept[place] = without_details(record)
        small = len(encode(kept[place]))
        total += small - sizes[place]
        sizes[place] = small
    dropped = 0
    while total > room and len(kept) > 1:
        lost = kept[0].lost + 1
        total -= sizes.pop(0)
        kept.pop(0)
        kept[0] = msgspec.structs.replace(kept[0], lost=kept[0].lost + lost)
        total += len(encode(kept[0])) - sizes[0]
        sizes[0] = len(encode(kept[0]))
        dropped += 1
    return Held(pending=tuple(kept), heads=heads, dropped=dropped)


def _lines(records: Iterable[Record]) -> bytes:
    return b"".join(map(encode, records))


def _heads(heads: Mapping[str, Head]) -> bytes:
    return msgspec.json.encode(dict(sorted(heads.items())))
