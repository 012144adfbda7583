"""What the world's API server adds to that of the other tests is what a real one does.

Watches that continue from a version, versions that are too old or too new, finalizers, and a
namespace that is terminating.
"""

import json
import random
from collections.abc import Callable, Iterator
from typing import Any, Protocol, cast
from urllib.parse import urlencode

import pytest

from tests.hub.controlplane.api import ApiError, Client, Object, manifest
from tests.hub.controlplane.waiting import wait_for, wait_until_gone
from tests.hub.scenario.sides import Modelled
from tests.support.agent.http import RecordedRequest, SentReply
from tests.world.apiserver import TOKEN, WorldApiServer
from tests.world.loop import world_loop
from tests.world.network import Incoming, OpenWatch

pytestmark = pytest.mark.family("kubernetes")

NAMESPACE, GOING = "world-apiserver", "world-apiserver-going"
MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
SCORES = (
    f"/apis/cluster.open-cluster-management.io/v1alpha1/namespaces/{NAMESPACE}/addonplacementscores"
)
APPLY, MERGE = "application/apply-patch+yaml", "application/merge-patch+json"
FINALIZER = "example.com/keeps"
SEQUENCES = 20
Event = tuple[str, Object]


class Sender(Protocol):
    """Sends a request: its status, and what was answered."""

    def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content: str = "application/json",
        **query: str,
    ) -> tuple[int, Object]: ...

    def events(
        self, path: str, *, since: str, until: Callable[[Event], bool], seconds: int = 60
    ) -> list[Event]:
        """What a watch tells, up to an event, or until it ends after these seconds."""
        ...


class Real(Client):
    def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content: str = "application/json",
        **query: str,
    ) -> tuple[int, Object]:
        parameters = query | ({"fieldManager": "we"} if content == APPLY else {})
        try:
            answer = self.request(
                method, path, body=body, content_type=content, parameters=parameters
            )
        except ApiError as error:
            return error.code, {}
        return 200, answer

    def events(
        self, path: str, *, since: str, until: Callable[[Event], bool], seconds: int = 60
    ) -> list[Event]:
        found: list[Event] = []
        parameters = {"watch": "1", "resourceVersion": since, "timeoutSeconds": str(seconds)}
        with self._http.stream("GET", path, params=parameters) as answer:
            assert answer.status_code == 200
            for line in answer.iter_lines():
                event = json.loads(line)
                found.append((event["type"], event["object"]))
                if until(found[-1]):
                    break
        return found


