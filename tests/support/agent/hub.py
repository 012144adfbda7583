"""An API server on 127.0.0.1 with the behaviour of a real one that the agent depends on.

It has AddOnPlacementScores with a status subresource (a create or an apply of the main resource drops the
status), updates and server-side apply of /status with managed fields and conflicts, JSON patches of managed
fields, validation of values, label selectors, tables, preconditions, ConfigMaps, Secrets, bearer tokens and
its own clock.
"""

import copy
import email.utils
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.support import virtual_time
from tests.support.agent import ownership
from tests.support.agent.http import Fault, HttpFake, Reply, Seen

TOKEN = "good"
UPSTREAM = "dynamic-scoring-agent"
"""The field manager of an upstream agent, which is the name of its program."""


class HubFake:
    """A handler for HttpFake. ``before`` may answer or fail any request first."""

    def __init__(self, *, namespaces: tuple[str, ...] = ("c1",), token: str = TOKEN) -> None:
        self.namespaces = set(namespaces)
        self.token = token
        self.clock_offset = 0.0
        self.scores: dict[tuple[str, str], dict[str, Any]] = {}
        self.config_maps: dict[tuple[str, str], dict[str, str]] = {}
        self.secrets: dict[tuple[str, str], dict[str, str]] = {}
        self.before: Callable[[Seen], Reply | Fault | None] = lambda _seen: None
        self.writes: list[tuple[str, str]] = []
        """Method and path of every accepted write."""
        self._version = 0

    def now(self) -> float:
        return virtual_time.wall() + self.clock_offset

    def __call__(self, seen: Seen) -> Reply | Fault:
        answer = self.before(seen)
        if answer is None:
            answer = self._authorised(seen)
        if isinstance(answer, Fault):
            return answer
        return Reply(
            status=answer.status,
            body=answer.body,
            headers={"Date": email.utils.formatdate(self.now(), usegmt=True), **answer.headers},
        )

    def _authorised(self, seen: Seen) -> Reply:
        if self.token and seen.headers.get("authorization") != f"Bearer {self.token}":
            return failure(401, "Unauthorized")
        parts = seen.path.strip("/").split("/")
        if parts[:2] == ["api", "v1"]:
            return self._core(parts)
        if (
            parts[:3] == ["apis", "cluster.open-cluster-management.io", "v1alpha1"]
            and parts[5] == "addonplacementscores"
        ):
            return self._score(
                seen,
                namespace=parts[4],
                name=parts[6] if len(parts) > 6 else "",
                sub=parts[7] if len(parts) > 7 else "",
            )
        return failure(404, f"the server could not find {seen.path}")

    def _core(self, parts: list[str]) -> Reply:
        _, _, _, namespace, kind, name = parts
        found = {"configmaps": self.config_maps, "secrets": self.secrets}[kind].get((namespace, name))
        if found is None:
            return failure(404, f'{kind} "{name}" not found')
        return Reply.of({"metadata": {"name": name}, "data": found})

    def _score(self, seen: Seen, *, namespace: str, name: str, sub: str) -> Reply:
        key = (namespace, name)
        if seen.method == "GET" and not name:
            wanted = [item for item in seen.query.get("labelSelector", "").split(",") if item]
            items = [
                one
                for (where, _), one in sorted(self.scores.items())
                if where == namespace and _labelled(one, wanted)
            ]
            if "as=Table" in seen.headers.get("accept", ""):
                return Reply.of(
                    {
                        "kind": "Table",
                        "rows": [
                            {"cells": [one["metadata"]["name"], "2026-01-01T00:00:00Z"]} for one in items
                        ],
                    }
                )
            return Reply.of({"kind": "AddOnPlacementScoreList", "items": items})
        if seen.method == "GET":
            return Reply.of(self.scores[key]) if key in self.scores else _missing(name)
        if seen.method == "POST":
            return self._create(namespace, seen)
        if key not in self.scores:
            return _missing(name)
        match seen.method, seen.headers.get("content-type"), sub:
            case "PATCH", "application/apply-patch+yaml", "status":
                return self._apply_status(key, seen)
            case "PATCH", "application/apply-patch+yaml", "":
                return self._apply(key, seen)
            case "PATCH", "application/json-patch+json", "":
                return self._patch(key, seen)
            case "PATCH", "application/merge-patch+json", "":
                return self._merge_labels(key, seen)
            case "PUT", _, "status":
                return self._update_status(key, seen)
            case "DELETE", _, "":
                return self._delete(key, seen)
        return failure(415, "unsupported")

    def _create(self, namespace: str, seen: Seen) -> Reply:
        plain = seen.json()
        if namespace not in self.namespaces:
            return failure(404, f'namespaces "{namespace}" not found')
        key = (namespace, plain["metadata"]["name"])
        if key in self.scores:
            return failure(409, "already exists")
        stored = {name: value for name, value in plain.items() if name != "status"}
        labels = stored["metadata"].get("labels", {})
        if labels:
            # An object without labels has nothing that a manager could own.
            stored["metadata"]["managedFields"] = [self._labels_entry(seen, labels, operation="Update")]
        self.scores[key] = stored
        return self._written("POST", key, status=201)

    def _apply(self, key: tuple[str, str], seen: Seen) -> Reply:
        metadata = self.scores[key]["metadata"]
        labels = seen.json()["metadata"].get("labels", {})
        metadata.setdefault("labels", {}).update(labels)
        entry = self._labels_entry(seen, labels, operation="Apply")
        kept = [
            one
            for one in metadata.get("managedFields", [])
            if one.get("subresource") or one["operation"] != "Apply"
        ]
        metadata["managedFields"] = [entry, *kept]
        return self._written("PATCH", key)

    def _labels_entry(self, seen: Seen, labels: Mapping[str, str], *, operation: str) -> dict[str, Any]:
        fields: dict[str, Any] = {f"f:{name}": {} for name in sorted(labels)} | (
            {".": {}} if operation == "Update" else {}
        )
        return {
            "manager": _manager(seen),
            "operation": operation,
            "apiVersion": "cluster.open-cluster-management.io/v1alpha1",
            "time": timestamp(self.now()),
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": {"f:labels": fields}},
        }

    def _apply_status(self, key: tuple[str, str], seen: Seen) -> Reply:
        stored, wanted = self.scores[key], seen.json()["status"]
        names = [item["name"] for item in wanted["scores"]]
        if len(set(names)) != len(names):
            return failure(422, "status.scores: Duplicate value")
        try:
            stored["status"], stored["metadata"]["managedFields"] = ownership.apply(
                stored.get("status", {}),
                wanted,
                stored["metadata"].get("managedFields", []),
                manager=_manager(seen),
                now=timestamp(self.now()),
                force=seen.query.get("force") == "true",
            )
        except ownership.ConflictError as error:
            return failure(409, str(error))
        except ownership.InvalidError as error:
            return failure(422, str(error))
        return self._written("PATCH", key, sub="/status")

    def _update_status(self, key: tuple[str, str], seen: Seen) -> Reply:
        """Writes as the upstream agent does: read, change, replace."""
        stored, sent = self.scores[key], seen.json()
        if sent["metadata"].get("resourceVersion") not in {None, stored["metadata"]["resourceVersion"]}:
            return failure(409, "the object has been modified")
        status, live = sent.get("status", {}), stored.get("status", {})
        if status == live:
            return Reply.of(stored)
        entries = sent["metadata"].get("managedFields") or stored["metadata"].get("managedFields", [])
        entries = ownership.update(live, status, entries, manager=_manager(seen), now=timestamp(self.now()))
        if entries:
            stored["metadata"]["managedFields"] = entries
        stored["status"] = status
        return self._written("PUT", key, sub="/status")

    def _patch(self, key: tuple[str, str], seen: Seen) -> Reply:
        """Moves ownership from one manager to another, the only use of JSON patches here."""
        change = {one["path"]: one["value"] for one in seen.json()}
        metadata = self.scores[key]["metadata"]
        if change.pop("/metadata/resourceVersion") != metadata["resourceVersion"]:
            return failure(409, "the object has been modified")
        metadata["managedFields"] = change.pop("/metadata/managedFields")
        return self._written("PATCH", key) if not change else failure(415, "unsupported")

    def _merge_labels(self, key: tuple[str, str], seen: Seen) -> Reply:
        labels = self.scores[key]["metadata"].setdefault("labels", {})
        for name, value in seen.json()["metadata"]["labels"].items():
            labels.pop(name, None)
            if value is not None:
                labels[name] = value
        return self._written("PATCH", key)

    def _delete(self, key: tuple[str, str], seen: Seen) -> Reply:
        expected = seen.json().get("preconditions", {}).get("resourceVersion")
        if expected != self.scores[key]["metadata"]["resourceVersion"]:
            return failure(409, "the object has been modified")
        del self.scores[key]
        self.writes.append(("DELETE", f"{key[0]}/{key[1]}"))
        return Reply.of({"kind": "Status", "status": "Success"})

    def _written(self, method: str, key: tuple[str, str], *, status: int = 200, sub: str = "") -> Reply:
        self._version += 1
        self.scores[key]["metadata"]["resourceVersion"] = str(self._version)
        self.writes.append((method, f"{key[0]}/{key[1]}{sub}"))
        return Reply.of(self.scores[key], status=status)

    def upstream_writes(self, name: str, values: Mapping[str, int], *, namespace: str = "c1") -> None:
        """Writes as the upstream agent does: a create, whose status the API server drops, then updates of the
        status.
        """
        plain: dict[str, Any] = {"metadata": {"name": name, "namespace": namespace}}
        base = (
            f"/apis/cluster.open-cluster-management.io/v1alpha1/namespaces/{namespace}/addonplacementscores"
        )
        headers = {"user-agent": f"{UPSTREAM}/v0.0.0 (linux/amd64)", "content-type": "application/json"}

        def send(method: str, target: str, plain: dict[str, Any]) -> Reply:
            seen = Seen(
                method=method, target=target, headers=headers, body=json.dumps(plain).encode(), at=self.now()
            )
            there = name if method == "PUT" else ""
            return self._score(seen, namespace=namespace, name=there, sub="status" if there else "")

        if (namespace, name) not in self.scores:
            send("POST", base, plain)
        plain = copy.deepcopy(self.scores[namespace, name])
        plain.setdefault("status", {})["scores"] = [
            {"name": item, "value": value} for item, value in values.items()
        ]
        reply = send("PUT", f"{base}/{name}/status", plain)
        assert reply.status == 200, reply.body

    def values(self, name: str, *, namespace: str = "c1") -> dict[str, int]:
        """The items on the hub."""
        status = self.scores.get((namespace, name), {}).get("status") or {}
        return {item["name"]: item["value"] for item in status.get("scores", [])}


