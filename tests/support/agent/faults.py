"""The test of each fault of a metric source or scoring API, beside a healthy scorer."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from tests.support.agent.grid import assert_on_grid, grid_of
from tests.support.agent.http import (
    HttpFake,
    PeerFault,
    RecordedRequest,
    SentReply,
    last_values,
    matrix,
    series,
)
from tests.support.agent.running import ConfigMapVolume, RunningAgent, entry, running
from tests.support.waiting import until

Faults = Mapping[str, tuple[SentReply | PeerFault, str]]
"""By name: the answer, and the expected reason."""

EAGER: Final = {"deadband": 0, "minIntervalSeconds": 0}
SOURCE: Final = matrix(series(3))
SCORES: Final = SentReply.of({"results": [{"metric": {"node": "a"}, "score": 1.5}]})
LIMITS: Final = ("--request-timeout", "8", "--max-answer-bytes", "200000")
"""Dozens of scorers start at once: a healthy peer may need seconds to answer the last one."""
INTERVAL: Final = 4
"""Seconds between two cycles of failing scorers, which leave the machine to the healthy one."""
REFUSED: Final = "refused"
WELL: Final = "well"


class FaultyPeer:
    def __init__(self, faults: Faults, healthy: SentReply) -> None:
        self._faults = faults
        self._healthy = healthy
        self.failing = False

    def __call__(self, seen: RecordedRequest) -> SentReply | PeerFault:
        name = seen.path.split("/")[1]
        return self._faults[name][0] if self.failing and name in self._faults else self._healthy


async def survives(folder: Path, *, side: Literal["source", "scoring"], faults: Faults) -> None:
    """Runs one agent with a scorer per fault, one whose peer refuses connections, and a healthy
    one. All work, then all fail at once, then all recover. While they fail, the right reason is
    counted for each, their exported samples are gone, their published scores stay, and the healthy
    scorer keeps its grid.
    """
    peer = FaultyPeer(faults, SCORES if side == "scoring" else SOURCE)
    volume, out = ConfigMapVolume(folder / "config"), folder / "out"
    names = {*faults, REFUSED, WELL}
    everyone = {f"{name}-score" for name in names}
    async with (
        HttpFake(peer) as faulty,
        HttpFake(peer) as refusing,
        HttpFake(lambda _seen: SOURCE) as source,
        HttpFake(last_values) as api,
    ):

        def one(name: str) -> dict[str, object]:
            url = f"{refusing.url if name == REFUSED else faulty.url}/{name}"
            sides = (
                {"source": url, "scoring": api.url}
                if side != "scoring"
                else {"source": source.url, "scoring": url}
            )
            return entry(
                name, **sides, scoringInterval=1 if name == WELL else INTERVAL, publish=EAGER
            )

        volume.put(*map(one, sorted(names)))
        async with running(
            "--config-dir", volume.directory, "--publish", f"dir:{out}", *LIMITS, per_origin=64
        ) as agent:
            await until(lambda: _exposes(agent, everyone), what="all are well")
            await until(
                lambda: {path.stem for path in out.glob("*.yaml")} == everyone,
                what="all are published",
            )
            published = {path.name: path.read_bytes() for path in out.iterdir()}

            calls = len(faulty.to(WELL))
            peer.failing = True
            await refusing.refuse()
            expected = {f"{name}-score": {reason} for name, (_, reason) in faults.items()} | {
                f"{REFUSED}-score": {"unreachable"}
            }
            await until(
                lambda: _failing(agent).keys() == expected.keys(), what="every fault was met"
            )
            await until(
                lambda: _failing(agent).get(f"{REFUSED}-score") == "unreachable",
                what="nobody listens",
            )
            await until(lambda: len(faulty.to(WELL)) >= calls + 5, what="the healthy one goes on")
            assert_on_grid(faulty.to(WELL)[calls + 1 :], grid=grid_of(WELL), least=3)
            counted = await agent.failures()
            # The peer that refuses may have been in the middle of an answer when it stopped.
            counted[f"{REFUSED}-score"].discard("connection_lost")
            assert counted == expected, {
                name: (counted.get(name), expected.get(name)) for name in counted | expected
            }
            assert await agent.stages() == {"score" if side == "scoring" else "fetch"}
            assert await agent.exposed() == {f"{WELL}-score"}
            assert {path.name: path.read_bytes() for path in out.iterdir()} == published

            peer.failing = False
            await refusing.start()
            await until(lambda: _exposes(agent, everyone), what="all healed")
            assert {path.name: path.read_bytes() for path in out.iterdir()} == published
            assert not agent.task.done()


def _failing(agent: RunningAgent) -> dict[str, str]:
    return {
        scorer["scoreName"]: scorer["reason"]
        for scorer in agent.agent.ready().detail["scorers"]
        if scorer["reason"]
    }


async def _exposes(agent: RunningAgent, score_names: set[str]) -> bool:
    """Asks for the page only when it can be so."""
    return not _failing(agent) and await agent.exposed() == score_names
