"""Writes of AddOnPlacementScores, and what is stored.

They have a status subresource and managed fields.

tests/hub/test_api_server.py compares it with a real one.
"""

import copy
import json
import re
import time
from collections.abc import Iterable, Mapping
from typing import Any

from tests.support.agent.http import RecordedRequest

Path = tuple[str, ...]
Entry = dict[str, Any]

BEFORE = "before-first-apply"
ITEMS: Path = ("f:status", "f:scores")
CONDITIONS: Path = ("f:status", "f:conditions")
CONDITION_REASON = re.compile("^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")
UNTIL: Path = ("f:status", "f:validUntil")
CONTAINERS = {("f:status", "."), (*ITEMS, ".")}


class ConflictError(Exception):
    """Another manager owns a field whose value an apply would change."""


class InvalidError(Exception):
    """The result is not a valid object."""


def update(
    live: Mapping[str, Any], new: Mapping[str, Any], entries: list[Entry], *, manager: str, now: str
) -> list[Entry]:
    """Returns the entries after an update: none without entries, before the first apply."""
    if not entries:
        return []
    before, after = _values(live), _values(new)
    changed = {path for path in after if path not in before or before[path] != after[path]}
    owned = _Owned(entries)
    for key in owned.fields:
        owned.fields[key] -= changed | (before.keys() - after.keys())
    if changed:
        owned.add((manager, "Update"), changed, now=now)
    return owned.entries()


def apply(
    live: Mapping[str, Any],
    wanted: Mapping[str, Any],
    entries: list[Entry],
    *,
    manager: str,
    now: str,
    force: bool,
) -> tuple[dict[str, Any], list[Entry]]:
    """Returns the status and the entries after an apply. Raises ConflictError or InvalidError."""
    before, given = _values(live), _values(wanted)
    given = {path: value for path, value in given.items() if path not in CONTAINERS}
    owned = _Owned(entries)
    if not entries and before:
        owned.add((BEFORE, "Update"), set(before), now=now)
    mine = (manager, "Apply")
    differing = {path for path, value in given.items() if path in before and before[path] != value}
    for key, fields in list(owned.fields.items()):
        if key != mine and fields & differing:
            if not force:
                raise ConflictError(
                    f'Apply failed with 1 conflict: conflict with "{key[0]}" with'
                    ' subresource "status"'
                )
            owned.fields[key] = fields - differing
    others = set().union(*(fields for key, fields in owned.fields.items() if key != mine))
    pruned = owned.fields.pop(mine, set()) - given.keys() - others
    # If the membership of an item (`.`) is pruned, the item goes, even if another manager owns its
    # value.
    whole = {path[:-1] for path in pruned if path[-1] == "."}
    after = {
        path: value
        for path, value in before.items()
        if path not in pruned and path[:-1] not in whole
    } | given
    owned.add(mine, set(given), now=now)
    owned.keep(after.keys())
    return _status(after), owned.entries()


