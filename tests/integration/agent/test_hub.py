"""Publishing to a hub: what is written and when, who owns it, and every way in which a hub fails."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from tests.support.agent.apis import scores
from tests.support.agent.configmap import ConfigMapVolume, entry
from tests.support.agent.http import Fault, HttpFake, Reply, Seen
from tests.support.agent.hub import HubFake, failure, kubeconfig, timestamp
from tests.support.agent.pace import pace
from tests.support.agent.process import eventually, until
from tests.support.agent.running import RunningAgent, play, running


class Api:
    """A scoring API whose scores a test changes."""

    def __init__(self, *values: float) -> None:
        self.values = values

    def __call__(self, seen: Seen) -> Reply | Fault:
        return scores(*self.values)(seen)


def _flags(tmp_path: Path, volume: ConfigMapVolume, hub: HttpFake) -> list[str | Path]:
    config = kubeconfig(tmp_path / "kubeconfig", server=hub.url)
    return [
        "--config-dir",
        volume.directory,
        "--hub-kubeconfig",
        config,
        "--prune-delay",
        "0.2",
        "--hub-timeout",
        "2",
        "--suspension-poll",
        "1",
    ]


EAGER = {"deadband": 0, "minIntervalSeconds": 0}


def _is_score(seen: Seen) -> bool:
    return "addonplacementscores" in seen.path


def _on(match: Callable[[Seen], bool], answer: Reply | Fault) -> Callable[[Seen], Reply | Fault | None]:
    return lambda seen: answer if match(seen) else None


FAULTS: dict[str, tuple[Callable[[Seen], Reply | Fault | None], str]] = {
    "resets": (_on(_is_score, Fault()), "connection_lost"),
    "hangs": (_on(_is_score, Fault(hang=True)), "timeout"),
    "forbidden": (_on(_is_score, failure(403, "forbidden: User cannot patch")), "forbidden"),
    "unauthorized": (_on(_is_score, failure(401, "Unauthorized")), "unauthorized"),
    "conflict": (_on(lambda seen: seen.method == "PATCH", failure(409, "Apply failed with 1 conflict")), "conflict"),
    "no-status": (_on(lambda seen: seen.path.endswith("/status"), failure(404, "not found")), "not_found"),
    "invalid": (_on(lambda seen: seen.method == "PATCH", failure(422, "status.scores: Invalid value")), "invalid_object"),
    "throttled": (_on(_is_score, Reply(status=429, headers={"Retry-After": "1"})), "throttled"),
    "server-error": (_on(_is_score, failure(500, "etcd leader changed")), "server_error"),
    "not-json": (_on(_is_score, Reply(body=b"<html>proxy</html>")), "invalid_body"),
}


def test_a_hub_that_fails_delays_no_cycle_and_gets_the_newest_scores_later(tmp_path: Path) -> None:
    """The reason is counted, cycles go on at their pace, and once the hub is back the newest value is published."""

    async def story(name: str) -> None:
        hub, api = HubFake(), Api(1.0)
        hub.before, reason = FAULTS[name]
        volume = ConfigMapVolume(tmp_path / name / "config")
        async with HttpFake(hub) as server, HttpFake(api) as scoring:
            volume.put(entry("cpu", scoring=scoring.url, scoringInterval=1, publish=EAGER))
            async with running(*_flags(tmp_path / name, volume, server)) as agent, pace() as measured:
                await until(lambda: len(scoring.seen) >= 4, what=f"cycles go on: {name}")
                # The second run falls on the grid, half an interval to one and a half after the first; then one a second.
                measured.check(scoring.seen[1:], interval=1, least=2)
                await eventually(lambda: _counted(agent, reason), what=f"the reason is counted: {name}")
                assert hub.values("cpu-score") == {}, name
                api.values = (42.0,)
                hub.before = lambda _seen: None
                await until(lambda: hub.values("cpu-score") == {"n0": 42}, what=f"the newest value: {name}", seconds=40)
                assert agent.scorer()["failures"] == 0, name

    async def stories() -> None:
        await asyncio.gather(*(story(name) for name in FAULTS))

    play(stories())


def test_a_missing_namespace_and_a_hub_that_is_away(tmp_path: Path) -> None:
    """A cluster that has no namespace yet, then a hub that refuses, then both in order."""

    async def story() -> None:
        hub, volume = HubFake(namespaces=()), ConfigMapVolume(tmp_path / "config")
        server = HttpFake(hub)
        await server.start()
        async with HttpFake(Api(7.0)) as scoring:
            volume.put(entry("cpu", scoring=scoring.url, scoringInterval=1))
            async with running(*_flags(tmp_path, volume, server)) as agent:
                await until(lambda: len(scoring.seen) >= 2, what="cycles go on")
                await eventually(lambda: _counted(agent, "not_found"), what="the namespace is missed")
                await server.stop()
                hub.namespaces.add("c1")
                await eventually(lambda: _counted(agent, "unreachable"), what="the hub is away", seconds=15)
                await server.start()
                await until(lambda: hub.values("cpu-score") == {"n0": 7}, what="published", seconds=20)
        await server.stop()

    play(story())


def test_a_restart_writes_nothing_that_is_there(tmp_path: Path) -> None:
    """A new process finds what stands on the hub and leaves it alone until half of its TTL has gone."""

    async def story() -> None:
        hub, volume = HubFake(), ConfigMapVolume(tmp_path / "config")
        async with HttpFake(hub) as server, HttpFake(Api(7.0)) as scoring:
            volume.put(entry("cpu", scoring=scoring.url, scoringInterval=1))
            flags = _flags(tmp_path, volume, server)
            async with running(*flags):
                await until(lambda: hub.values("cpu-score"), what="published")
            written = list(hub.writes)
            assert written == [("POST", "c1/cpu-score"), ("PATCH", "c1/cpu-score/status")]
            async with running(*flags):
                calls = len(scoring.seen)
                await until(lambda: len(scoring.seen) >= calls + 3, what="three more cycles")
            assert hub.writes == written
            hub.scores["c1", "cpu-score"]["status"]["validUntil"] = timestamp(hub.now() + 400)
            async with running(*flags):
                await until(lambda: hub.writes != written, what="a refresh after half of the TTL")
            assert datetime.fromisoformat(hub.scores["c1", "cpu-score"]["status"]["validUntil"]).timestamp() > hub.now() + 880

    play(story())


async def _counted(agent: RunningAgent, reason: str) -> bool:
    return reason in (await agent.failures()).get("cpu-score", set())


def _foreign(*, written: float) -> dict[str, object]:
    """An object of another agent, as it stands on a hub that migrates."""
    return {
        "metadata": {
            "name": "cpu-score",
            "namespace": "c1",
            "resourceVersion": "1",
            "managedFields": [
                {"manager": "dynamic-scoring-agent", "operation": "Update", "subresource": "status", "time": timestamp(written)}
            ],
        },
        "status": {"scores": [{"name": "n0", "value": -50}]},
    }


def test_another_writer_keeps_its_object_until_it_is_silent(tmp_path: Path) -> None:
    """No field has two writers: a living one is left alone and reported, one that has been silent for an hour is replaced."""

    async def story() -> None:
        hub, volume = HubFake(), ConfigMapVolume(tmp_path / "config")
        hub.scores["c1", "cpu-score"] = _foreign(written=hub.now() - 60)
        async with HttpFake(hub) as server, HttpFake(Api(7.0)) as scoring:
            volume.put(entry("cpu", scoring=scoring.url, scoringInterval=1))
            async with running(*_flags(tmp_path, volume, server)) as agent:
                await until(lambda: len(scoring.seen) >= 2, what="cycles")
                await eventually(lambda: _counted(agent, "conflict"), what="the other one is respected")
                assert hub.values("cpu-score") == {"n0": -50}
                hub.scores["c1", "cpu-score"] = _foreign(written=hub.now() - 4000)
                await until(lambda: hub.values("cpu-score") == {"n0": 7}, what="taken over", seconds=15)
                await until(lambda: "labels" in hub.scores["c1", "cpu-score"]["metadata"], what="labelled ours")

    play(story())


def test_too_many_items_are_refused_with_advice(tmp_path: Path) -> None:
    """An object above the size limit is not sent; the log says what to change."""

    async def story() -> None:
        hub, volume = HubFake(), ConfigMapVolume(tmp_path / "config")
        api = Reply.of({"results": [{"metric": {"node": "n" * 200 + str(index)}, "score": 1.0} for index in range(6000)]})
        async with HttpFake(hub) as server, HttpFake(lambda _seen: api) as scoring:
            volume.put(entry("cpu", scoring=scoring.url))
            async with running(*_flags(tmp_path, volume, server)) as agent:
                await eventually(agent.failures, what="refused")
                assert await agent.failures() == {"cpu-score": {"too_large"}}
                assert hub.writes == []
                assert await agent.exposed() == {"cpu-score"}

    play(story())


async def _state(agent: RunningAgent) -> str:
    state: str = agent.scorer()["state"]
    return state


def test_suspension_stops_calls_and_deletes_nothing(tmp_path: Path) -> None:
    """A suspended score name has no calls and no samples, its object stays; when the ConfigMap cannot be read it runs again."""

    async def story() -> None:
        hub, volume = HubFake(), ConfigMapVolume(tmp_path / "config")
        where = ("open-cluster-management", "gitops-dsf-suspended")
        async with HttpFake(hub) as server, HttpFake(Api(7.0)) as scoring, HttpFake(Api(8.0)) as other:
            volume.put(entry("cpu", scoring=scoring.url, scoringInterval=1), entry("mem", scoring=other.url, scoringInterval=1))
            async with running(*_flags(tmp_path, volume, server)) as agent:
                await until(lambda: hub.values("cpu-score"), what="published")
                hub.config_maps[where] = {"scorers": '["cpu-score", "unknown"]'}
                await until(lambda: agent.scorer()["state"] == "suspended", what="suspended")
                calls, others = len(scoring.seen), len(other.seen)
                assert await agent.exposed() == {"mem-score"}
                await until(lambda: len(other.seen) >= others + 3, what="the other one goes on")
                assert len(scoring.seen) == calls
                assert hub.values("cpu-score") == {"n0": 7}
                hub.config_maps[where] = {"scorers": "cpu-score"}
                await until(lambda: len(scoring.seen) > calls, what="an unreadable list suspends nothing")
                samples = await agent.samples()
                assert samples['gitops_dsf_agent_suspension_read_failures_total{reason="invalid_body"}'] >= 1

    play(story())


NOTHING_DELETED: dict[str, Callable[[ConfigMapVolume, dict[str, object]], None]] = {
    "empty file": lambda volume, _kept: volume.put_raw(b""),
    "blank file": lambda volume, _kept: volume.put_raw(b" \n"),
    "empty list": lambda volume, _kept: volume.put(),
    "not JSON": lambda volume, _kept: volume.put_raw(b'[{"name": "cpu"'),
    "an object": lambda volume, _kept: volume.put_raw(b"{}"),
    "no file": lambda volume, _kept: volume.swap({"other": b""}),
    "no directory": lambda volume, _kept: volume.directory.rename(volume.directory.with_name("away")),
    "huge file": lambda volume, _kept: volume.put_raw(b"[" + b" " * (5 << 20) + b"]"),
    "one bad entry": lambda volume, kept: volume.put(kept, {"name": "mem"}),
    "deep": lambda volume, _kept: volume.put_raw(b"[" * 100_000),
    "not UTF-8": lambda volume, _kept: volume.put_raw(b'["\xff"]'),
}


def test_a_file_that_is_not_complete_deletes_nothing(tmp_path: Path) -> None:
    """Nothing is deleted because something is absent; the scorers that can still be known keep running."""

    async def story(name: str) -> None:
        hub, volume = HubFake(), ConfigMapVolume(tmp_path / name / "config")
        async with HttpFake(hub) as server, HttpFake(Api(7.0)) as scoring:
            cpu, mem = (entry(one, scoring=f"{scoring.url}/{one}", scoringInterval=1) for one in ("cpu", "mem"))
            volume.put(cpu, mem)
            async with running(*_flags(tmp_path / name, volume, server), "--config-poll", "0.2") as agent:
                await until(lambda: hub.values("cpu-score") and hub.values("mem-score"), what=f"published: {name}")
                digest = agent.agent.detail()[1]["configuration"]["digest"]
                NOTHING_DELETED[name](volume, cpu)

                def seen() -> bool:
                    configuration = agent.agent.detail()[1]["configuration"]
                    return configuration["trouble"] is not None or configuration["digest"] != digest

                await until(seen, what=f"the change was seen: {name}")
                calls = sum(one.path.startswith("/cpu") for one in scoring.seen)
                await asyncio.sleep(2)
                assert set(hub.scores) == {("c1", "cpu-score"), ("c1", "mem-score")}, name
                assert not any(method == "DELETE" for method, _ in hub.writes), name
                runs_on = sum(one.path.startswith("/cpu") for one in scoring.seen) > calls
                assert runs_on == (name != "empty list"), name

    async def stories() -> None:
        await asyncio.gather(*(story(name) for name in NOTHING_DELETED))

    play(stories())


def test_only_objects_of_ours_are_deleted(tmp_path: Path) -> None:
    """Scores of another program in the cluster's namespace stay, whatever their names."""

    async def story() -> None:
        hub, volume = HubFake(), ConfigMapVolume(tmp_path / "config")
        hub.scores["c1", "resource-usage-score"] = {"metadata": {"name": "resource-usage-score", "resourceVersion": "1"}}
        ours = {"app.kubernetes.io/managed-by": "gitops-dsf-agent"}
        hub.scores["c1", "gone"] = {"metadata": {"name": "gone", "resourceVersion": "2", "labels": ours}}
        async with HttpFake(hub) as server, HttpFake(Api(7.0)) as scoring:
            volume.put(entry("cpu", scoring=scoring.url))
            async with running(*_flags(tmp_path, volume, server)) as agent:
                await until(lambda: ("c1", "gone") not in hub.scores, what="our own orphan is deleted")
                await until(lambda: hub.values("cpu-score"), what="published")
                assert ("c1", "resource-usage-score") in hub.scores
                assert (await agent.samples())["gitops_dsf_agent_deleted_scores_total"] == 1
                assert await _state(agent) == "running"

    play(story())
