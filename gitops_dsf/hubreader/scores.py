"""Reads AddOnPlacementScores of a hub: those that a view needs, and their other writers.

A hub may have a million of them. Each is reduced while its page is read, and equal parts are
shared.
"""

from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Final

import msgspec

from dsf_wire.ownership import FieldsOwner
from gitops_dsf.hub.metadata import problem_of
from gitops_dsf.hub.resources import SCORES
from gitops_dsf.hub.scores import (
    AddOnPlacementScore,
    BareScore,
    Interner,
    OwnedScore,
    PublishedScore,
    other_managers,
)
from gitops_dsf.hub.snapshots.collect import unreadable
from gitops_dsf.hub.unread import Unread
from gitops_dsf.hubreader.hub import HubClient, Page

BY_NAME: Final = 20
"""Up to this many names of AddOnPlacementScores are requested one by one."""

AnyScore = AddOnPlacementScore | OwnedScore


class _ScorePage(Page, frozen=True):
    """A page of scores: nearly all pages have only scores that can be decoded."""

    items: list[AddOnPlacementScore] | None = None  # type: ignore[assignment]


class _OwnedScorePage(Page, frozen=True):
    """The same with managedFields."""

    items: list[OwnedScore] | None = None  # type: ignore[assignment]


class ScoreReader:
    """The AddOnPlacementScores that a view needs; filled by `read`."""

    def __init__(
        self,
        *,
        needed: frozenset[str] | None,
        resources: Collection[str] | None = None,
        owners: bool = False,
    ) -> None:
        """`needed` are the names to read; None means all. `resources` are those of scorers.

        With `owners`, other programs that write scores are collected, too.
        """
        self._needed = needed
        self._resources = resources
        self._page: type[Page] = _OwnedScorePage if owners else _ScorePage
        self._model: type[AnyScore] = OwnedScore if owners else AddOnPlacementScore
        self._interner = Interner()
        self._cluster_names: dict[str, str] = {}
        self._other_managers: dict[tuple[FieldsOwner, ...], tuple[str, ...]] = {}
        self.tables: dict[str, dict[str, PublishedScore]] = {}
        """Scores by name of the AddOnPlacementScore, then by cluster."""
        self.skipped = 0
        """Scores that were not read."""
        self.unreadable: list[str] = []
        """Messages about scores that cannot be decoded."""
        self.foreign: list[tuple[str, str]] = []
        """(cluster, name) of scores with a scorer's name that our agent did not write."""
        self.unowned: list[tuple[str, str]] = []
        """(cluster, name) of scores that our agent wrote and no scorer owns."""
        self.contested: list[tuple[str, str, str]] = []
        """(cluster, name, field manager) of scores of our agents that others also write."""

    def read(self, hub: HubClient) -> Unread | None:
        """Reads the scores; a few names one by one. Returns why a list could not be read."""
        # An empty name stands for one list of all of them.
        names = [""]
        # For each name the API server looks through the scores of all clusters, so requests for
        # many names would cost more than one list.
        if self._needed is not None and len(self._needed) <= BY_NAME:
            # Without the total, the number of scores that were left out would be unknown.
            total = hub.count(SCORES)
            if total is not None:
                names = sorted(self._needed)
                self.skipped = total
        for name in names:
            unread = hub.take(SCORES, self._take, of=self._page, name=name)
            if unread is not None:
                return unread
            if name:
                self.skipped = max(0, self.skipped - len(self.tables.get(name, ())))
        return None

    def _take(self, scores: Iterator[AnyScore | msgspec.Raw]) -> None:
        """Takes scores. One that cannot be decoded has no items."""
        needed = self._needed
        resources = self._resources
        tables = self.tables
        # A loop without calls for what nearly all scores are: there may be a million.
        shared_name = self._cluster_names.setdefault
        shared_score = self._interner.of
        for content in scores:
            score = self._decoded(content) if isinstance(content, msgspec.Raw) else content
            if score is None:
                continue
            name = score.metadata.name
            cluster = score.metadata.namespace or ""
            is_ours = score.metadata.ours
            if resources is not None and is_ours != (name in resources):
                (self.unowned if is_ours else self.foreign).append((cluster, name))
            if is_ours and isinstance(score, OwnedScore):
                self._note_other_managers(score, cluster)
            if needed is not None and name not in needed:
                self.skipped += 1
                continue
            if name not in tables:
                tables[name] = {}
            tables[name][shared_name(cluster, cluster)] = shared_score(score.status)

    def _note_other_managers(self, score: OwnedScore, cluster: str) -> None:
        entries = score.metadata.managed_fields or ()
        # Nearly all scores of a fleet have the same writers.
        if entries not in self._other_managers:
            self._other_managers[entries] = other_managers(entries)
        for manager in self._other_managers[entries]:
            self.contested.append((cluster, score.metadata.name, manager))

    def _decoded(self, raw: msgspec.Raw) -> AnyScore | None:
        try:
            return msgspec.json.decode(raw, type=self._model)
        except msgspec.ValidationError as error:
            with suppress(msgspec.ValidationError):
                metadata = msgspec.json.decode(raw, type=BareScore).metadata
                if self._needed is None or metadata.name in self._needed:
                    self.unreadable.append(
                        unreadable(metadata.name, metadata.namespace or "", problem_of(error))
                    )
                return AddOnPlacementScore(metadata)
            return None
