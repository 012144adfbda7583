"""The API server of the other tests does what a real one does, request by request.

Writes and their preconditions, server-side apply, lists, pages, selectors and watches.

How scores of the upstream agent are taken over is in tests/integration/agent/test_takeover.py.
"""

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dsf_wire.constants import AGENT_MANAGER, MANAGED_BY_LABEL, SCORE_API_VERSION
from tests.hub.controlplane.api import ApiError, Client, Object, manifest
from tests.hub.controlplane.kubeconfig import ADMIN
from tests.hub.controlplane.plane import ControlPlane
from tests.support.agent.hub import UPSTREAM
from tests.support.apiserver import FakeApiServer
from tests.support.served import serving_on_wire

pytestmark = pytest.mark.family("kubernetes", "ocm")

NAMESPACE = "agent-takeover"
BASE = f"/apis/{SCORE_API_VERSION}/namespaces/{NAMESPACE}/addonplacementscores"
MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
APPLY, JSON_PATCH = "application/apply-patch+yaml", "application/json-patch+json"
MERGE = "application/merge-patch+json"
METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"

Values = Mapping[str, int]


class Server(Client):
    """Tells the status of every answer."""

    def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        manager: str = "",
        content: str = "application/json",
        accept: str = "application/json",
        **more: str,
    ) -> tuple[int, Object]:
        parameters = ({"fieldManager": manager} if manager else {}) | more
        try:
            answer = self.request(
                method, path, body=body, content_type=content, accept=accept, parameters=parameters
            )
        except ApiError as error:
            return error.code, {}
        return 200, answer

    @contextmanager
    def watch(self, path: str, **more: str) -> Iterator[Iterator[Object]]:
        """The events of a watch, as they come."""
        with self._http.stream("GET", path, params={"watch": "1", **more}) as answer:
            assert answer.status_code == 200
            yield (json.loads(line) for line in answer.iter_lines())


@pytest.fixture(scope="module")
def kubeconfig(control_plane: ControlPlane) -> Iterator[Path]:
    hub = control_plane.hub
    hub.admin.apply(manifest("v1/Namespace", NAMESPACE))
    yield hub.kubeconfig(ADMIN)
    hub.admin.delete("v1/Namespace", NAMESPACE)


def a_score(name: str, **more: Any) -> Object:
    return manifest(f"{SCORE_API_VERSION}/AddOnPlacementScore", name, namespace=NAMESPACE, **more)


def listed(values: Values) -> list[Object]:
    return [{"name": item, "value": value} for item, value in values.items()]


class Upstream:
    """Writes as the upstream agent does: a create, whose status is dropped, then read, change and
    update of the status.
    """

    def __init__(self, send: Server) -> None:
        self._send = send

    def write(self, name: str, values: Values) -> tuple[int, Object]:
        status, found = self._send("GET", f"{BASE}/{name}")
        items = listed(values)
        if status == 404:
            return self._send(
                "POST", BASE, a_score(name, status={"scores": items}), manager=UPSTREAM
            )
        changed = {**found, "status": {**found.get("status", {}), "scores": items}}
        return self._send("PUT", f"{BASE}/{name}/status", changed, manager=UPSTREAM)


