"""Scores of removed scorers are deleted from the hub, and nothing because something is missing."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dsf_agent.publish.prune import RECHECK_SECONDS
from tests.support.agent.grid import assert_on_grid, grid_of
from tests.support.agent.http import FakeScoring
from tests.support.agent.hub import ScoreHub, timestamp
from tests.support.agent.running import SHORT, AgentFolder, ConfigMapVolume, RunningAgent, entry
from tests.support.apiserver import SCORES
from tests.support.inmemory import InMemory
from tests.support.waiting import until

NOTHING_DELETED: dict[
    str, tuple[Callable[[ConfigMapVolume, dict[str, object]], object], str | None]
] = {
    # name: what happens to the file, the reason that is counted for the file (None: it can be used,
    # an entry cannot)
    "empty file": (lambda volume, _kept: volume.put_raw(b""), "empty"),
    "blank file": (lambda volume, _kept: volume.put_raw(b" \n"), "empty"),
    "null": (lambda volume, _kept: volume.put_raw(b"null"), "not_json"),
    "cut": (lambda volume, _kept: volume.put_raw(b'[{"name": "cpu"'), "not_json"),
    "a cut list": (lambda volume, _kept: volume.put_raw(b"["), "not_json"),
    "an object": (lambda volume, _kept: volume.put_raw(b"{}"), "not_json"),
    "no file": (lambda volume, _kept: volume.swap({"other": b""}), "missing"),
    "no directory": (
        lambda volume, _kept: volume.directory.rename(volume.directory.with_name("away")),
        "missing",
    ),
    "huge file": (
        lambda volume, _kept: volume.put_raw(b"[" + b" " * (5 << 20) + b"]"),
        "too_large",
    ),
    "one bad entry": (lambda volume, kept: volume.put(kept, {"name": "mem"}), None),
    "deep": (lambda volume, _kept: volume.put_raw(b"[" * 100_000), "not_json"),
    "not UTF-8": (lambda volume, _kept: volume.put_raw(b'["\xff"]'), "not_json"),
}


async def test_an_incomplete_file_deletes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(name: str) -> None:
        hub, place = ScoreHub(), AgentFolder(tmp_path / name)
        change, reason = NOTHING_DELETED[name]
        async with hub as server, InMemory(FakeScoring(7.0)) as scoring:
            cpu, mem = (
                entry(one, scoring=f"{scoring.url}/{one}", scoringInterval=1)
                for one in ("cpu", "mem")
            )
            place.put(cpu, mem)
            async with place.agent(hub=server) as agent:
                await until(
                    lambda: hub.values("cpu-score") and hub.values("mem-score"),
                    what=f"published: {name}",
                )
                change(place.volume, cpu)
                await until(
                    lambda: _told(agent) == (reason, 0 if reason else 1),
                    what=f"the change was seen: {name}",
                )
                calls = len(scoring.to("cpu"))
                await until(lambda: len(scoring.to("cpu")) >= calls + 4, what=f"it runs on: {name}")
                assert_on_grid(scoring.to("cpu")[1:], grid=grid_of("cpu"), least=3)
                assert set(hub.scores) == {("c1", "cpu-score"), ("c1", "mem-score")}, name
                assert not any(word.startswith("DELETE") for word in hub.writes), name
                samples = await agent.samples()
                counted = {
                    key: value
                    for key, value in samples.items()
                    if key.startswith("gitops_dsf_agent_config_failures_total{")
                }
                assert counted == (
                    {f'gitops_dsf_agent_config_failures_total{{reason="{reason}"}}': 1}
                    if reason
                    else {}
                ), name
                assert samples["gitops_dsf_agent_config_usable"] == (0 if reason else 1), name
                assert samples['gitops_dsf_agent_scorers{state="invalid"}'] == (
                    0 if reason else 1
                ), name

    caplog.set_level(logging.WARNING, logger="dsf_agent")
    await asyncio.gather(*(story(name) for name in NOTHING_DELETED))
    told = [record.message for record in caplog.records]
    assert sum("cannot be used, the last good one stays active" in text for text in told) == sum(
        reason is not None for _, reason in NOTHING_DELETED.values()
    )
    assert any(text.startswith("entry 1 is skipped") for text in told)


def _told(agent: RunningAgent) -> tuple[str | None, int]:
    """What /readyz says of the file: the reason why it cannot be used, and how many of its entries
    cannot.
    """
    configuration = agent.agent.ready().detail["configuration"]
    return (configuration["trouble"] or {}).get("reason"), len(configuration["problems"])


OURS = {"app.kubernetes.io/managed-by": "gitops-dsf-agent"}


def _old(hub: ScoreHub, name: str, *, left: float | None, labels: dict[str, str] = OURS) -> None:
    plain: dict[str, Any] = {
        "metadata": {"name": name, "resourceVersion": f"{len(hub.scores)}", "labels": labels}
    }
    if left is not None:
        plain["status"] = {
            "scores": [{"name": "n0", "value": 5}],
            "validUntil": timestamp(hub.now() + left),
        }
    hub.objects[SCORES, "c1", name] = plain


async def test_only_our_objects_and_the_scores_of_the_last_scorer_are_deleted(
    place: AgentFolder,
) -> None:
    hub = ScoreHub()
    _old(hub, "resource-usage-score", left=None, labels={})
    _old(hub, "gone", left=None)
    async with hub as server, InMemory(FakeScoring(7.0)) as scoring:
        place.put(entry("cpu", scoring=scoring.url, scoringInterval=1))
        async with place.agent(hub=server, waits=replace(SHORT, prune=0.5)) as agent:
            await until(lambda: hub.values("cpu-score"), what="published")
            await until(lambda: ("c1", "gone") not in hub.scores, what="our own orphan is deleted")
            assert set(hub.scores) == {("c1", "cpu-score"), ("c1", "resource-usage-score")}
            emptied = asyncio.get_running_loop().time()
            place.put()
            await until(
                lambda: ("c1", "cpu-score") not in hub.scores,
                what="the last one's scores are deleted",
            )
            assert asyncio.get_running_loop().time() - emptied > 3.0
            assert set(hub.scores) == {("c1", "resource-usage-score")}
            samples = await agent.samples()
            assert samples["gitops_dsf_agent_deleted_scores_total"] == 2
            assert samples["gitops_dsf_agent_config_usable"] == 1
            assert await agent.exposed() == set()
            calls = len(scoring.seen)
            place.put(entry("cpu", scoring=scoring.url, scoringInterval=1))
            await until(lambda: hub.values("cpu-score"), what="it comes back like a new one")
            assert len(scoring.seen) > calls


async def test_a_process_that_starts_on_an_empty_list_deletes_only_expired_scores(
    place: AgentFolder,
) -> None:
    """It may be a wrong mount: scores stay until they have expired by the hub's clock."""
    hub = ScoreHub()
    hub.ahead = 600.0
    _old(hub, "expired", left=-30)
    ends = hub.now() + 8
    _old(hub, "soon", left=8)
    _old(hub, "valid", left=600)
    _old(hub, "never-written", left=None)
    place.put()
    async with hub as server, place.agent(hub=server):
        await until(lambda: ("c1", "expired") not in hub.scores, what="the expired one goes")
        assert set(hub.scores) == {("c1", "soon"), ("c1", "valid"), ("c1", "never-written")}
        await asyncio.sleep(ends - 2 - hub.now())
        assert ("c1", "soon") in hub.scores, "it has not expired"
        await asyncio.sleep(RECHECK_SECONDS)
        assert set(hub.scores) == {("c1", "valid"), ("c1", "never-written")}