class _Owned:
    """The managedFields of the status as sets of paths. Other entries stay as they are."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._rest = [entry for entry in entries if entry.get("subresource") != "status"]
        mine = [entry for entry in entries if entry.get("subresource") == "status"]
        self.fields = {
            (entry["manager"], entry["operation"]): set(_decoded(entry.get("fieldsV1", {})))
            for entry in mine
        }
        self._times = {(entry["manager"], entry["operation"]): entry["time"] for entry in mine}

    def add(self, key: tuple[str, str], fields: set[Path], *, now: str) -> None:
        self.fields[key] = self.fields.get(key, set()) | fields
        self._times[key] = now

    def keep(self, fields: Iterable[Path]) -> None:
        self.fields = {key: held & set(fields) for key, held in self.fields.items()}

    def entries(self) -> list[Entry]:
        return self._rest + [
            {
                "manager": manager,
                "operation": operation,
                "apiVersion": "cluster.open-cluster-management.io/v1alpha1",
                "time": self._times[manager, operation],
                "fieldsType": "FieldsV1",
                "fieldsV1": _encoded(fields),
                "subresource": "status",
            }
            for (manager, operation), fields in self.fields.items()
            if fields
        ]


def _values(status: Mapping[str, Any]) -> dict[Path, Any]:
    """Values by path; containers and items have no value."""
    found: dict[Path, Any] = {}
    if status:
        found["f:status", "."] = None
    for condition in status.get("conditions", []):
        key = f"k:{json.dumps({'type': condition['type']}, separators=(',', ':'))}"
        found[*CONDITIONS, key, "."] = None
        found |= {(*CONDITIONS, key, f"f:{field}"): value for field, value in condition.items()}
    if "scores" in status:
        found[*ITEMS, "."] = None
    for item in status.get("scores", []):
        key = f"k:{json.dumps({'name': item['name']}, separators=(',', ':'), ensure_ascii=False)}"
        found[*ITEMS, key, "."] = None
        found |= {(*ITEMS, key, f"f:{field}"): value for field, value in item.items()}
    if "validUntil" in status:
        found[UNTIL] = status["validUntil"]
    return found


def _status(values: Mapping[Path, Any]) -> dict[str, Any]:
    items: dict[str, dict[str, Any]] = {}
    for path, value in values.items():
        if path[:2] == ITEMS and len(path) == 4:
            item = items.setdefault(path[2], {})
            if path[3] != ".":
                item[path[3].removeprefix("f:")] = value
    for index, item in enumerate(items.values()):
        for field in ("name", "value"):
            if field not in item:
                raise InvalidError(f"status.scores[{index}].{field}: Required value")
        if not isinstance(item["value"], int) or not -100 <= item["value"] <= 100:
            raise InvalidError(f"status.scores[{index}].value: Invalid value: {item['value']}")
    status: dict[str, Any] = {}
    conditions: dict[str, dict[str, Any]] = {}
    for path, value in values.items():
        if path[:2] == CONDITIONS and len(path) == 4:
            condition = conditions.setdefault(path[2], {})
            if path[3] != ".":
                condition[path[3].removeprefix("f:")] = value
    if conditions:
        status["conditions"] = list(conditions.values())
    for index, condition in enumerate(conditions.values()):
        for field in ("lastTransitionTime", "message", "reason", "status", "type"):
            if field not in condition:
                raise InvalidError(f"status.conditions[{index}].{field}: Required value")
        if len(condition["message"]) > 32_768 or not CONDITION_REASON.match(condition["reason"]):
            raise InvalidError(f"status.conditions[{index}]: Invalid value")
    if items or (*ITEMS, ".") in values:
        status["scores"] = list(items.values())
    return status | ({"validUntil": values[UNTIL]} if UNTIL in values else {})


def _encoded(fields: Iterable[Path]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in sorted(fields):
        level = found
        for part in path:
            level = level.setdefault(part, {})
    return found


def _decoded(fields: Mapping[str, Any], above: Path = ()) -> Iterable[Path]:
    for part, below in fields.items():
        if below:
            yield from _decoded(below, (*above, part))
        else:
            yield (*above, part)


Object = dict[str, Any]


class RefusedError(Exception):
    """The answer is this status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def written(seen: RecordedRequest, before: Object, *, sub: str, now: float) -> Object:
    """What is stored after a request, where ``before`` was stored. Raises RefusedError."""
    stored = copy.deepcopy(before)
    match seen.method, seen.headers.get("content-type"), sub:
        case "POST", _, "":
            return _create(seen, now)
        case "PATCH", "application/apply-patch+yaml", "status":
            return _apply_status(seen, stored, now)
        case "PATCH", "application/apply-patch+yaml", "":
            return _apply(seen, stored, now)
        case "PATCH", "application/json-patch+json", "":
            return _move_ownership(seen, stored)
        case "PUT", _, "status":
            return _update_status(seen, stored, now)
    raise RefusedError(415, "unsupported")