class _Received:
    """The client's end of a watch."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def arrive(self, line: bytes | None, *, broken: bool = False) -> None:
        assert not broken
        if line is not None:
            event = json.loads(line)
            self.events.append((event["type"], event["object"]))


class InWorld:
    def __init__(self, modelled: Modelled) -> None:
        self._modelled = modelled

    def _answered(
        self, method: str, path: str, body: Any, content: str, query: dict[str, str]
    ) -> Any:
        headers = {"authorization": f"Bearer {TOKEN}", "content-type": content}
        target = f"{path}?{urlencode(query)}" if query else path
        sent = b"" if body is None else json.dumps(body).encode()
        hub: WorldApiServer = self._modelled.hub
        return hub.answered(
            RecordedRequest(
                method=method, target=target, headers=headers, body=sent, at=world_loop().time()
            )
        )

    def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content: str = "application/json",
        **query: str,
    ) -> tuple[int, Object]:
        answer = self._modelled.during(lambda: self._answered(method, path, body, content, query))
        assert isinstance(answer, SentReply)
        good = answer.status < 300
        return (200, json.loads(answer.body)) if good else (answer.status, {})

    def events(
        self, path: str, *, since: str, until: Callable[[Event], bool], seconds: int = 60
    ) -> list[Event]:
        received = _Received()

        def begin() -> None:
            watch = self._answered("GET", path, None, "", {"watch": "1", "resourceVersion": since})
            assert isinstance(watch, OpenWatch)
            watch.read_by(cast("Incoming", received))

        # A bookmark would come after a minute.
        self._modelled.during(begin, min(seconds, 30.0))
        ends = (number for number, event in enumerate(received.events, 1) if until(event))
        return received.events[: next(ends, None)]


def a_map(
    name: str, *, namespace: str = NAMESPACE, finalizers: list[str] | None = None, **data: str
) -> Object:
    meta: Object = {"finalizers": finalizers} if finalizers else {}
    return manifest("v1/ConfigMap", name, namespace=namespace, meta=meta, data=data)


def said(item: Object) -> Object:
    """What is compared of an object."""
    metadata = item.get("metadata", {})
    return {
        "name": metadata.get("name"),
        "data": item.get("data") or {},
        "finalizers": metadata.get("finalizers") or [],
        "going": "deletionTimestamp" in metadata,
    }


class Drawn:
    """A sequence of requests, which the seed draws, and watches from every version that it saw."""

    def __init__(self, number: int) -> None:
        self.random = random.Random(f"{number} requests")
        self.names = [f"seq-{number:02}-{letter}" for letter in "abc"]
        self.last = f"seq-{number:02}-last"

    def play(self, send: Sender) -> Iterator[object]:
        versions = [send("GET", MAPS)[1]["metadata"]["resourceVersion"]]
        for _ in range(14):
            yield self.request(send)
            if self.random.random() < 0.3:
                versions.append(send("GET", MAPS)[1]["metadata"]["resourceVersion"])
        yield [
            said(item)
            for item in send("GET", MAPS)[1]["items"]
            if item["metadata"]["name"] in self.names
        ]
        assert send("POST", MAPS, a_map(self.last))[0] == 200
        for since in versions:
            events = send.events(
                MAPS, since=since, until=lambda event: event[1]["metadata"]["name"] == self.last
            )
            ours = [event for event in events if event[1]["metadata"]["name"] in self.names]
            numbers = [int(item["metadata"]["resourceVersion"]) for _, item in ours]
            yield [(kind, said(item)) for kind, item in ours], numbers == sorted(set(numbers))
        [first, *_] = self.names
        one = send.events(
            MAPS, since=versions[0], until=lambda event: event[1]["metadata"]["name"] == self.last
        )
        yield [kind for kind, item in one if item["metadata"]["name"] == first]

    def request(self, send: Sender) -> object:
        name = self.random.choice(self.names)
        path, value = f"{MAPS}/{name}", str(self.random.randint(0, 9))
        finalizers = self.random.choice([None, None, [FINALIZER]])
        kind = self.random.choice(
            ["create", "create", "replace", "merge", "apply", "delete", "delete", "free", "keep"]
        )
        match kind:
            case "create":
                answer = send("POST", MAPS, a_map(name, finalizers=finalizers, a=value))
            case "replace":
                answer = send("PUT", path, a_map(name, finalizers=finalizers, a=value))
            case "merge":
                answer = send("PATCH", path, {"data": {"b": value}}, content=MERGE)
            case "apply":
                answer = send("PATCH", path, a_map(name, c=value), content=APPLY)
            case "delete":
                answer = send("DELETE", path)
            case "free":
                answer = send("PATCH", path, {"metadata": {"finalizers": None}}, content=MERGE)
            case _:
                answer = send(
                    "PATCH", path, {"metadata": {"finalizers": [FINALIZER]}}, content=MERGE
                )
        status, item = send("GET", path)
        return kind, name, answer[0], status, said(item) if status == 200 else None


def too_old_and_too_new(send: Sender) -> Iterator[object]:
    """A watch from a version before all that is known of this kind, whose CRD came later, and from
    one that nobody has written yet.
    """
    [(kind, status)] = send.events(SCORES, since="1", until=lambda event: event[0] == "ERROR")
    yield kind, status["kind"], status["code"], status["reason"], status["status"]
    yield send.events(SCORES, since=str(10**9), until=lambda _: True, seconds=1)


def finalizers(send: Sender) -> Iterator[object]:
    """An object that is deleted stays until nobody keeps it."""
    path = f"{MAPS}/kept"

    def step(what: str, method: str, body: Any = None, *, at: str = path, **more: str) -> object:
        status, answer = send(method, at, body, **more)
        found = send("GET", path)
        return (
            what,
            status,
            answer.get("kind"),
            found[0],
            said(found[1]) if found[0] == 200 else None,
        )

    def stamp() -> str:
        return str(send("GET", path)[1]["metadata"]["deletionTimestamp"])

    other = {"metadata": {"finalizers": [FINALIZER, "example.com/too"]}}
    yield step(
        "an object with a finalizer", "POST", a_map("kept", finalizers=[FINALIZER], a="1"), at=MAPS
    )
    yield step("is deleted", "DELETE")
    first = stamp()
    yield step("and again", "DELETE")
    yield stamp() == first
    yield step("of its name there is none beside it", "POST", a_map("kept"), at=MAPS)
    yield step("it can be changed", "PATCH", {"data": {"a": "2"}}, content=MERGE)
    yield step("nobody gives it another finalizer", "PATCH", other, content=MERGE)
    yield step(
        "nor takes the time of its deletion away",
        "PATCH",
        {"metadata": {"deletionTimestamp": None}},
        content=MERGE,
    )
    yield stamp() == first
    yield step("a replacement without it", "PUT", a_map("kept", a="3"))
    yield step("and there is room for a new one", "POST", a_map("kept", a="4"), at=MAPS)
    yield step("without a finalizer it goes at once", "DELETE")


@pytest.fixture
def modelled() -> Iterator[Modelled]:
    modelled = Modelled()
    yield modelled
    modelled.close()


@pytest.fixture(scope="module")
def real(control_plane: Any, hub: Client) -> Iterator[Real]:
    hub.apply(manifest("v1/Namespace", NAMESPACE))
    with Real(control_plane.hub.kubeconfig()) as client:
        yield client
    for item in hub.list("v1/ConfigMap", namespace=NAMESPACE):
        hub.patch(
            "v1/ConfigMap",
            item["metadata"]["name"],
            {"metadata": {"finalizers": None}},
            namespace=NAMESPACE,
        )
    hub.delete("v1/Namespace", NAMESPACE)


@pytest.mark.parametrize("number", range(SEQUENCES))
def test_sequences_of_requests(real: Real, modelled: Modelled, number: int) -> None:
    assert list(Drawn(number).play(InWorld(modelled))) == list(Drawn(number).play(real))


OF_OCM = pytest.mark.family("ocm")


@pytest.mark.parametrize("story", [pytest.param(too_old_and_too_new, marks=OF_OCM), finalizers])
def test_stories(
    real: Real, modelled: Modelled, story: Callable[[Sender], Iterator[object]]
) -> None:
    assert list(story(InWorld(modelled))) == list(story(real))


def test_a_namespace_that_is_terminating_takes_nothing_new(
    real: Real, modelled: Modelled, hub: Client
) -> None:
    maps = f"/api/v1/namespaces/{GOING}/configmaps"

    def story(send: Sender, terminate: Callable[[], None]) -> Iterator[object]:
        for name in ("kept", "gone"):
            kept = a_map(name, namespace=GOING, finalizers=[FINALIZER])
            yield send("POST", maps, kept)[0]
        terminate()
        new = a_map("new", namespace=GOING, a="1")
        yield "create", send("POST", maps, new)[0]
        yield "a trial", send("POST", maps, new, dryRun="All")[0]
        yield "apply", send("PATCH", f"{maps}/new", new, content=APPLY)[0]
        yield "replace what is not there", send("PUT", f"{maps}/new", new)[0]
        yield "create what is there", send("POST", maps, a_map("kept", namespace=GOING))[0]
        yield "merge", send("PATCH", f"{maps}/kept", {"data": {"a": "1"}}, content=MERGE)[0]
        applied = a_map("kept", namespace=GOING, b="1")
        yield "apply to what is there", send("PATCH", f"{maps}/kept", applied, content=APPLY)[0]
        yield "delete", send("DELETE", f"{maps}/gone")[0]
        free = {"metadata": {"finalizers": None}}
        yield "free", send("PATCH", f"{maps}/gone", free, content=MERGE)[0]
        yield "get", send("GET", f"{maps}/gone")[0]

    hub.apply(manifest("v1/Namespace", GOING))

    def terminate() -> None:
        hub.delete("v1/Namespace", GOING)
        wait_for(
            lambda: hub.get("v1/Namespace", GOING)["status"]["phase"] == "Terminating",
            what=f"{GOING} is terminating",
        )

    try:
        found = list(story(real, terminate))
    finally:
        for item in hub.list("v1/ConfigMap", namespace=GOING):
            free = {"metadata": {"finalizers": None}}
            hub.patch("v1/ConfigMap", item["metadata"]["name"], free, namespace=GOING)
        hub.delete("v1/Namespace", GOING)
        wait_until_gone(hub, "v1/Namespace", GOING)
    assert list(story(InWorld(modelled), lambda: modelled.hub.terminating.add(GOING))) == found
