"""An AddOnPlacementScore as the stores read it: the fields that the agent uses, and who owns its items."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from dsf_agent.publish import store
from dsf_agent.publish.store import Stored
from dsf_wire import ownership
from dsf_wire.constants import AGENT_MANAGER, MANAGED_BY_LABEL, SCORE_API_VERSION
from dsf_wire.ownership import FieldsEntry, Writer

OWNED_ITEM_BYTES: Final = 36
"""Size of an item's entry in managedFields without the item itself. Server-side apply records an owner for
each item, by name.
"""


class Metadata(msgspec.Struct, frozen=True, rename="camel"):
    """Metadata of an object."""

    name: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}
    managed_fields: list[FieldsEntry] = []


class Item(msgspec.Struct, frozen=True, gc=False):
    """One score. A struct needs half the time and memory of a dictionary, and there may be tens of
    thousands.
    """

    name: str
    value: int = 0


class Status(msgspec.Struct, frozen=True, rename="camel"):
    """The scores."""

    scores: list[Item] = []
    valid_until: str | None = None


class HubObject(msgspec.Struct, frozen=True):
    """One AddOnPlacementScore. The ``fieldsV1`` of managedFields are not decoded; they are most of
    its bytes.
    """

    metadata: Metadata = Metadata()
    status: Status = Status()

    @property
    def writers(self) -> tuple[Writer, ...]:
        """Other programs that write the status."""
        labelled = self.metadata.labels.get(MANAGED_BY_LABEL) == AGENT_MANAGER
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
            valid_until=store.seconds(self.status.valid_until),
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


def status_body(values: Mapping[str, int], *, name: str, namespace: str, valid_until: float) -> bytes:
    """The body of a request that applies the status."""
    body = store.manifest(name=name, namespace=namespace)
    items = [Item(name=item, value=value) for item, value in values.items()]
    body["status"] = {"scores": items, "validUntil": store.timestamp(valid_until)}
    return msgspec.json.encode(body)


def sole_owner(status: Status, *, now: float) -> FieldsEntry:
    """A managedFields entry that makes our agent the owner of this whole status. `kubectl apply
    --server-side` moves ownership in the same way.
    """
    keys = (msgspec.json.encode({"name": item.name}).decode() for item in status.scores)
    fields: dict[str, Any] = {
        "f:scores": {f"k:{key}": {".": {}, "f:name": {}, "f:value": {}} for key in keys}
    }
    if status.valid_until is not None:
        fields["f:validUntil"] = {}
    return FieldsEntry(
        manager=AGENT_MANAGER,
        operation=ownership.APPLY,
        api_version=SCORE_API_VERSION,
        time=datetime.fromtimestamp(int(now), tz=UTC),
        fields_type="FieldsV1",
        fields_v1=msgspec.Raw(msgspec.json.encode({"f:status": fields})),
        subresource=ownership.STATUS,
    )
