"""The scorers, from the list that is rendered for the reconciler.

The ConfigMaps of the list are polled, and each scorer is joined with its DynamicScorer, which has
UID, generation and status. A DynamicScorer that is not in the list is ignored.

Guaranteed: the scorers are always those of one whole list. While the list is missing, half applied
or broken, the last whole one stays; before there was one, nothing that reads scorers runs. Not
guaranteed: that list and object are of the same commit, because they are read separately.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from dsf_runtime.apiserver import ApiError
from dsf_runtime.clock import happens_within, monotonic
from dsf_runtime.informer import STALE_SECONDS, Informer
from gitops_dsf.hub.metadata import problem_of
from gitops_dsf.hub.scorerlist import (
    INDEX_CONFIGMAP,
    ListConfigMap,
    ListError,
    listed_scorer,
    read_index,
    read_scorers,
)
from gitops_dsf.hub.scorers import DynamicScorer, ScorerSpec
from gitops_dsf.reconciler.hub.api import HubApi

POLL_SECONDS: Final = 30.0
"""The time between two reads of the list."""
PARTS_SECONDS: Final = 1.0
"""The time from a changed DynamicScorer to a read of the list: Argo CD applies both in one sync."""

LOG = logging.getLogger(__name__)
Listener = Callable[[str, DynamicScorer | None, DynamicScorer | None], None]


class ScorerSource:
    """The scorers as controllers see them."""

    resource: Final = "scorers"

    def __init__(self, *, api: HubApi, namespace: str, objects: Informer[DynamicScorer]) -> None:
        """`objects` are the DynamicScorers of the hub namespace."""
        self._api = api
        self._namespace = namespace
        self._objects = objects
        self._path = f"/api/v1/namespaces/{namespace}/configmaps"
        self._listed: dict[str, ScorerSpec] = {}
        self._items: dict[str, DynamicScorer] = {}
        self._statuses: dict[str, dict[str, Any]] = {}
        """The statuses that `remember` was called with."""
        self._listeners: list[Listener] = []
        self._read_at: float | None = None
        """The time of the last read of a whole list."""
        self._failure = "not read yet"
        """The reason why the last read gave no whole list; empty if it gave one."""
        self._object_changed = asyncio.Event()
        self.synced = asyncio.Event()
        """Set when a whole list was read, and the DynamicScorers were asked for."""
        objects.compare(self._on_object)

    @property
    def items(self) -> Mapping[str, DynamicScorer]:
        """The scorers by name."""
        return self._items

    @property
    def broken(self) -> str:
        """The reason why the scorers may be outdated; empty if they are current.

        Argo CD applies one ConfigMap after another, so a list that is incomplete for a moment is
        not a reason.
        """
        if self._read_at is None:
            return f"the list of scorers could not be read yet: {self._failure}"
        if monotonic() - self._read_at > STALE_SECONDS:
            return (
                f"the list of scorers could not be read for more than {STALE_SECONDS:g} s:"
                f" {self._failure}"
            )
        return ""

    def compare(self, listener: Listener) -> None:
        """Calls it with the name of each scorer that changed, and the scorer before and after.

        None before: it is new. None after: it is gone.
        """
        self._listeners.append(listener)

    def live(self, name: str) -> DynamicScorer | None:
        """The DynamicScorer of a scorer, as the hub has it."""
        return self._objects.items.get(name)

    def remember(self, name: str, status: dict[str, Any]) -> None:
        """Keeps a status that the DynamicScorer cannot hold, or not the whole of it."""
        self._statuses[name] = status
        if name in self._listed:
            self._join(name)

    async def refresh(self) -> None:
        """Reads the list once. What gives no whole list is logged, and changes nothing."""
        try:
            specs = await self._read()
        except (ApiError, ListError) as error:
            failure = str(error)
            # A list that stays broken would be logged twice a minute.
            if failure != self._failure:
                LOG.warning("the scorers stay as they are: %s", failure)
            self._failure = failure
        else:
            self._failure = ""
            self._read_at = monotonic()
            # The first status of a scorer goes on from what the leader before wrote.
            await self._objects.attempted.wait()
            self._take(specs)
            self.synced.set()

    async def run(self) -> None:
        while True:
            self._object_changed.clear()
            await self.refresh()
            if await happens_within(self._object_changed, seconds=POLL_SECONDS):
                await asyncio.sleep(PARTS_SECONDS)

    async def _read(self) -> dict[str, ScorerSpec]:
        """Raises ApiError and ListError."""
        # The index has a digest of each scorer, so parts of another list than its own are noticed.
        index = read_index(await self._config_map(INDEX_CONFIGMAP))
        parts: dict[str, ListConfigMap | None] = {}
        for name in index.names:
            parts[name] = await self._config_map(name)
        return read_scorers(index, parts)

    async def _config_map(self, name: str) -> ListConfigMap | None:
        """None if there is none. Raises ApiError and ListError."""
        content = await self._api.find(f"{self._path}/{name}")
        if content is None:
            return None
        try:
            return msgspec.json.decode(content, type=ListConfigMap)
        except msgspec.DecodeError as error:
            raise ListError(f"ConfigMap {name}: {problem_of(error)}") from error

    def _take(self, specs: dict[str, ScorerSpec]) -> None:
        before = self._listed
        self._listed = specs
        # Also those that have left: listeners must hear that they are gone.
        for name in sorted(before.keys() | specs.keys()):
            self._join(name)

    def _on_object(
        self, name: str, before: DynamicScorer | None, after: DynamicScorer | None
    ) -> None:
        if name in self._listed:
            self._join(name)
        # This process writes the status itself, and that must not cost a read of the list each
        # time.
        if _version(before) != _version(after):
            self._object_changed.set()

    def _join(self, name: str) -> None:
        """Joins a scorer with its object again, and notifies the listeners if it changed."""
        before = self._items.get(name)
        spec = self._listed.get(name)
        after: DynamicScorer | None = None
        if spec is None:
            self._items.pop(name, None)
            self._statuses.pop(name, None)
        else:
            after = listed_scorer(
                name,
                spec,
                self.live(name),
                namespace=self._namespace,
                status=self._statuses.get(name),
            )
            self._items[name] = after
        if before != after:
            for listener in self._listeners:
                listener(name, before, after)


def _version(scorer: DynamicScorer | None) -> tuple[str, int] | None:
    """A value that changes with the spec, but not with the status."""
    return None if scorer is None else (scorer.metadata.uid, scorer.metadata.generation)