async def test_the_file_of_the_last_scorer_is_deleted_too(place: AgentFolder) -> None:
    file = place.out / "cpu-score.yaml"
    async with InMemory(FakeScoring(7.0)) as scoring:
        place.put(entry("cpu", scoring=scoring.url))
        async with place.agent():
            await until(file.exists, what="published")
        place.put()
        async with place.agent():
            await asyncio.sleep(2.5)
            assert file.exists(), "another process wrote it, and it is valid"
        text = file.read_text()
        stamp = text.split('validUntil: "')[1].split('"')[0]
        file.write_text(text.replace(stamp, "2026-01-01T00:00:00Z"))
        async with place.agent():
            await until(lambda: not file.exists(), what="it has expired")


async def test_a_write_that_is_under_way_does_not_bring_a_removed_score_back(
    place: AgentFolder,
) -> None:
    """The file changes while the hub is slow.

    The score is deleted once, after that write has ended.
    """
    hub, slow = ScoreHub(), asyncio.Event()
    slow.set()
    holds = 0

    async def arrives(word: str) -> None:
        nonlocal holds
        if word == f"PATCH {SCORES}" and not slow.is_set():
            holds += 1
            await slow.wait()

    hub.arrives = arrives
    async with hub as server, InMemory(FakeScoring(7.0)) as scoring:
        mem = entry("mem", scoring=scoring.url, scoringInterval=1, scoreTTLSeconds=60)
        place.put(mem, entry("cpu", scoring=f"{scoring.url}/unused", scoringInterval=3600))
        async with place.agent(hub=server):
            await until(
                lambda: hub.values("mem-score") and hub.values("cpu-score"), what="published"
            )
            slow.clear()
            await until(lambda: holds == 1, what="a renewal is under way")
            place.put(entry("cpu", scoring=f"{scoring.url}/unused", scoringInterval=3600))
            await asyncio.sleep(5)
            slow.set()
            await until(lambda: ("c1", "mem-score") not in hub.scores, what="it is deleted")
            await asyncio.sleep(900)
    assert set(hub.scores) == {("c1", "cpu-score")}
    mine = [word for word in hub.writes if "mem-score" in word]
    assert mine.count("DELETE AddOnPlacementScore mem-score") == 1
    assert mine[-1] == "DELETE AddOnPlacementScore mem-score"
    assert mine.count("POST AddOnPlacementScore mem-score") == 1


