"""AddOnPlacementScores: the interface of stores, the fields that the agent uses, the items' owners."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Protocol

import msgspec

from dsf_wire import constants, ownership
from dsf_wire.ownership import FieldsEntry, Writer

KIND: Final = "AddOnPlacementScore"
_LABEL_VALUE: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
"""Kubernetes' rule for values of labels."""
OWNED_ITEM_BYTES: Final = 36
"""Bytes of an item in managedFields, besides its name: server-side apply records each item's owner."""


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

    def owned_by(self, *, hub_scorer: bool) -> bool:
        """Whether the labels say that the hub scorer writes this object, or else an agent."""
        ours = self.labels.get(constants.MANAGED_BY_LABEL) == constants.AGENT_MANAGER
        return (
            ours
            and (self.labels.get(constants.RUNS_ON_LABEL) == constants.RUNS_ON_HUB) is hub_scorer
        )


class ScoreStore(Protocol):
    """All methods raise AgentError. Times are Unix seconds of the store's clock."""

    async def write(
        self,
        name: str,
        *,
        scorer: str,
        values: Mapping[str, int],
        valid_until: float,
        needed: Callable[[], bool] = lambda: True,
    ) -> bool:
        """Makes the object hold exactly these items. Raises CONFLICT while another program writes it.

        ``needed`` is asked before an object is created, because the scorer may be removed while this waits
        for the hub: then its object was deleted on purpose. Returns whether the object holds the items now.
        """
        ...

    async def names(self) -> frozenset[str]:
        """The names of all objects with our label."""
        ...

    async def list_owned(self, *, values: bool = True) -> list[Stored]:
        """All objects with the labels of this process. ``values``: whether their values are needed."""
        ...

    async def delete(self, stored: Stored) -> None:
        """Deletes the object unless it changed since it was read. It may be gone already."""
        ...


def labels(scorer: str, *, hub_scorer: bool = False) -> dict[str, str]:
    """The labels of our objects. Names that are not valid label values are left out."""
    found = {constants.MANAGED_BY_LABEL: constants.AGENT_MANAGER}
    if hub_scorer:
        found[constants.RUNS_ON_LABEL] = constants.RUNS_ON_HUB
    if _LABEL_VALUE.fullmatch(scorer):
        found[constants.SCORER_LABEL] = scorer
    return found


def manifest(
    *, name: str, namespace: str, labels: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The object without its status. It is sent without labels to apply the status alone."""
    metadata: dict[str, Any] = {"name": name, "namespace": namespace}
    if labels is not None:
        metadata["labels"] = dict(labels)
    return {"apiVersion": constants.SCORE_API_VERSION, "kind": KIND, "metadata": metadata}


def timestamp(seconds: float) -> str:
    """An RFC 3339 time as the API server writes it."""
    return datetime.fromtimestamp(int(seconds), tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds(text: str | None) -> float | None:
    """Unix seconds of an RFC 3339 time, or None if the text is no such time."""
    try:
        return None if text is None else datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


class Metadata(msgspec.Struct, frozen=True, rename="camel"):
    """Metadata of an object."""

    name: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}
    managed_fields: list[FieldsEntry] = []


class Item(msgspec.Struct, frozen=True, gc=False):
    """One score. A struct needs half the time and memory of a dictionary; there may be thousands."""

    name: str
    value: int = 0


class Status(msgspec.Struct, frozen=True, rename="camel"):
    """The scores."""

    scores: list[Item] = []
    valid_until: str | None = None


class HubObject(msgspec.Struct, frozen=True):
    """One AddOnPlacementScore, without the ``fieldsV1`` of managedFields, which are most of its bytes."""

    metadata: Metadata = Metadata()
    status: Status = Status()

    @property
    def writers(self) -> tuple[Writer, ...]:
        """Other programs that write the status."""
        labelled = self.metadata.labels.get(constants.MANAGED_BY_LABEL) == constants.AGENT_MANAGER
        return ownership.other_writers(
            self.metadata.managed_fields, labelled=labelled, scored=bool(self.status.scores)
        )

    @property
    def exclusive(self) -> bool:
        """Whether our agent owns the whole status, so that an apply replaces all of it."""
        applied = any(entry.ours for entry in self.metadata.managed_fields)
        return not self.writers and (applied or not self.status.scores)

    def stored(self) -> Stored:
        """The object as the store hands it out."""
        return Stored(
            name=self.metadata.name,
            values={item.name: item.value for item in self.status.scores},
            valid_until=seconds(self.status.valid_until),
            labels=self.metadata.labels,
            version=self.metadata.resource_version,
            shared=bool(self.writers),
        )


class ObjectList(msgspec.Struct, frozen=True):
    """A list of objects."""

    items: list[HubObject] = []


class Row(msgspec.Struct, frozen=True):
    """One object of a Table."""

    cells: list[Any]


class Table(msgspec.Struct, frozen=True):
    """A list as a table. The first column of a custom resource is the name."""

    rows: list[Row]


def stored_bytes(body: int, *, items: int) -> int:
    """About how large the stored object is, with its managedFields, for a request body of this size."""
    return 2 * body + OWNED_ITEM_BYTES * items


def status_body(
    values: Mapping[str, int], *, name: str, namespace: str, valid_until: float
) -> bytes:
    """The body of a request that applies the status."""
    body = manifest(name=name, namespace=namespace)
    items = [Item(name=item, value=value) for item, value in values.items()]
    body["status"] = {"scores": items, "validUntil": timestamp(valid_until)}
    return msgspec.json.encode(body)


def sole_owner(status: Status, *, now: float) -> FieldsEntry:
    """The entry that makes our agent own this whole status, as `kubectl apply --server-side` moves it."""
    keys = (msgspec.json.encode({"name": item.name}).decode() for item in status.scores)
    fields: dict[str, Any] = {
        "f:scores": {f"k:{key}": {".": {}, "f:name": {}, "f:value": {}} for key in keys}
    }
    if status.valid_until is not None:
        fields["f:validUntil"] = {}
    return FieldsEntry(
        manager=constants.AGENT_MANAGER,
        operation=ownership.APPLY,
        api_version=constants.SCORE_API_VERSION,
        time=datetime.fromtimestamp(int(now), tz=UTC),
        fields_type="FieldsV1",
        fields_v1=msgspec.Raw(msgspec.json.encode({"f:status": fields})),
        subresource=ownership.STATUS,
    )
