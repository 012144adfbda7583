"""Writes the items of paced moves, even if single clusters refuse theirs.

The items are in one AddOnPlacementScore `gitops-dsf-moves` for each cluster.

Not guaranteed: that the items of all clusters are those of one moment. They are separate objects,
so the order of writes (`gitops_dsf.pacing.publication`) keeps a Placement from being pushed away
before another cluster draws it.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, NamedTuple

import msgspec

from dsf_runtime.apiserver import ApiError
from dsf_runtime.backoff import Pauses
from dsf_runtime.clock import monotonic
from dsf_runtime.informer import UNREADABLE
from dsf_wire.constants import MANAGED_BY_LABEL
from gitops_dsf.hub.pace import MOVES_SCORE
from gitops_dsf.hub.resources import SCORES
from gitops_dsf.pacing.items import MoveItems
from gitops_dsf.pacing.publication import ClusterItems, ItemWrites
from gitops_dsf.reconciler.hub.api import MANAGER, REFUSAL_BACKOFF, HubApi
from gitops_dsf.reconciler.hub.scorecolumns import StoredScore

FORGET_SECONDS: Final = 600.0
"""A refusal is forgotten when nothing was sent to the cluster for this time.

Then no items are wanted there any more.
"""
LASTING: Final = 2
"""Refusals in a row after which a cluster takes no part in moves.

A single one may be an accident.
"""
MAX_REFUSED: Final = 10
"""Refusals of one pass.

The rest waits for the next one: a webhook that is silent takes 10 s each time.
"""

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class _WrittenItems:
    """The items that this replica wrote to a cluster, until the informer shows them.

    The informer may be behind.
    """

    possible: tuple[ClusterItems, ...]
    """Everything that may be there: more than one after a write without an answer."""
    version: str | None
    """The resourceVersion of the last answer; None: there was none; empty: there is no object."""


class _RefusedWrite(NamedTuple):
    message: str
    at: float
    """The time of the write, by the clock of this process."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownItems:
    """The items that the informer shows."""

    items: MoveItems
    versions: Mapping[str, str]
    """The resourceVersion by cluster."""


