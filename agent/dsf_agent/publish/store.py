"""The interface of stores for AddOnPlacementScores, and what the hub and the directory have in common."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from dsf_wire.constants import (
    AGENT_MANAGER,
    MANAGED_BY_LABEL,
    RUNS_ON_HUB,
    RUNS_ON_LABEL,
    SCORE_API_VERSION,
    SCORER_LABEL,
)

KIND: Final = "AddOnPlacementScore"


@dataclass(frozen=True, kw_only=True)
class Stored:
    """A stored object. ``valid_until`` is in Unix seconds, None for never."""

    name: str
    values: Mapping[str, int]
    valid_until: float | None
    labels: Mapping[str, str]
    version: str = ""
    shared: bool = False
    """Whether another program writes its items too."""

    @property
    def owned(self) -> bool:
        """Whether the label says that a gitops-dsf agent or the hub scorer writes this object."""
        return self.labels.get(MANAGED_BY_LABEL) == AGENT_MANAGER

    def owned_by(self, *, hub_scorer: bool) -> bool:
        """Whether the labels say that the hub scorer writes this object, or else an agent."""
        return self.owned and (self.labels.get(RUNS_ON_LABEL) == RUNS_ON_HUB) is hub_scorer


class ScoreStore(Protocol):
    """All methods raise AgentError. Times are Unix seconds of the store's clock."""

    async def write(
        self,
        name: str,
        *,
        scorer: str,
        values: Mapping[str, int],
        valid_until: float,
    ) -> None:
        """Makes the object contain exactly these items. Raises AgentError with CONFLICT while
        another program writes it.
        """
        ...

    async def names(self) -> frozenset[str]:
        """The names of all objects with our label."""
        ...

    async def list_owned(self, *, values: bool = True) -> list[Stored]:
        """All objects that are labelled as this process writes them. ``values`` says whether their values are
        needed.
        """
        ...

    async def delete(self, stored: Stored) -> None:
        """Deletes the object unless it changed since it was read. An object that no longer exists is no
        error.
        """
        ...


def labels(scorer: str, *, hub_scorer: bool = False) -> dict[str, str]:
    """The labels of our objects. Names that are not valid label values are left out."""
    found = {MANAGED_BY_LABEL: AGENT_MANAGER}
    if hub_scorer:
        found[RUNS_ON_LABEL] = RUNS_ON_HUB
    if is_label_value(scorer):
        found[SCORER_LABEL] = scorer
    return found


def is_label_value(text: str) -> bool:
    """Kubernetes' rule: at most 63 characters of [A-Za-z0-9._-], the first and last a letter or digit."""
    return (
        0 < len(text) <= 63
        and text.isascii()
        and text[0].isalnum()
        and text[-1].isalnum()
        and all(char.isalnum() or char in "._-" for char in text)
    )


def manifest(*, name: str, namespace: str, labels: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The object without its status. It is sent without labels to apply the status alone."""
    metadata: dict[str, Any] = {"name": name, "namespace": namespace}
    if labels is not None:
        metadata["labels"] = dict(labels)
    return {"apiVersion": SCORE_API_VERSION, "kind": KIND, "metadata": metadata}


def status(values: Mapping[str, int], *, valid_until: float) -> dict[str, Any]:
    """The status. The time is in UTC and whole seconds."""
    return {
        "scores": [{"name": name, "value": values[name]} for name in values],
        "validUntil": timestamp(valid_until),
    }


def timestamp(seconds: float) -> str:
    """An RFC 3339 time as the API server writes it."""
    return datetime.fromtimestamp(int(seconds), tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds(text: str | None) -> float | None:
    """Unix seconds of an RFC 3339 time, or None if the text is no such time."""
    try:
        return None if text is None else datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None