def timestamp(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _create(seen: RecordedRequest, now: float) -> Object:
    """The status of a new object is dropped.

    Without labels there is nothing that a manager could own.
    """
    stored = {name: value for name, value in seen.json().items() if name != "status"}
    labels = stored["metadata"].get("labels", {})
    if labels:
        stored["metadata"]["managedFields"] = [
            _labels_entry(seen, labels, operation="Update", now=now)
        ]
    return stored


def _apply(seen: RecordedRequest, stored: Object, now: float) -> Object:
    metadata = stored["metadata"]
    labels = seen.json()["metadata"].get("labels", {})
    metadata.setdefault("labels", {}).update(labels)
    kept = [
        one
        for one in metadata.get("managedFields", [])
        if one.get("subresource") or one["operation"] != "Apply"
    ]
    metadata["managedFields"] = [_labels_entry(seen, labels, operation="Apply", now=now), *kept]
    return stored


def _labels_entry(
    seen: RecordedRequest, labels: Mapping[str, str], *, operation: str, now: float
) -> Object:
    fields: Object = {f"f:{name}": {} for name in sorted(labels)}
    if operation == "Update":
        fields |= {".": {}}
    return {
        "manager": _manager(seen),
        "operation": operation,
        "apiVersion": "cluster.open-cluster-management.io/v1alpha1",
        "time": timestamp(now),
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:metadata": {"f:labels": fields}},
    }


def _apply_status(seen: RecordedRequest, stored: Object, now: float) -> Object:
    wanted = seen.json()["status"]
    version = seen.json()["metadata"].get("resourceVersion")
    if version not in {None, stored["metadata"]["resourceVersion"]}:
        raise RefusedError(409, "the object has been modified")
    names = [item["name"] for item in wanted.get("scores", [])]
    if len(set(names)) != len(names):
        raise RefusedError(422, "status.scores: Duplicate value")
    try:
        stored["status"], stored["metadata"]["managedFields"] = apply(
            stored.get("status", {}),
            wanted,
            stored["metadata"].get("managedFields", []),
            manager=_manager(seen),
            now=timestamp(now),
            force=seen.query.get("force") == "true",
        )
    except ConflictError as error:
        raise RefusedError(409, str(error)) from None
    except InvalidError as error:
        raise RefusedError(422, str(error)) from None
    return stored


def _update_status(seen: RecordedRequest, stored: Object, now: float) -> Object:
    """As the upstream agent writes: read, change, replace."""
    sent = seen.json()
    if sent["metadata"].get("resourceVersion") not in {None, stored["metadata"]["resourceVersion"]}:
        raise RefusedError(409, "the object has been modified")
    status, live = sent.get("status", {}), stored.get("status", {})
    if status == live:
        return stored
    entries = sent["metadata"].get("managedFields") or stored["metadata"].get("managedFields", [])
    entries = update(live, status, entries, manager=_manager(seen), now=timestamp(now))
    if entries:
        stored["metadata"]["managedFields"] = entries
    stored["status"] = status
    return stored


def _move_ownership(seen: RecordedRequest, stored: Object) -> Object:
    """From one manager to another, the only use of JSON patches here."""
    change = {one["path"]: one["value"] for one in seen.json()}
    metadata = stored["metadata"]
    if change.pop("/metadata/resourceVersion") != metadata["resourceVersion"]:
        raise RefusedError(409, "the object has been modified")
    metadata["managedFields"] = change.pop("/metadata/managedFields")
    if change:
        raise RefusedError(415, "unsupported")
    return stored


def _manager(seen: RecordedRequest) -> str:
    """The field manager of a request.

    By default it is the program name in User-Agent, before the slash.
    """
    return (
        seen.query.get("fieldManager")
        or seen.headers.get("user-agent", "unknown").partition("/")[0]
    )
