"""Writes the AddOnPlacementScores `gitops-dsf-moves`, one in the namespace of each cluster that has items."""

import logging
from collections.abc import Mapping
from http import HTTPStatus

import msgspec

from dsf_runtime.apiserver import ApiError
from dsf_wire.constants import MANAGED_BY_LABEL
from gitops_dsf.hub.pace import MOVES_SCORE
from gitops_dsf.hub.resources import SCORES
from gitops_dsf.hub.scores import Score
from gitops_dsf.pacing.refuges import Items, writes
from gitops_dsf.reconciler.hub.api import MANAGER, HubApi
from gitops_dsf.reconciler.hub.kinds import StoredScore

LOG = logging.getLogger(__name__)


def items_in(column: Mapping[str, Score]) -> Items:
    """The published items, by the scores of that name."""
    found = {cluster: dict(score.items()) for cluster, score in column.items()}
    return {cluster: items for cluster, items in found.items() if items}


class ItemPublisher:
    """The objects have no validUntil: an expired one would be a warning of OCM in every pass."""

    def __init__(self, api: HubApi) -> None:
        self._api = api
        self._written: dict[str, Mapping[str, int]] = {}
        """By cluster, what the last look wrote."""

    async def publish(self, published: Items, wanted: Items) -> None:
        """Writes what differs, in the order that is safe. Raises ApiError; what was written stays.

        A refuge that this wrote a moment ago may not be among what is `published`. It counts as published,
        because it must be gone before the Placement is pushed away.
        """
        known = {**published}
        for cluster, items in self._written.items():
            known[cluster] = {**known.get(cluster, {}), **items}
        self._written = {}
        for cluster, items in writes(known, wanted):
            await self._write(cluster, items)
            self._written[cluster] = items

    async def _write(self, cluster: str, items: Mapping[str, int]) -> None:
        path = SCORES.within(cluster).path
        found = await self._api.one(path, MOVES_SCORE, StoredScore)
        if found is None:
            if not items:
                return
            try:
                found = msgspec.json.decode(await self._api.create(path, _new(cluster)), type=StoredScore)
            except ApiError as error:
                if error.status == HTTPStatus.NOT_FOUND:
                    LOG.warning("cluster %s has no namespace, so no move enters or leaves it", cluster)
                    return
                raise
        scores = (found.status.scores if found.status else None) or ()
        if {item.name: item.value for item in scores} == items:
            return
        change = {
            "metadata": {"resourceVersion": found.metadata.resource_version},
            "status": {"scores": [{"name": name, "value": value} for name, value in sorted(items.items())]},
        }
        await self._api.merge(f"{path}/{MOVES_SCORE}/status", change)


def _new(cluster: str) -> dict[str, object]:
    return {
        "apiVersion": SCORES.api_version,
        "kind": "AddOnPlacementScore",
        "metadata": {"name": MOVES_SCORE, "namespace": cluster, "labels": {MANAGED_BY_LABEL: MANAGER}},
    }
