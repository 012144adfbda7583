"""Writes of AddOnPlacementScores, which have a status subresource and managed fields: what is stored.

tests/hub/test_api_server.py compares it with a real one.
"""

import copy
import time
from collections.abc import Mapping
from typing import Any

from tests.support.agent import ownership
from tests.support.agent.http import Seen

Object = dict[str, Any]


class RefusedError(Exception):
    """The answer is this status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def written(seen: Seen, before: Object, *, sub: str, now: float) -> Object:
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


def _create(seen: Seen, now: float) -> Object:
    """The status of a new object is dropped. Without labels there is nothing that a manager could own."""
    stored = {name: value for name, value in seen.json().items() if name != "status"}
    labels = stored["metadata"].get("labels", {})
    if labels:
        stored["metadata"]["managedFields"] = [_labels_entry(seen, labels, operation="Update", now=now)]
    return stored


def _apply(seen: Seen, stored: Object, now: float) -> Object:
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


def _labels_entry(seen: Seen, labels: Mapping[str, str], *, operation: str, now: float) -> Object:
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


def _apply_status(seen: Seen, stored: Object, now: float) -> Object:
    wanted = seen.json()["status"]
    names = [item["name"] for item in wanted["scores"]]
    if len(set(names)) != len(names):
        raise RefusedError(422, "status.scores: Duplicate value")
    try:
        stored["status"], stored["metadata"]["managedFields"] = ownership.apply(
            stored.get("status", {}),
            wanted,
            stored["metadata"].get("managedFields", []),
            manager=_manager(seen),
            now=timestamp(now),
            force=seen.query.get("force") == "true",
        )
    except ownership.ConflictError as error:
        raise RefusedError(409, str(error)) from None
    except ownership.InvalidError as error:
        raise RefusedError(422, str(error)) from None
    return stored


def _update_status(seen: Seen, stored: Object, now: float) -> Object:
    """As the upstream agent writes: read, change, replace."""
    sent = seen.json()
    if sent["metadata"].get("resourceVersion") not in {None, stored["metadata"]["resourceVersion"]}:
        raise RefusedError(409, "the object has been modified")
    status, live = sent.get("status", {}), stored.get("status", {})
    if status == live:
        return stored
    entries = sent["metadata"].get("managedFields") or stored["metadata"].get("managedFields", [])
    entries = ownership.update(live, status, entries, manager=_manager(seen), now=timestamp(now))
    if entries:
        stored["metadata"]["managedFields"] = entries
    stored["status"] = status
    return stored


def _move_ownership(seen: Seen, stored: Object) -> Object:
    """From one manager to another, the only use of JSON patches here."""
    change = {one["path"]: one["value"] for one in seen.json()}
    metadata = stored["metadata"]
    if change.pop("/metadata/resourceVersion") != metadata["resourceVersion"]:
        raise RefusedError(409, "the object has been modified")
    metadata["managedFields"] = change.pop("/metadata/managedFields")
    if change:
        raise RefusedError(415, "unsupported")
    return stored


def _manager(seen: Seen) -> str:
    """The field manager of a request. By default it is the program name in User-Agent, before the slash."""
    return seen.query.get("fieldManager") or seen.headers.get("user-agent", "unknown").partition("/")[0]
