"""The AddOnPlacementScores `gitops-dsf-moves`: writes the items of moves, whatever single clusters refuse."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import msgspec

from dsf_runtime.apiserver import ApiError
from dsf_runtime.backoff import Pauses
from dsf_runtime.clock import monotonic
from dsf_runtime.informer import UNREADABLE
from dsf_wire.constants import MANAGED_BY_LABEL
from gitops_dsf.hub.pace import MOVES_SCORE
from gitops_dsf.hub.resources import SCORES
from gitops_dsf.pacing.items import Items
from gitops_dsf.pacing.publication import Round, Values
from gitops_dsf.reconciler.hub.api import MANAGER, REFUSED, HubApi
from gitops_dsf.reconciler.hub.scorecolumns import StoredScore

LOG = logging.getLogger(__name__)
FORGET_SECONDS: Final = 600.0
"""A refusal is forgotten when the cluster was not asked again for so long: nothing is wanted there."""
LASTING: Final = 2
"""Refusals in a row after which a cluster takes no part in moves. A single one may be an accident."""
MOST_REFUSED: Final = 10
"""Refusals of one look. The rest waits for the next one: a webhook that is silent takes 10 s each time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Expected:
    """What this replica wrote to a cluster, until the informer shows it. The informer may be behind."""

    possible: tuple[Values, ...]
    """Everything that may be there: more than one after a write without an answer."""
    version: str | None
    """The resourceVersion of the last answer; None: there was none; empty: there is no object."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Published:
    """What the informer shows."""

    items: Items
    versions: Mapping[str, str]
    """The resourceVersion by cluster."""


class ItemPublisher:
    """The objects have no validUntil: an expired one would be a warning of OCM in every pass."""

    def __init__(self, api: HubApi) -> None:
        self._api = api
        self._expected: dict[str, _Expected] = {}
        self._pauses = Pauses(REFUSED)
        """By cluster."""
        self._refusals: dict[str, tuple[str, float]] = {}
        """By cluster, the last refusal and when it came."""
        self.refused: Mapping[str, str] = {}
        """Why a cluster or a Placement (namespace/name) takes part in no move: the hub refuses its items."""

    async def publish(self, published: Published, wanted: Items) -> None:
        """Writes what differs, in the order that is safe. What one cluster refuses stops only the moves that
        need it. Raises ApiError when the hub does not answer; what was written stays.
        """
        known: dict[str, tuple[Values, ...]] = {
            name: (items,) for name, items in published.items.items()
        }
        known |= await self._not_shown_yet(published)
        self._forget()
        look, failed = Round(known, wanted), set[str]()
        for cluster, items in look.writes():
            if cluster in failed or self._pauses.left(cluster) or len(failed) >= MOST_REFUSED:
                continue
            before = known.get(cluster, ({},))
            # Noted before the request, because its answer may never arrive.
            self._expected[cluster] = _Expected(possible=(*before, items), version=None)
            try:
                version = await self._write(cluster, items)
            except ApiError as error:
                if not HTTPStatus.BAD_REQUEST <= error.status < HTTPStatus.INTERNAL_SERVER_ERROR:
                    look.lost(cluster, items)
                if not error.status:
                    raise
                failed.add(cluster)
                # In a conflict somebody else wrote meanwhile, so the next look reads the object again.
                if error.status != HTTPStatus.CONFLICT:
                    self._refuse(cluster, str(error))
            else:
                look.wrote(cluster, items)
                known[cluster] = (items,)
                self._expected[cluster] = _Expected(possible=(items,), version=version)
                self._pauses.worked(cluster)
                if self._refusals.pop(cluster, None) is not None:
                    LOG.info("cluster %s takes part in moves again", cluster)
        self.refused = self._lasting(look)

    async def _not_shown_yet(self, published: Published) -> dict[str, tuple[Values, ...]]:
        """What is in the clusters whose last write the informer does not show, read from the API server."""
        found: dict[str, tuple[Values, ...]] = {}
        for cluster, expected in tuple(self._expected.items()):
            shown = published.versions.get(cluster, "")
            if shown == expected.version:
                del self._expected[cluster]
                continue
            try:
                item = await self._read(cluster)
            except ApiError as error:
                if not error.status:
                    raise
                found[cluster] = expected.possible
                continue
            found[cluster] = (_values(item),)
            version = item.metadata.resource_version if item is not None else ""
            if shown == version:
                del self._expected[cluster]
            else:
                self._expected[cluster] = _Expected(possible=found[cluster], version=version)
        return found

    @property
    def refusing(self) -> int:
        """Clusters that have refused more than once, and not accepted anything since."""
        return sum(self._pauses.times(cluster) >= LASTING for cluster in self._refusals)

    def _refuse(self, cluster: str, message: str) -> None:
        before = self._refusals.get(cluster)
        self._refusals[cluster] = message, monotonic()
        self._pauses.failed(cluster)
        if before is None or before[0] != message:
            LOG.warning("the items of moves of cluster %s are not written: %s", cluster, message)

    def _forget(self) -> None:
        for cluster, (_, at) in tuple(self._refusals.items()):
            if monotonic() > at + FORGET_SECONDS:
                del self._refusals[cluster]
                self._pauses.worked(cluster)

    def _lasting(self, look: Round) -> dict[str, str]:
        """Why clusters and Placements take part in no move."""
        refused = {
            cluster: message
            for cluster, (message, _) in self._refusals.items()
            if self._pauses.times(cluster) >= LASTING and self._pauses.left(cluster)
        }
        paused = {
            name: refused[cluster]
            for name, clusters in look.paused().items()
            for cluster in sorted(clusters)
            if cluster in refused
        }
        return refused | paused

    async def _read(self, cluster: str) -> StoredScore | None:
        """Raises ApiError."""
        try:
            return await self._api.one(SCORES.within(cluster).path, MOVES_SCORE, StoredScore)
        except UNREADABLE as error:
            msg = f"AddOnPlacementScore {cluster}/{MOVES_SCORE} cannot be read: {error}; delete it"
            raise ApiError(msg, status=HTTPStatus.UNPROCESSABLE_ENTITY) from error

    async def _write(self, cluster: str, items: Values) -> str:
        """Returns the resourceVersion; empty if there is no object, and none is needed. Raises ApiError."""
        path, found = SCORES.within(cluster).path, await self._read(cluster)
        if found is None:
            if not items:
                return ""
            labels = {MANAGED_BY_LABEL: MANAGER}
            new = {
                "apiVersion": SCORES.api_version,
                "kind": "AddOnPlacementScore",
                "metadata": {"name": MOVES_SCORE, "namespace": cluster, "labels": labels},
            }
            try:
                found = msgspec.json.decode(await self._api.create(path, new), type=StoredScore)
            except ApiError as error:
                if error.status == HTTPStatus.NOT_FOUND:
                    msg = f"cluster {cluster} has no namespace on the hub"
                    raise ApiError(msg, status=error.status) from error
                raise
        if _values(found) == items:
            return found.metadata.resource_version
        change = {
            "metadata": {"resourceVersion": found.metadata.resource_version},
            "status": {
                "scores": [{"name": name, "value": value} for name, value in sorted(items.items())]
            },
        }
        answer = await self._api.merge(f"{path}/{MOVES_SCORE}/status", change)
        return msgspec.json.decode(answer, type=StoredScore).metadata.resource_version


def _values(item: StoredScore | None) -> Values:
    scores = (item.status.scores if item is not None and item.status is not None else None) or ()
    return {each.name: each.value for each in scores}