class ItemPublisher:
    """Writes the items, and remembers which clusters refuse them.

    The objects have no validUntil: an expired one would be a warning of OCM in every pass.
    """

    def __init__(self, api: HubApi) -> None:
        self._api = api
        self._expected: dict[str, _WrittenItems] = {}
        self._pauses = Pauses(REFUSAL_BACKOFF)
        """Pauses after a refused write, by cluster."""
        self._refusals: dict[str, _RefusedWrite] = {}
        """The last one of each cluster."""
        self.refused: Mapping[str, str] = {}
        """The reasons why clusters and Placements (namespace/name) take part in no move: the
        answers of the hub that refused their items.
        """

    async def publish(self, published: ShownItems, wanted: MoveItems) -> None:
        """Writes what differs, in the order that is safe.

        What one cluster refuses stops only the moves that need it. Raises ApiError when the hub
        does not answer; what was written stays.
        """
        possible: dict[str, tuple[ClusterItems, ...]] = {}
        for cluster, values in published.items.items():
            possible[cluster] = (values,)
        # An informer that is behind shows the items before the last write. Planned by those, a
        # Placement would be pushed although its draw is gone.
        possible |= await self._not_shown_yet(published)
        self._forget_old_refusals()
        writing = ItemWrites(possible, wanted)
        failed = set[str]()
        for cluster, values in writing.writes():
            if cluster in failed or self._pauses.left(cluster) or len(failed) >= MAX_REFUSED:
                continue
            before = possible.get(cluster, ({},))
            # Noted before the request, because its answer may never arrive.
            self._expected[cluster] = _WrittenItems(possible=(*before, values), version=None)
            try:
                version = await self._write(cluster, values)
            except ApiError as error:
                # Only a 4xx says for sure that nothing was written.
                if not HTTPStatus.BAD_REQUEST <= error.status < HTTPStatus.INTERNAL_SERVER_ERROR:
                    writing.lost(cluster, values)
                if not error.status:
                    raise
                failed.add(cluster)
                # In a conflict another writer was first, so the next pass reads the object again.
                if error.status != HTTPStatus.CONFLICT:
                    self._refuse(cluster, str(error))
            else:
                writing.wrote(cluster, values)
                possible[cluster] = (values,)
                self._expected[cluster] = _WrittenItems(possible=(values,), version=version)
                self._pauses.worked(cluster)
                if self._refusals.pop(cluster, None) is not None:
                    LOG.info("cluster %s takes part in moves again", cluster)
        self.refused = self._lasting_refusals(writing)

    async def _not_shown_yet(self, published: ShownItems) -> dict[str, tuple[ClusterItems, ...]]:
        """The items of the clusters whose last write the informer does not show yet.

        They are read from the API server.
        """
        possible: dict[str, tuple[ClusterItems, ...]] = {}
        for cluster, expected in tuple(self._expected.items()):
            shown_version = published.versions.get(cluster, "")
            if shown_version == expected.version:
                del self._expected[cluster]
                continue
            try:
                score = await self._read(cluster)
            except ApiError as error:
                if not error.status:
                    raise
                # One cluster that cannot be read stops no other. Everything that may be there
                # counts, so nothing is pushed there by mistake.
                possible[cluster] = expected.possible
                continue
            possible[cluster] = (_values(score),)
            version = score.metadata.resource_version if score is not None else ""
            if shown_version == version:
                del self._expected[cluster]
            else:
                self._expected[cluster] = _WrittenItems(possible=possible[cluster], version=version)
        return possible

    @property
    def refusing(self) -> int:
        """Clusters that have refused more than once, and not accepted anything since."""
        return sum(self._pauses.times(cluster) >= LASTING for cluster in self._refusals)

    def _refuse(self, cluster: str, message: str) -> None:
        before = self._refusals.get(cluster)
        self._refusals[cluster] = _RefusedWrite(message, monotonic())
        self._pauses.failed(cluster)
        if before is None or before.message != message:
            LOG.warning("the items of moves of cluster %s are not written: %s", cluster, message)

    def _forget_old_refusals(self) -> None:
        for cluster, refusal in tuple(self._refusals.items()):
            if monotonic() > refusal.at + FORGET_SECONDS:
                del self._refusals[cluster]
                self._pauses.worked(cluster)

    def _lasting_refusals(self, writing: ItemWrites) -> dict[str, str]:
        """The reasons why clusters and Placements take part in no move."""
        refused: dict[str, str] = {}
        for cluster, refusal in self._refusals.items():
            if self._pauses.times(cluster) >= LASTING and self._pauses.left(cluster):
                refused[cluster] = refusal.message
        paused: dict[str, str] = {}
        for placement, clusters in writing.paused().items():
            for cluster in sorted(clusters):
                if cluster in refused:
                    paused[placement] = refused[cluster]
        return refused | paused

    async def _read(self, cluster: str) -> StoredScore | None:
        """Raises ApiError."""
        try:
            return await self._api.one(SCORES.within(cluster).path, MOVES_SCORE, StoredScore)
        except UNREADABLE as error:
            msg = f"AddOnPlacementScore {cluster}/{MOVES_SCORE} cannot be read: {error}; delete it"
            raise ApiError(msg, status=HTTPStatus.UNPROCESSABLE_ENTITY) from error

    async def _write(self, cluster: str, values: ClusterItems) -> str:
        """Returns the resourceVersion; empty if there is no object, and none is needed.

        Raises ApiError.
        """
        path = SCORES.within(cluster).path
        score = await self._read(cluster)
        if score is None:
            if not values:
                return ""
            score = await self._create(cluster)
        # Also when the items are there already: an API server that is behind may have answered the
        # list, and only the write with its version says that it is not of the past.
        items = [{"name": name, "value": value} for name, value in sorted(values.items())]
        # The version makes the API server refuse the items of a leader that read before another one
        # wrote.
        change = {
            "metadata": {"resourceVersion": score.metadata.resource_version},
            "status": {"scores": items},
        }
        answer = await self._api.merge(f"{path}/{MOVES_SCORE}/status", change)
        return msgspec.json.decode(answer, type=StoredScore).metadata.resource_version

    async def _create(self, cluster: str) -> StoredScore:
        """Creates the object without items.

        Those are in its status, which the API server drops from a create.
        """
        labels = {MANAGED_BY_LABEL: MANAGER}
        new = {
            "apiVersion": SCORES.api_version,
            "kind": "AddOnPlacementScore",
            "metadata": {"name": MOVES_SCORE, "namespace": cluster, "labels": labels},
        }
        try:
            answer = await self._api.create(SCORES.within(cluster).path, new)
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                msg = f"cluster {cluster} has no namespace on the hub"
                raise ApiError(msg, status=error.status) from error
            raise
        return msgspec.json.decode(answer, type=StoredScore)


def _values(score: StoredScore | None) -> ClusterItems:
    if score is None or score.status is None:
        return {}
    return {item.name: item.value for item in score.status.scores or ()}
