"""The AddOnPlacementScores of this process: one store per cluster, because each has a namespace of its own
on the hub.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from dsf_agent.configuration.snapshot import key_of
from dsf_agent.errors import AgentError, Reason
from dsf_agent.publish.store import ScoreStore, Stored

log = logging.getLogger(__name__)

_NOT_ALLOWED: Final = frozenset({Reason.FORBIDDEN, Reason.NOT_FOUND})
"""Answers for one namespace alone: its rights are not applied yet, or the cluster is gone."""
_NOTHING: Final[dict[str, int]] = {}


class FleetStore:
    """The stores of the fleet's clusters. The names of its objects are those of ``key_of``, or of an agent's
    ``own`` cluster without the cluster.
    """

    def __init__(
        self, *, store_of: Callable[[str], ScoreStore], wall: Callable[[], float], own: str = ""
    ) -> None:
        self._store_of = store_of
        self._wall = wall
        self._own = own
        self._stores: dict[str, ScoreStore] = {}
        self._names: tuple[str, ...] = ()

    def set(self, clusters: Iterable[str]) -> None:
        """Takes the clusters of a new file."""
        self._names = tuple(clusters)
        for gone in self._stores.keys() - set(self._names):
            del self._stores[gone]

    def of(self, cluster: str) -> ScoreStore:
        """The store of one cluster."""
        store = self._stores.get(cluster)
        if store is None:
            store = self._stores[cluster] = self._store_of(cluster)
        return store

    def wall(self) -> float:
        """The store's time."""
        return self._wall()

    async def list_owned(self) -> list[Stored]:
        """The objects of all clusters, without their values. A cluster whose namespace may not be read is
        left out. Raises AgentError if the hub fails.
        """
        if self._own:
            return await self.of(self._own).list_owned(values=False)
        found: list[Stored] = []
        for cluster in self._names:
            try:
                listed = await self.of(cluster).list_owned(values=False)
            except AgentError as error:
                if error.reason not in _NOT_ALLOWED:
                    raise
                log.debug("the scores of %s cannot be listed: %s", cluster, error)
                continue
            found += [
                replace(one, name=key_of(cluster, one.name), values=_NOTHING, labels={}) for one in listed
            ]
        return found

    async def delete(self, stored: Stored) -> None:
        """Deletes an object of ``list_owned`` unless it changed since."""
        cluster, _, name = stored.name.rpartition("/")
        await self.of(cluster or self._own).delete(replace(stored, name=name))
