"""AddOnPlacementScores as YAML files: for laptops, demos and tests.

A file is replaced atomically, so that a reader sees the old or the new object, and never a part of
one.
"""

import asyncio
import hashlib
import json
import math
import os
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from dsf_agent.errors import AgentError
from dsf_agent.publish import hubobject, store
from dsf_agent.publish.hubobject import ScoreObject
from dsf_agent.publish.store import ScoredCondition, StoredScores
from dsf_wire.scored import Reason

MAX_STEM: Final = 240
"""Longest file name without extension.

File systems allow 255 bytes, and a temporary name needs some.
"""
_DUMPER: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
"""The one in C is faster, and not in every build of PyYAML."""


class DirectoryStore:
    """Files in one directory."""

    def __init__(self, *, directory: Path, cluster: str, hub_scorer: bool = False) -> None:
        self._hub_scorer = hub_scorer
        self._directory = directory
        self._cluster = cluster
        self._locks: dict[str, threading.Lock] = {}
        """Locks by object name.

        A cancelled write goes on in its thread, and must not end after the next one.
        """

    async def write(
        self,
        name: str,
        *,
        scorer: str,
        values: Mapping[str, int],
        valid_until: float | None,
        condition: ScoredCondition,
        needed: Callable[[], bool] = lambda: True,
    ) -> StoredScores | None:
        """See ScoreStore.write. An object without scores has no ``valid_until``."""
        if not needed():
            return None
        labels = store.labels(scorer, hub_scorer=self._hub_scorer)
        body = hubobject.manifest(name=name, namespace=self._cluster, labels=labels)

        def change() -> None:
            # In a thread, because there may be tens of thousands of items.
            text = render(body, values, valid_until=valid_until, condition=condition)
            self._write(self._path(name), text)

        await asyncio.to_thread(self._locked, name, change)
        return StoredScores(
            name=name,
            values=values,
            filled=bool(values),
            condition=condition,
            valid_until=valid_until,
            labels=labels,
        )

    async def explain(
        self,
        name: str,
        *,
        scorer: str,
        stored: StoredScores | None,
        condition: ScoredCondition,
        needed: Callable[[], bool] = lambda: True,
    ) -> StoredScores | None:
        """See ScoreStore.explain. No other program writes these files."""
        return await self.write(
            name,
            scorer=scorer,
            values={} if stored is None else stored.values,
            valid_until=None if stored is None else stored.valid_until,
            condition=condition,
            needed=needed,
        )

    async def names(self) -> frozenset[str]:
        """See ScoreStore.names."""
        return frozenset(stored.name for stored in await self.list_owned(values=False))

    async def list_owned(self, *, values: bool = True) -> list[StoredScores]:
        """See ScoreStore.list_owned."""
        # Labels and validUntil come before the items, of which there may be tens of thousands.
        return await asyncio.to_thread(self._list_owned, until=b"\0" if values else b"\n  scores:")

    async def delete(self, stored: StoredScores) -> None:
        """See ScoreStore.delete."""
        await asyncio.to_thread(self._locked, stored.name, lambda: self._delete(stored))

    def _locked(self, name: str, change: Callable[[], None]) -> None:
        with self._locks.setdefault(name, threading.Lock()):
            change()

    def _path(self, name: str) -> Path:
        # With a digest, because long names may differ in their end alone.
        if len(name) > MAX_STEM:
            name = f"{name[: MAX_STEM - 17]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
        return self._directory / f"{name}.yaml"

    def _read(self, path: Path, *, until: bytes) -> StoredScores | None:
        """The object in a file. Only the part before the text ``until`` is parsed."""
        try:
            start, rest, _ = path.read_bytes().partition(until)
            stored = msgspec.yaml.decode(start, type=ScoreObject).stored()
            return replace(stored, filled=True) if rest else stored
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _failed(path, error) from error
        except (ValueError, RecursionError):
            # Not a valid file (ValueError: an impossible date). The next write replaces it.
            return None

    def _write(self, path: Path, text: str) -> None:
        temporary = ""
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(dir=self._directory, prefix=".", suffix=".tmp")
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                # Without it a crash of the machine could leave an empty file with the final name.
                os.fsync(file.fileno())
            # mkstemp makes a file that only this user may read, and others read the scores.
            Path(temporary).chmod(0o644)
            Path(temporary).replace(path)
        except OSError as error:
            if temporary:
                Path(temporary).unlink(missing_ok=True)
            raise _failed(path, error) from error

    def _list_owned(self, *, until: bytes) -> list[StoredScores]:
        try:
            paths = sorted(self._directory.iterdir()) if self._directory.exists() else []
        except OSError as error:
            raise _failed(self._directory, error) from error
        owned: list[StoredScores] = []
        for path in paths:
            # A write that was interrupted leaves a file with another suffix.
            stored = self._read(path, until=until) if path.suffix == ".yaml" else None
            if stored is not None and stored.owned_by(hub_scorer=self._hub_scorer):
                owned.append(stored)
        return owned

    def _delete(self, stored: StoredScores) -> None:
        path = self._path(stored.name)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise _failed(path, error) from error


def render(
    body: Mapping[str, Any],
    values: Mapping[str, int],
    *,
    valid_until: float | None,
    condition: ScoredCondition,
) -> str:
    """YAML with one line per item. Names are JSON strings: valid YAML that is fast to write."""
    head = yaml.dump(dict(body), Dumper=_DUMPER, sort_keys=False, allow_unicode=True)
    stated = hubobject.condition_body(condition).items()
    conditions = ", ".join(f"{key}: {_quoted(value)}" for key, value in stated)
    status = f"status:\n  conditions:\n  - {{{conditions}}}\n"
    if valid_until is not None:
        status += f'  validUntil: "{hubobject.timestamp(valid_until)}"\n'
    if values:
        lines = [f"  - {{name: {_quoted(name)}, value: {values[name]}}}\n" for name in values]
        status += "  scores:\n" + "".join(lines)
    return head + status


def _quoted(text: str) -> str:
    """A double-quoted scalar. For ASCII text JSON and YAML use the same escapes."""
    if text.isascii():
        return json.dumps(text)
    quoted = yaml.dump(text, Dumper=yaml.SafeDumper, default_style='"', width=math.inf)
    return str(quoted).rstrip("\n")


def _failed(path: Path, error: OSError) -> AgentError:
    return AgentError(
        f"{path}: {error.strerror or type(error).__name__}", reason=Reason.WRITE_FAILED
    )