async def test_a_removed_score_that_arrives_after_its_writer_gave_up_is_deleted_later(
    place: AgentFolder,
) -> None:
    """The API server may finish a request long after the agent has closed the connection."""
    hub, slow = ScoreHub(), asyncio.Event()
    created = False

    async def arrives(word: str) -> None:
        nonlocal created
        if word == f"POST {SCORES}":
            created = True
            await slow.wait()

    async with hub as server, InMemory(FakeScoring(7.0)) as scoring:
        cpu, mem = (entry(one, scoring=scoring.url, scoringInterval=30) for one in ("cpu", "mem"))
        place.put(cpu)
        async with place.agent(hub=server):
            await until(lambda: hub.values("cpu-score"), what="published")
            hub.arrives = arrives
            place.put(cpu, mem)
            await until(lambda: created, what="the object is being created")
            place.put(cpu)
            # The request ends after 10 s, and the pruner has looked.
            await asyncio.sleep(60)
            assert ("c1", "mem-score") not in hub.scores
            slow.set()
            await until(lambda: ("c1", "mem-score") in hub.scores, what="it arrives")
            await asyncio.sleep(RECHECK_SECONDS + 1)
            assert ("c1", "mem-score") not in hub.scores, "the next look deletes it"
            writes, looks = len(hub.writes), _lists(hub)
            await asyncio.sleep(3 * RECHECK_SECONDS)
    assert set(hub.scores) == {("c1", "cpu-score")}
    assert not any("mem" in word for word in hub.writes[writes:])
    # One more look after the deletion. The publisher's audit asks for a table, which is not
    # counted.
    assert _lists(hub) - looks == 1


def _lists(hub: ScoreHub) -> int:
    """How often the objects of the agent were listed with their content."""
    return sum(
        seen.method == "GET"
        and seen.path.endswith(f"/{SCORES}")
        and "Table" not in seen.headers["accept"]
        for seen in hub.seen
    )
