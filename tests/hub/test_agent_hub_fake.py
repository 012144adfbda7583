"""Writes of two agents on a real API server: the fake hub of the agent's tests does what the real one does.

How scores of the upstream agent are taken over is in tests/integration/agent/test_takeover.py.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from dsf_wire.constants import AGENT_MANAGER, MANAGED_BY_LABEL, SCORE_API_VERSION
from tests.hub.controlplane.api import ApiError, Client, Object
from tests.hub.controlplane.kubeconfig import ADMIN
from tests.hub.controlplane.plane import ControlPlane
from tests.support.agent.http import Reply, Seen
from tests.support.agent.hub import UPSTREAM, HubFake

pytestmark = pytest.mark.family("kubernetes", "ocm")

NAMESPACE = "agent-takeover"
BASE = f"/apis/{SCORE_API_VERSION}/namespaces/{NAMESPACE}/addonplacementscores"
APPLY, JSON_PATCH = "application/apply-patch+yaml", "application/json-patch+json"

Values = Mapping[str, int]
Send = Callable[..., tuple[int, Object]]


@pytest.fixture(scope="module")
def kubeconfig(control_plane: ControlPlane) -> Iterator[Path]:
    hub = control_plane.hub
    hub.admin.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    yield hub.kubeconfig(ADMIN)
    hub.admin.delete("v1/Namespace", NAMESPACE)


class Upstream:
    """Writes as the upstream agent does: a create, whose status is dropped, then read, change and update
    of the status.
    """

    def __init__(self, send: Send) -> None:
        self._send = send

    def write(self, name: str, values: Values) -> tuple[int, Object]:
        status, found = self._send("GET", f"{BASE}/{name}")
        items = [{"name": item, "value": value} for item, value in values.items()]
        if status == 404:
            body = {
                "apiVersion": SCORE_API_VERSION,
                "kind": "AddOnPlacementScore",
                "metadata": {"name": name, "namespace": NAMESPACE},
            }
            return self._send("POST", BASE, {**body, "status": {"scores": items}}, manager=UPSTREAM)
        changed = {**found, "status": {**found.get("status", {}), "scores": items}}
        return self._send("PUT", f"{BASE}/{name}/status", changed, manager=UPSTREAM)


def real(client: Client) -> Send:
    def send(
        method: str,
        path: str,
        body: Any = None,
        *,
        manager: str = "",
        content: str = "application/json",
        **more: str,
    ) -> tuple[int, Object]:
        parameters = ({"fieldManager": manager} if manager else {}) | more
        try:
            return 200, client.request(method, path, body=body, content_type=content, parameters=parameters)
        except ApiError as error:
            return error.code, {}

    return send


def faked(hub: HubFake) -> Send:
    def send(
        method: str,
        path: str,
        body: Any = None,
        *,
        manager: str = "",
        content: str = "application/json",
        **more: str,
    ) -> tuple[int, Object]:
        target = f"{path}?{urlencode(({'fieldManager': manager} if manager else {}) | more)}"
        headers = {"authorization": f"Bearer {hub.token}", "content-type": content}
        reply = hub(
            Seen(
                method=method, target=target, headers=headers, body=json.dumps(body).encode(), at=time.time()
            )
        )
        assert isinstance(reply, Reply)
        return (200 if reply.status < 300 else reply.status), json.loads(reply.body)

    return send


def story(send: Send, name: str) -> Iterator[object]:
    """Writes of both agents. Each step yields the items on the hub after it."""
    upstream, version = Upstream(send), ""

    def ours(values: Values, *, until: int = 1, force: bool = False) -> tuple[int, Object]:
        items = [{"name": item, "value": value} for item, value in values.items()]
        body = {
            "apiVersion": SCORE_API_VERSION,
            "kind": "AddOnPlacementScore",
            "metadata": {"name": name, "namespace": NAMESPACE},
        }
        body["status"] = {"scores": items, "validUntil": f"2030-01-0{until}T00:00:00Z"}
        return send(
            "PATCH",
            f"{BASE}/{name}/status",
            body,
            manager=AGENT_MANAGER,
            content=APPLY,
            force=str(force).lower(),
        )

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
            (one["manager"], one["operation"], one.get("subresource", ""), one["fieldsV1"]) for one in entries
        )
        scores = sorted((item["name"], item["value"]) for item in found.get("status", {}).get("scores", []))
        return step, status, before != version, scores, found.get("status", {}).get("validUntil"), owners

    yield seen("an upstream agent creates it", upstream.write(name, {"a": 1, "b": 2})[0])
    yield seen("and updates the status", upstream.write(name, {"a": 1, "b": 2})[0])
    yield seen("with the same", upstream.write(name, {"a": 1, "b": 2})[0])
    yield seen("with the same in another order", upstream.write(name, {"b": 2, "a": 1})[0])
    yield seen("our apply of another value", ours({"a": 5, "n": 7})[0])
    yield seen("with force", ours({"a": 5, "n": 7}, force=True)[0])
    yield seen("without an item of which the other one owns a part", ours({"n": 7})[0])
    entries = send("GET", f"{BASE}/{name}")[1]["metadata"]["managedFields"]
    part: Object = {f'k:{{"name":"{item}"}}': {".": {}, "f:name": {}, "f:value": {}} for item in "abn"}
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
    label = {MANAGED_BY_LABEL: AGENT_MANAGER}
    body = {"apiVersion": SCORE_API_VERSION, "kind": "AddOnPlacementScore"}
    meta = {"name": name, "namespace": NAMESPACE, "labels": label}
    yield seen(
        "our labels",
        send("PATCH", f"{BASE}/{name}", {**body, "metadata": meta}, manager=AGENT_MANAGER, content=APPLY)[0],
    )
    other = {"name": f"{name}-ours", "namespace": NAMESPACE, "labels": label}
    created = send("POST", BASE, {**body, "metadata": other}, manager=AGENT_MANAGER)[1]
    yield [
        (one["manager"], one["operation"], one["fieldsV1"]) for one in created["metadata"]["managedFields"]
    ]


def test_the_fake_hub_does_what_a_real_one_does(kubeconfig: Path) -> None:
    with Client(kubeconfig) as client:
        for truth, imitation in zip(
            story(real(client), "contract"),
            story(faked(HubFake(namespaces=(NAMESPACE,))), "contract"),
            strict=True,
        ):
            assert imitation == truth
