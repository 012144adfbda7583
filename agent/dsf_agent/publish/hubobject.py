"""AddOnPlacementScores as JSON: the fields that the agent reads and writes, and the items' owners.

Pure.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from dsf_agent.publish.store import ScoredCondition, StoredScores
from dsf_wire import constants, ownership
from dsf_wire.ownership import FieldsEntry, ScoreWriter
from dsf_wire.scored import SCORED

KIND: Final = "AddOnPlacementScore"
OWNED_ITEM_BYTES: Final = 36
"""Bytes of an item in managedFields, besides its name: server-side apply records each item's owner.
"""
_CONDITION_FIELDS: Final = ("f:lastTransitionTime", "f:message", "f:reason", "f:status", "f:type")


class TableObjectMetadata(msgspec.Struct, frozen=True, rename="camel"):
    """Metadata of an object."""

    name: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}
    managed_fields: list[FieldsEntry] = []


class ScoreItem(msgspec.Struct, frozen=True, gc=False):
    """One score.

    A struct needs half the time and memory of a dictionary; there may be thousands.
    """

    name: str
    value: int = 0


class StatusCondition(msgspec.Struct, frozen=True, rename="camel"):
    """A condition, as metav1.Condition has it."""

    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str = ""


class ScoreStatus(msgspec.Struct, frozen=True, rename="camel"):
    """The scores, and conditions of any program."""

    conditions: list[StatusCondition] = []
    scores: list[ScoreItem] = []
    valid_until: str | None = None


class ScoreObject(msgspec.Struct, frozen=True):
    """One AddOnPlacementScore.

    It is decoded without the ``fieldsV1`` of managedFields, which are most of its bytes.
    """

    metadata: TableObjectMetadata = TableObjectMetadata()
    status: ScoreStatus = ScoreStatus()

    @property
    def writers(self) -> tuple[ScoreWriter, ...]:
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

    def stored(self, *, values: Mapping[str, int] | None = None) -> StoredScores:
        """The object as the store hands it out.

        ``values`` are its items if they are known: those of equal scores are kept once.
        """
        if values is None:
            values = {score.name: score.value for score in self.status.scores}
        return StoredScores(
            name=self.metadata.name,
            values=values,
            filled=bool(values),
            condition=_scored_condition(self.status.conditions),
            valid_until=seconds(self.status.valid_until),
            labels=self.metadata.labels,
            version=self.metadata.resource_version,
            shared=bool(self.writers),
        )


class HubObjectList(msgspec.Struct, frozen=True):
    """A list of objects."""

    items: list[ScoreObject] = []


class TableRow(msgspec.Struct, frozen=True):
    """One object of a Table."""

    cells: list[Any]


class TableAnswer(msgspec.Struct, frozen=True):
    """A list as a table. The first column of a custom resource is the name."""

    rows: list[TableRow]


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
    # metav1.Time has whole seconds. Rounded down, so that no score lives longer than its TTL.
    return datetime.fromtimestamp(int(seconds), tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds(text: str | None) -> float | None:
    """Unix seconds of an RFC 3339 time, or None if the text is not a valid time."""
    try:
        return None if text is None else datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


def stored_bytes(body: int, *, items: int) -> int:
    """About how large the stored object is, managedFields included, for a body of this size."""
    # Each item's name is there twice: in the status, and in managedFields.
    return 2 * body + OWNED_ITEM_BYTES * items


def status_body(
    values: Mapping[str, int],
    *,
    name: str,
    namespace: str,
    valid_until: float | None,
    condition: ScoredCondition | None = None,
    version: str = "",
) -> bytes:
    """The body of a request that applies the status.

    With a ``version`` the hub refuses it with 409 if the object has another one.
    """
    body = manifest(name=name, namespace=namespace)
    if version:
        body["metadata"]["resourceVersion"] = version
    status: dict[str, Any] = {}
    if condition is not None:
        status["conditions"] = [condition_body(condition)]
    # A field that an apply does not name is removed if our agent applied it before. So an object
    # that never had scores gets no empty list of them.
    if values or valid_until is not None:
        status["scores"] = [ScoreItem(name=item, value=value) for item, value in values.items()]
    if valid_until is not None:
        status["validUntil"] = timestamp(valid_until)
    body["status"] = status
    return msgspec.json.encode(body)


def condition_body(condition: ScoredCondition) -> dict[str, str]:
    """The condition as an object of the hub has it."""
    return {
        "type": SCORED,
        "status": "True" if condition.holds else "False",
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": timestamp(condition.since),
    }


def _scored_condition(conditions: Iterable[StatusCondition]) -> ScoredCondition | None:
    for condition in conditions:
        if condition.type == SCORED:
            # Without a valid time it counts as another one, and is written again.
            since = seconds(condition.last_transition_time)
            if since is None:
                return None
            return ScoredCondition(
                holds=condition.status == "True",
                reason=condition.reason,
                message=condition.message,
                since=since,
            )
    return None


def sole_owner(status: ScoreStatus, *, now: float) -> FieldsEntry:
    """The entry that makes our agent own this whole status.

    It is as `kubectl apply --server-side` moves it.
    """
    owned_items: dict[str, Any] = {}
    for score in status.scores:
        # Items are a list with the key "name", so their owner is recorded by {"name": ...}.
        key = msgspec.json.encode({"name": score.name}).decode()
        # `.` is the item itself. An apply removes only items of which the manager owns that, and
        # not their fields alone (Kubernetes 1.37).
        owned_items[f"k:{key}"] = {".": {}, "f:name": {}, "f:value": {}}
    fields: dict[str, Any] = {"f:scores": owned_items}
    owned_conditions: dict[str, Any] = {}
    for condition in status.conditions:
        key = msgspec.json.encode({"type": condition.type}).decode()
        owned_conditions[f"k:{key}"] = dict[str, Any]({".": {}})
        for name in _CONDITION_FIELDS:
            owned_conditions[f"k:{key}"][name] = {}
    if owned_conditions:
        fields["f:conditions"] = owned_conditions
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
