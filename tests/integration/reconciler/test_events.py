"""Events as an API server gets them.

Once for what is said once, counted for what is said again, and never a nuisance.
"""

import asyncio
from collections.abc import AsyncIterator

import pytest

from gitops_dsf.reconciler.events import Events
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.kinds import InvolvedObject
from gitops_dsf.reconciler.metrics import ReconcilerMetrics
from tests.support.apiserver import Object
from tests.support.objecthub import ObjectHub
from tests.support.waiting import until

BURST = 100
PER_SECOND = 2.0


def thing(name: str = "thing", uid: str = "7") -> InvolvedObject:
    return InvolvedObject(
        api_version="example.com/v1", kind="Thing", namespace="hub", name=name, uid=uid
    )


@pytest.fixture
async def api(hub: ObjectHub) -> AsyncIterator[HubApi]:
    async with hub.api() as api:
        yield api


class Recorder:
    def __init__(self, api: HubApi) -> None:
        metrics = ReconcilerMetrics()
        self.counter = metrics.events
        self.events = Events(api=api, outcomes=metrics.events)
        self.said = 0

    async def say(self, message: str = "it happened", about: InvolvedObject | None = None) -> None:
        self.events.record(about or thing(), "Happened", message, warning=True)
        self.said += 1
        await until(lambda: sum(self.outcomes().values()) == self.said)

    def outcomes(self) -> dict[str, float]:
        samples = [sample for family in self.counter.collect() for sample in family.samples]
        return {
            sample.labels["outcome"]: sample.value
            for sample in samples
            if sample.name.endswith("_total")
        }


def written(hub: ObjectHub) -> list[Object]:
    return [item for (plural, _, _), item in hub.objects.items() if plural == "events"]


async def test_an_event_says_what_kubectl_shows(hub: ObjectHub, api: HubApi) -> None:
    await Recorder(api).say()
    (event,) = written(hub)
    assert event["metadata"]["namespace"] == event["involvedObject"]["namespace"] == "hub"
    assert event["metadata"]["name"].startswith("thing.")
    assert event["involvedObject"] == {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "namespace": "hub",
        "name": "thing",
        "uid": "7",
    }
    found = (event["type"], event["reason"], event["message"], event["count"])
    assert found == ("Warning", "Happened", "it happened", 1)
    assert event["source"] == {"component": "gitops-dsf-reconciler"}


async def test_the_same_words_are_counted_up_within_an_hour_and_by_another_leader(
    hub: ObjectHub, api: HubApi
) -> None:
    recorder = Recorder(api)
    for _ in range(3):
        await recorder.say()
    assert [event["count"] for event in written(hub)] == [3]
    await Recorder(api).say()
    assert [event["count"] for event in written(hub)] == [4]
    await recorder.say("something else")
    await recorder.say(about=thing(uid="8"))
    assert len(written(hub)) == 3
    assert recorder.outcomes() == {"written": 3, "counted": 2}


async def test_refusals_and_silence_are_borne(hub: ObjectHub, api: HubApi) -> None:
    hub.refusals["POST events"] = [403, 500, 0]
    recorder = Recorder(api)
    for _ in range(4):
        await recorder.say()
    assert recorder.outcomes() == {"refused": 3, "written": 1}
    assert len(written(hub)) == 1


async def test_too_many_at_once_are_dropped(hub: ObjectHub, api: HubApi) -> None:
    recorder = Recorder(api)
    for number in range(BURST + 10):
        recorder.events.record(thing(uid=str(number)), "Happened", "at once")
    await until(lambda: sum(recorder.outcomes().values()) == BURST + 10)
    assert len(written(hub)) == BURST
    assert recorder.outcomes()["dropped"] == 10
    await asyncio.sleep(5 / PER_SECOND)
    for number in range(10):
        recorder.events.record(thing(uid=str(1000 + number)), "Happened", "at once")
    await until(lambda: sum(recorder.outcomes().values()) == BURST + 20)
    assert len(written(hub)) == BURST + 5


async def test_long_names_and_messages_are_cut_to_what_an_api_server_takes(
    hub: ObjectHub, api: HubApi
) -> None:
    name = "a" * 235 + ".b" * 9
    await Recorder(api).say("m" * 2000, about=thing(name))
    (event,) = written(hub)
    assert len(event["message"]) == 1024
    assert len(event["metadata"]["name"]) <= 253
    assert ".." not in event["metadata"]["name"]


async def test_a_hub_that_is_slow_holds_up_nobody_and_keeps_the_order(
    hub: ObjectHub, api: HubApi
) -> None:
    """Each request may take five seconds. What comes on top of what may wait is dropped."""
    recorder, loop = Recorder(api), asyncio.get_running_loop()
    hub.gate = asyncio.Event()
    began = loop.time()
    for number in range(20):
        recorder.events.record(thing(), "Happened", str(number))
    assert loop.time() == began
    await asyncio.sleep(12)
    assert recorder.outcomes() == {"refused": 2}
    hub.gate.set()
    await until(lambda: sum(recorder.outcomes().values()) == 20)
    assert [event["message"] for event in written(hub)] == [str(number) for number in range(20)]


async def test_what_waits_for_a_slow_hub_is_bounded(hub: ObjectHub, api: HubApi) -> None:
    recorder = Recorder(api)
    hub.gate = asyncio.Event()
    for number in range(1000):
        recorder.events.record(thing(), "Happened", str(number))
        await asyncio.sleep(1)
    outcomes = recorder.outcomes()
    assert outcomes["refused"] == pytest.approx(200, abs=1)
    assert outcomes["dropped"] >= 1000 - 200 - BURST - 1


async def test_an_event_that_is_being_written_ends_with_the_connections(hub: ObjectHub) -> None:
    """Else its socket would stay open in a process that goes on."""
    hub.gate = asyncio.Event()
    async with hub.api() as api:
        recorder = Recorder(api)
        recorder.events.record(thing(), "Happened", "it happened")
        await until(lambda: hub.seen, what="the request is on its way")
        [task] = [task for task in asyncio.all_tasks() if task.get_name() == "events"]
    assert task.cancelled()
