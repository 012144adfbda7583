"""An API server on 127.0.0.1 that behaves as a real one where the agent depends on it.

AddOnPlacementScores with a status subresource (a create or an apply of the main resource drops the status), server-side apply of
/status with managed fields and conflicts, validation of values, label selectors, delete preconditions, ConfigMaps, Secrets, bearer
tokens, a clock of its own.
"""

import email.utils
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.support.agent.http import Fault, HttpFake, Reply, Seen

TOKEN = "good"


class HubFake:
    """The handler of an HttpFake. ``before`` may answer, or break, any request first."""

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
        return time.time() + self.clock_offset

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
        if parts[:3] == ["apis", "cluster.open-cluster-management.io", "v1alpha1"] and parts[5] == "addonplacementscores":
            return self._score(seen, namespace=parts[4], name=parts[6] if len(parts) > 6 else "", sub=parts[7] if len(parts) > 7 else "")
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
            wanted = dict(item.split("=") for item in seen.query.get("labelSelector", "").split(",") if item)
            items = [one for (where, _), one in sorted(self.scores.items()) if where == namespace and _labelled(one, wanted)]
            return Reply.of({"kind": "AddOnPlacementScoreList", "items": items})
        if seen.method == "GET":
            return Reply.of(self.scores[key]) if key in self.scores else _missing(name)
        if seen.method == "POST":
            return self._create(namespace, seen.json())
        if seen.method == "PATCH" and seen.headers["content-type"] == "application/apply-patch+yaml":
            return self._apply_status(key, seen) if sub == "status" else self._apply(key, seen)
        if seen.method == "DELETE":
            return self._delete(key, seen)
        return failure(415, "unsupported")

    def _create(self, namespace: str, plain: dict[str, Any]) -> Reply:
        if namespace not in self.namespaces:
            return failure(404, f'namespaces "{namespace}" not found')
        key = (namespace, plain["metadata"]["name"])
        if key in self.scores:
            return failure(409, "already exists")
        stored = {name: value for name, value in plain.items() if name != "status"}
        self.scores[key] = stored
        return self._written("POST", key, status=201)

    def _apply(self, key: tuple[str, str], seen: Seen) -> Reply:
        if key not in self.scores:
            return self._create(key[0], seen.json())
        labels = seen.json()["metadata"].get("labels", {})
        self.scores[key]["metadata"].setdefault("labels", {}).update(labels)
        return self._written("PATCH", key)

    def _apply_status(self, key: tuple[str, str], seen: Seen) -> Reply:
        if key not in self.scores:
            return _missing(key[1])
        stored, body = self.scores[key], seen.json()
        manager = seen.query["fieldManager"]
        owners = [one["manager"] for one in stored["metadata"].get("managedFields", []) if one["manager"] != manager]
        if owners and seen.query.get("force") != "true" and stored.get("status"):
            return failure(409, f'Apply failed with 1 conflict: conflict with "{owners[0]}": .status.scores')
        for item in body["status"]["scores"]:
            if not isinstance(item["value"], int) or not -100 <= item["value"] <= 100:
                return failure(422, f"status.scores: Invalid value: {item['value']}")
        names = [item["name"] for item in body["status"]["scores"]]
        if len(set(names)) != len(names):
            return failure(422, "status.scores: Duplicate value")
        stored["status"] = body["status"]
        mine = {"manager": manager, "operation": "Apply", "subresource": "status", "time": timestamp(self.now())}
        kept = (
            []
            if seen.query.get("force") == "true"
            else [one for one in stored["metadata"].get("managedFields", []) if one["manager"] != manager]
        )
        stored["metadata"]["managedFields"] = [*kept, mine]
        return self._written("PATCH", key, sub="/status")

    def _delete(self, key: tuple[str, str], seen: Seen) -> Reply:
        if key not in self.scores:
            return _missing(key[1])
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

    def values(self, name: str, *, namespace: str = "c1") -> dict[str, int]:
        """What a reader of the hub sees."""
        status = self.scores.get((namespace, name), {}).get("status") or {}
        return {item["name"]: item["value"] for item in status.get("scores", [])}


def timestamp(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def failure(status: int, message: str) -> Reply:
    return Reply.of({"kind": "Status", "status": "Failure", "message": message, "code": status}, status=status)


def _missing(name: str) -> Reply:
    return failure(404, f'addonplacementscores.cluster.open-cluster-management.io "{name}" not found')


def _labelled(plain: Mapping[str, Any], wanted: Mapping[str, str]) -> bool:
    labels = plain["metadata"].get("labels", {})
    return all(labels.get(name) == value for name, value in wanted.items())


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


def hub_flags(folder: Path, *, config_dir: Path, server: HttpFake) -> list[str | Path]:
    """Flags of an agent that publishes to this hub, with waits that suit a test."""
    config = kubeconfig(folder / "kubeconfig", server=server.url)
    waits = ["--prune-delay", "0.2", "--hub-timeout", "10", "--suspension-poll", "1"]
    return ["--config-dir", config_dir, "--hub-kubeconfig", config, *waits]


__all__ = ["HttpFake", "HubFake", "failure", "hub_flags", "kubeconfig", "timestamp"]
