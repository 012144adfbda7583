"""Where AddOnPlacementScores are kept: the hub, or a directory."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from dsf_wire.constants import AGENT_MANAGER, MANAGED_BY_LABEL, SCORE_API_VERSION, SCORER_LABEL

KIND: Final = "AddOnPlacementScore"


@dataclass(frozen=True, kw_only=True)
class Stored:
    """An object as it stands: its items, its expiry (Unix seconds, None for never), its labels and its
    version.
    """

    name: str
    values: Mapping[str, int]
    valid_until: float | None
    labels: Mapping[str, str]
    version: str = ""
    shared: bool = False
    """Whether another program writes its items, too."""

    @property
    def ours(self) -> bool:
        """Whether an agent of ours says that it writes this object."""
        return self.labels.get(MANAGED_BY_LABEL) == AGENT_MANAGER


class ScoreStore(Protocol):
    """All methods raise PublishError. Times are Unix seconds of the store's own clock."""

    def wall(self) -> float:
        """The store's time, because its readers compare validUntil with it."""
        ...

    async def read(self, name: str) -> Stored | None:
        """The object of this name, or None."""
        ...

    async def write(self, name: str, *, scorer: str, values: Mapping[str, int], valid_until: float) -> None:
        """Makes the object hold exactly these items. PublishError with CONFLICT while another program writes
        it.
        """
        ...

    async def gone(self, name: str, *, written: float) -> bool:
        """Whether somebody deleted an object that was written at this time, as far as the store knows.

        Cheap enough for every cycle; so it may take some minutes until the answer is yes, and it raises
        nothing.
        """
        ...

    async def ours(self) -> list[Stored]:
        """Every object labelled ours."""
        ...

    async def delete(self, stored: Stored) -> None:
        """Removes the object if it is still the one that was read; gone already is fine."""
        ...


def labels(scorer: str) -> dict[str, str]:
    """Labels of an object of ours; the scorer's name only where it is a valid label value."""
    found = {MANAGED_BY_LABEL: AGENT_MANAGER}
    if is_label_value(scorer):
        found[SCORER_LABEL] = scorer
    return found


def is_label_value(text: str) -> bool:
    """Kubernetes' rule: at most 63 of [A-Za-z0-9._-], beginning and ending with a letter or digit."""
    return (
        0 < len(text) <= 63
        and text.isascii()
        and text[0].isalnum()
        and text[-1].isalnum()
        and all(char.isalnum() or char in "._-" for char in text)
    )


def manifest(*, name: str, namespace: str, scorer: str | None = None) -> dict[str, Any]:
    """The object without its status; without a scorer also without labels, as an apply of the status alone
    wants it.
    """
    metadata: dict[str, Any] = {"name": name, "namespace": namespace}
    if scorer is not None:
        metadata["labels"] = labels(scorer)
    return {"apiVersion": SCORE_API_VERSION, "kind": KIND, "metadata": metadata}


def status(values: Mapping[str, int], *, valid_until: float) -> dict[str, Any]:
    """The status; items sorted by name, the time in UTC and whole seconds."""
    return {
        "scores": [{"name": name, "value": values[name]} for name in values],
        "validUntil": timestamp(valid_until),
    }


def timestamp(seconds: float) -> str:
    """RFC 3339 as the API server writes it."""
    return datetime.fromtimestamp(int(seconds), tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def stored(plain: Mapping[str, Any]) -> Stored:
    """An object as read. Tolerant: what cannot be understood counts as absent, so that it is written anew."""
    metadata, state = _mapping(plain.get("metadata")), _mapping(plain.get("status"))
    values: dict[str, int] = {}
    scores = state.get("scores")
    for item in scores if isinstance(scores, list) else []:
        if (
            isinstance(item, dict)
            and isinstance(item.get("name"), str)
            and isinstance(item.get("value"), int)
        ):
            values[item["name"]] = item["value"]
    return Stored(
        name=str(metadata.get("name", "")),
        values=values,
        valid_until=seconds(state.get("validUntil")),
        labels={str(key): str(value) for key, value in _mapping(metadata.get("labels")).items()},
        version=str(metadata.get("resourceVersion", "")),
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def seconds(text: object) -> float | None:
    """Unix seconds of an RFC 3339 time, or None where it is none."""
    if isinstance(text, datetime):
        return text.timestamp()
    if not isinstance(text, str):
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None
