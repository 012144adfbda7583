"""Servers in memory are as good as those on sockets, for an agent."""

from collections.abc import Iterator
from pathlib import Path

from tests.support import virtual_time
from tests.support.agent.faults import EAGER
from tests.support.agent.http import PeerFault, SentReply, prometheus, series
from tests.support.agent.hub import ScoreHub
from tests.support.agent.running import AgentFolder, entry
from tests.support.inmemory import InMemory
from tests.support.waiting import until

HEADERS = ("accept", "accept-encoding", "authorization", "content-length", "user-agent")
ENOUGH = SentReply.of({"results": [{"metric": {"node": "n0"}, "score": 2}]})


def answers() -> Iterator[SentReply | PeerFault]:
    """Of a scoring API, each to one call."""
    yield SentReply.of({"results": [{"metric": {"node": "n0"}, "score": 1}]})
    yield SentReply(status=503, headers={"Retry-After": "2"}, body=b"not yet")
    yield SentReply(status=302, headers={"Location": "http://elsewhere.example.org/"})
    yield SentReply(headers={"Content-Encoding": "gzip"}, body=b"...")
    yield SentReply(body=b"<html>")
    yield PeerFault()
    yield PeerFault(hang=True)
    while True:
        yield ENOUGH


async def story(folder: Path, *, on_wire: bool) -> str:
    """What the hub and the agent say in the end, and what each server was asked."""
    hub, coming = ScoreHub(on_wire=on_wire), answers()
    async with (
        hub as server,
        InMemory(prometheus(series(1)), on_wire=on_wire) as source,
        InMemory(lambda _seen: next(coming), on_wire=on_wire) as scoring,
    ):
        place = AgentFolder(folder)
        place.put(
            entry("cpu", scoring=scoring.url, source=source.url, scoringInterval=5, publish=EAGER)
        )
        async with place.agent("--request-timeout", "8", hub=server) as agent:
            await until(lambda: hub.values("cpu-score") == {"n0": 1}, what="the first score")
            await until(
                lambda: hub.values("cpu-score") == {"n0": 2}, seconds=1200, what="the last score"
            )
            failures = sorted((await agent.failures())["cpu-score"])
            addresses = [peer.url for peer in (server, source, scoring)]
    asked = [
        (seen.method, seen.path, [(name, seen.headers.get(name)) for name in HEADERS], seen.body)
        for peer in (source, scoring)
        for seen in peer.seen
    ]
    said = repr((failures, hub.writes, asked))
    for address in addresses:
        said = said.replace(address, "SERVER")
    return said


def test_an_agent_cannot_tell_the_difference(tmp_path: Path) -> None:
    on_wire = virtual_time.run(story(tmp_path / "wire", on_wire=True))
    assert virtual_time.run(story(tmp_path / "memory", on_wire=False)) == on_wire