def scores_of_two_agents(send: Server) -> Iterator[object]:
    """Writes of both agents. Each step yields the items on the hub after it."""
    upstream, version, name = Upstream(send), "", "contract"

    def ours(values: Values, *, until: int = 1, force: bool = False) -> tuple[int, Object]:
        status = {"scores": listed(values), "validUntil": f"2030-01-0{until}T00:00:00Z"}
        by = {"manager": AGENT_MANAGER, "content": APPLY, "force": str(force).lower()}
        return send("PATCH", f"{BASE}/{name}/status", a_score(name, status=status), **by)

    def own(entries: list[Object], *, version: str) -> int:
        change = [
            {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
            {"op": "add", "path": "/metadata/managedFields", "value": entries},
        ]
        return send("PATCH", f"{BASE}/{name}", change, manager=AGENT_MANAGER, content=JSON_PATCH)[0]

    def seen(step: str, status: int) -> object:
        nonlocal version
        found = send("GET", f"{BASE}/{name}")[1]
        before, version = version, found["metadata"]["resourceVersion"]
        entries = found["metadata"].get("managedFields", [])
        owners = sorted(
            (one["manager"], one["operation"], one.get("subresource", ""), one["fieldsV1"])
            for one in entries
        )
        scores = sorted(
            (item["name"], item["value"]) for item in found.get("status", {}).get("scores", [])
        )
        return (
            step,
            status,
            before != version,
            scores,
            found.get("status", {}).get("validUntil"),
            owners,
        )

    yield seen("an upstream agent creates it", upstream.write(name, {"a": 1, "b": 2})[0])
    yield seen("and updates the status", upstream.write(name, {"a": 1, "b": 2})[0])
    yield seen("with the same", upstream.write(name, {"a": 1, "b": 2})[0])
    yield seen("with the same in another order", upstream.write(name, {"b": 2, "a": 1})[0])
    yield seen("our apply of another value", ours({"a": 5, "n": 7})[0])
    yield seen("with force", ours({"a": 5, "n": 7}, force=True)[0])
    yield seen("without an item of which the other one owns a part", ours({"n": 7})[0])
    entries = send("GET", f"{BASE}/{name}")[1]["metadata"]["managedFields"]
    part: Object = {
        f'k:{{"name":"{item}"}}': {".": {}, "f:name": {}, "f:value": {}} for item in "abn"
    }
    mine = {
        **next(one for one in entries if one["manager"] == AGENT_MANAGER),
        "fieldsV1": {"f:status": {"f:scores": part}},
    }
    yield seen("we become the owner of an older version", own([mine], version="1"))
    yield seen("of this version", own([mine], version=version))
    yield seen("our next apply removes the rest", ours({"n": 7}, until=2)[0])
    yield seen("the other one still writes the same", upstream.write(name, {"n": 7})[0])
    yield seen("something else", upstream.write(name, {"n": 8, "m": 1})[0])
    yield seen("our apply of another value meets it", ours({"n": 9})[0])
    yield seen("our apply without the item", ours({"x": 9})[0])
    yield seen("our apply of its value beside its item", ours({"n": 8})[0])
    meta = {"labels": {MANAGED_BY_LABEL: AGENT_MANAGER}}
    labelled = a_score(name, meta=meta)
    yield seen(
        "our labels",
        send("PATCH", f"{BASE}/{name}", labelled, manager=AGENT_MANAGER, content=APPLY)[0],
    )
    created = send("POST", BASE, a_score(f"{name}-ours", meta=meta), manager=AGENT_MANAGER)[1]
    yield [
        (one["manager"], one["operation"], one["fieldsV1"])
        for one in created["metadata"]["managedFields"]
    ]


def a_map(name: str, *, meta: Mapping[str, Any] | None = None, **data: str) -> Object:
    whole = {"labels": {"story": "maps"}, **(meta or {})}
    item = manifest("v1/ConfigMap", name, namespace=NAMESPACE, meta=whole)
    return item | ({"data": data} if data else {})


def writes_with_preconditions(send: Server) -> Iterator[object]:
    """Each step yields its status and what is stored after it."""
    path, before = f"{MAPS}/one", ""

    def step(what: str, method: str, body: Any = None, *, at: str = path, **more: str) -> object:
        nonlocal before
        status = send(method, at, body, **more)[0]
        found = send("GET", path)[1]
        last, before = before, found.get("metadata", {}).get("resourceVersion", "")
        return what, status, found.get("data"), before != last

    def now(field: str) -> str:
        return str(send("GET", path)[1]["metadata"][field])

    yield step("nothing is there", "GET")
    yield step("a merge makes nothing", "PATCH", {"data": {"a": "1"}}, content=MERGE)
    yield step("a replacement makes nothing", "PUT", a_map("one", meta={"resourceVersion": "1"}))
    yield step("a creation", "POST", a_map("one", a="1"), at=MAPS)
    yield step("of what is there", "POST", a_map("one", a="2"), at=MAPS)
    old = now("resourceVersion")
    yield step(
        "a replacement of this version", "PUT", a_map("one", meta={"resourceVersion": old}, a="2")
    )
    yield step("of an older one", "PUT", a_map("one", meta={"resourceVersion": old}, a="3"))
    yield step("with the same", "PUT", a_map("one", meta={"uid": now("uid")}, a="2"))
    yield step("of another object", "PUT", a_map("one", meta={"uid": "another"}, a="3"))
    yield step("a merge", "PATCH", {"data": {"a": None, "b": "1"}}, content=MERGE)
    yield step("with the same", "PATCH", {"data": {"b": "1"}}, content=MERGE)
    for field in ("resourceVersion", "uid"):
        body = {"metadata": {field: old}, "data": {"b": "2"}}
        yield step(f"of another {field}", "PATCH", body, content=MERGE)
        yield step(f"a deletion of another {field}", "DELETE", {"preconditions": {field: old}})
        body = {"metadata": {field: now(field)}, "data": {"c": field}}
        yield step(f"a merge of this {field}", "PATCH", body, content=MERGE)
    yield step("that is tried", "DELETE", {"dryRun": ["All"]})
    both = {"preconditions": {field: now(field) for field in ("uid", "resourceVersion")}}
    yield step("a deletion of this", "DELETE", both)
    yield step("of nothing", "DELETE", both)
    applied = {"content": APPLY, "manager": "we"}
    yield step("an apply that is tried", "PATCH", a_map("one", d="1"), **applied, dryRun="All")
    yield step("an apply makes it", "PATCH", a_map("one", d="1"), **applied)
    yield step("an apply of the same", "PATCH", a_map("one", d="1"), **applied)
    yield step("of something else", "PATCH", a_map("one", d="2"), **applied)
    yield step("an unknown kind", "GET", at="/apis/example.invalid/v1/things")


def lists_and_pages(send: Server) -> Iterator[object]:
    for name, colour in (("b", "red"), ("a", "blue"), ("c", "red")):
        send(
            "POST", MAPS, a_map(name, meta={"labels": {"story": "lists", "colour": colour}}, x=name)
        )
    send("POST", MAPS, a_map("d", meta={"labels": {"story": "lists"}}))

    def answered(**query: str) -> object:
        status, found = send("GET", MAPS, **query)
        items = [(one["metadata"]["name"], one.get("data")) for one in found["items"]]
        return status, found.get("kind"), items

    for selector in ("", ",colour", ",colour=red", ",colour!=red"):
        yield answered(labelSelector=f"story=lists{selector}")
    yield answered(fieldSelector="metadata.name=b")
    yield answered(labelSelector="story=lists", fieldSelector="metadata.name!=b")
    metadata = send("GET", MAPS, labelSelector="story=lists", accept=METADATA)[1]["items"]
    yield [(one["metadata"]["name"], "data" in one) for one in metadata]
    token = ""
    for _ in range(2):
        found = send(
            "GET",
            MAPS,
            labelSelector="story=lists",
            limit="3",
            **({"continue": token} if token else {}),
        )
        token = found[1]["metadata"].get("continue", "")
        yield [one["metadata"]["name"] for one in found[1]["items"]], bool(token)


def conditions_of_scores(send: Server) -> Iterator[object]:
    """Why there are no scores: an apply replaces what our agent applied before, and its version
    keeps a request that comes late from undoing the next one.
    """
    name = "explained"
    path = f"{BASE}/{name}"

    def seen(step: str, answer: tuple[int, Object]) -> object:
        found = send("GET", path)[1]
        return step, answer[0], found.get("status")

    def apply(status: Object, *, version: str = "") -> tuple[int, Object]:
        item = a_score(name, status=status)
        if version:
            item["metadata"]["resourceVersion"] = version
        by = {"manager": AGENT_MANAGER, "content": APPLY, "force": "false"}
        return send("PATCH", f"{path}/status", item, **by)

    condition: Object = {
        "type": "Scored",
        "status": "False",
        "reason": "QueryFailed",
        "message": "parse error at char 12",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    until = {"validUntil": "2030-01-01T00:00:00Z"}
    scores: Object = {"scores": listed({"a": 1}), **until}
    created = send("POST", BASE, a_score(name), manager=AGENT_MANAGER)
    yield seen("created", created)
    first = created[1]["metadata"]["resourceVersion"]
    yield seen("a condition and no scores", apply({"conditions": [condition]}, version=first))
    yield seen("late, by the version before", apply({"conditions": []}, version=first))
    good = {**condition, "status": "True", "reason": "Scored", "message": ""}
    yield seen("scores turn it", apply({"conditions": [good], **scores}))
    version = send("GET", path)[1]["metadata"]["resourceVersion"]
    yield seen("it turns back", apply({"conditions": [condition], **scores}, version=version))
    yield seen("an older agent takes it away", apply(scores))
    yield seen("without a reason", apply({"conditions": [{**condition, "reason": ""}], **scores}))


def a_watch(send: Server) -> Iterator[object]:
    """What happens to one object, and to none beside it."""
    version = send("GET", MAPS)[1]["metadata"]["resourceVersion"]
    with send.watch(MAPS, resourceVersion=version, fieldSelector="metadata.name=seen") as events:
        send("POST", MAPS, a_map("seen", a="1"))
        send("POST", MAPS, a_map("beside", a="1"))
        send("PATCH", f"{MAPS}/seen", {"data": {"a": "2"}}, content=MERGE)
        send("DELETE", f"{MAPS}/seen")
        for event in itertools.islice(events, 3):
            item = event["object"]
            yield event["type"], item["metadata"]["name"], item["data"]


@pytest.mark.parametrize(
    "story",
    [
        scores_of_two_agents,
        conditions_of_scores,
        writes_with_preconditions,
        lists_and_pages,
        a_watch,
    ],
)
def test_it_does_what_a_real_one_does(
    kubeconfig: Path, tmp_path: Path, story: Callable[[Server], Iterator[object]]
) -> None:
    known: dict[str, list[Object]] = {
        "/api/v1/configmaps": [],
        f"/apis/{SCORE_API_VERSION}/addonplacementscores": [],
    }
    fake = FakeApiServer(serves=known, namespaces=(NAMESPACE,), live=True)
    with serving_on_wire(fake), Server(fake.kubeconfig(tmp_path / "kubeconfig")) as server:
        imitated = list(story(server))
    with Server(kubeconfig) as server:
        assert imitated == list(story(server))