def _manager(seen: Seen) -> str:
    """The field manager of a request. By default it is the program name in User-Agent, before the slash."""
    return seen.query.get("fieldManager") or seen.headers.get("user-agent", "unknown").partition("/")[0]


def timestamp(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def failure(status: int, message: str) -> Reply:
    return Reply.of(
        {"kind": "Status", "status": "Failure", "message": message, "code": status}, status=status
    )


def _missing(name: str) -> Reply:
    return failure(404, f'addonplacementscores.cluster.open-cluster-management.io "{name}" not found')


def _labelled(plain: Mapping[str, Any], wanted: Sequence[str]) -> bool:
    """Whether labels fulfil requirements such as ``a=b`` and ``a!=b``."""
    labels = plain["metadata"].get("labels", {})
    for requirement in wanted:
        name, _, value = requirement.partition("=")
        if name.endswith("!"):
            if labels.get(name[:-1]) == value:
                return False
        elif labels.get(name) != value:
            return False
    return True


def kubeconfig(path: Path, *, server: str, token: str = TOKEN, **cluster: Any) -> Path:
    """A kubeconfig file with a token."""
    plain = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "hub",
        "clusters": [{"name": "hub", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "agent", "user": {"token": token} if token else {}}],
        "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "agent"}}],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(plain))
    return path


__all__ = ["HttpFake", "HubFake", "failure", "kubeconfig", "timestamp"]
