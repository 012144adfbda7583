"""Stores of AddOnPlacementScores: the interface, and the marks of our objects.

The hub and a directory implement it. Objects without our mark are never deleted.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol

from dsf_wire import constants

_LABEL_VALUE: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
"""Kubernetes' rule for values of labels."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoredCondition:
    """The condition `Scored` of an object. ``since`` is in Unix seconds of the store's clock."""

    holds: bool
    """Whether there are scores: the status of the condition."""
    reason: str
    message: str
    since: float

    def same_as(self, other: "ScoredCondition | None") -> bool:
        """Whether the other one needs no write in place of this one.

        A new message alone is not worth a write: there may be one in each cycle.
        """
        return other is not None and (self.holds, self.reason) == (other.holds, other.reason)

    def following(self, before: "ScoredCondition | None") -> "ScoredCondition":
        """The condition in place of the one before, whose time it keeps if the status is the same.

        So it is with all conditions of Kubernetes (metav1.Condition).
        """
        if before is None or before.holds is not self.holds:
            return self
        return replace(self, since=before.since)


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredScores:
    """A stored object. ``valid_until`` is in Unix seconds, None for never."""

    name: str
    values: Mapping[str, int]
    valid_until: float | None
    labels: Mapping[str, str]
    version: str = ""
    shared: bool = False
    """Whether another program writes its items too."""
    condition: ScoredCondition | None = None
    """The condition about the scorer; None if there is none."""
    filled: bool = True
    """Whether it has items. An object without them only says why there are none."""

    def owned_by(self, *, hub_scorer: bool) -> bool:
        """Whether the labels say that the hub scorer writes this object, or else an agent."""
        if self.labels.get(constants.MANAGED_BY_LABEL) != constants.AGENT_MANAGER:
            return False
        on_hub = self.labels.get(constants.RUNS_ON_LABEL) == constants.RUNS_ON_HUB
        return on_hub is hub_scorer


class ScoreStore(Protocol):
    """All methods raise AgentError. Times are Unix seconds of the store's clock."""

    async def write(
        self,
        name: str,
        *,
        scorer: str,
        values: Mapping[str, int],
        valid_until: float,
        condition: ScoredCondition,
        needed: Callable[[], bool] = lambda: True,
    ) -> StoredScores | None:
        """Makes the object hold exactly these items, and the condition.

        Raises CONFLICT while another program writes it.

        ``needed`` is asked before an object is created, because the scorer may be removed while
        this waits for the hub: then its object was deleted on purpose. Returns what is stored now;
        None if it is not needed.
        """
        ...

    async def explain(
        self,
        name: str,
        *,
        scorer: str,
        stored: StoredScores | None,
        condition: ScoredCondition,
        needed: Callable[[], bool] = lambda: True,
    ) -> StoredScores | None:
        """Writes the condition alone: the items and their end stay as they are stored.

        Without a stored object one without items is created. Raises CONFLICT, and writes nothing,
        if the object is not the stored one any more, or another program writes it. Returns what is
        stored now; None if it is not needed.
        """
        ...

    async def names(self) -> frozenset[str]:
        """The names of all objects with our label."""
        ...

    async def list_owned(self, *, values: bool = True) -> list[StoredScores]:
        """All objects with the labels of this process.

        ``values``: whether their values are needed.
        """
        ...

    async def delete(self, stored: StoredScores) -> None:
        """Deletes the object unless it changed since it was read. It may be gone already."""
        ...


def labels(scorer: str, *, hub_scorer: bool = False) -> dict[str, str]:
    """The labels of our objects. Names that are not valid label values are left out."""
    ours = {constants.MANAGED_BY_LABEL: constants.AGENT_MANAGER}
    if hub_scorer:
        ours[constants.RUNS_ON_LABEL] = constants.RUNS_ON_HUB
    if _LABEL_VALUE.fullmatch(scorer):
        ours[constants.SCORER_LABEL] = scorer
    return ours
