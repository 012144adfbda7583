"""What hostile peers do to an agent.

    .venv/bin/python -m benchmarks.bench_hostile [--only KIND] [--seconds N]

It measures the longest turn of the event loop, the cycles of healthy scorers, /healthz, and the
peak of memory. The peers run in this process, the agent in another one, with eight healthy scorers
of one second beside eight hostile ones. Prints a Markdown table; exits with 1 when a figure misses
its goal.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from benchmarks.measure import Figure, allocator, memory, options, shown
from tests.support.agent.http import HttpFake, scores
from tests.support.agent.running import ConfigMapVolume, entry
from tests.support.hostile import KINDS, hostile

HERE = Path(__file__).parent
PEERS = 8
HEALTH_SECONDS = 0.5
SIDES: Sequence[str] = ("APIs", "sources")
# Asks in a process of its own, because this one is busy with being hostile. Prints the seconds of
# the slowest.
HEALTH = """
import http.client, sys, time
port, seconds = int(sys.argv[1]), float(sys.argv[2])
slowest, end = 0.0, time.monotonic() + seconds
while time.monotonic() < end:
    start = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/healthz")
    assert connection.getresponse().read() == b"ok\\n"
    connection.close()
    slowest = max(slowest, time.monotonic() - start)
    time.sleep(0.05)
print(slowest)
"""


async def _measure(kind: str, *, side: str, seconds: float, directory: Path) -> list[Figure]:
    volume = ConfigMapVolume(directory / "config")
    async with AsyncExitStack() as stack:
        healthy = await stack.enter_async_context(HttpFake(scores(1.0)))
        # A path for each, so that the requests of each scorer can be counted.
        entries = [
            entry(f"well{n}", scoring=f"{healthy.url}/well{n}/", scoringInterval=1)
            for n in range(PEERS)
        ]
        if kind in KINDS:
            for number in range(PEERS):
                server = await stack.enter_async_context(hostile(kind))
                urls = {"scoring": healthy.url, "source": server.url}
                if side == "APIs":
                    urls = {"scoring": server.url}
                entries.append(entry(f"bad{number}", **urls, scoringInterval=1))
        volume.put(*entries)
        flags = [
            f"--config-dir={volume.directory}",
            "--cluster-name=c",
            f"--publish=dir:{directory}/out",
            "--metrics-address=127.0.0.1:0",
            "--splay=0",
        ]
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            HERE / "canary.py",
            *("--seconds", str(seconds), "run", *flags),
            stdout=asyncio.subprocess.PIPE,
            # The agent says of each hostile answer what is wrong with it.
            stderr=asyncio.subprocess.DEVNULL,
        )
        assert child.stdout is not None
        port = json.loads(await child.stdout.readline())
        probe = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            HEALTH,
            str(port),
            # It ends before the agent does, whose peak is read while it runs.
            str(seconds - 1),
            stdout=asyncio.subprocess.PIPE,
        )
        health, _ = await probe.communicate()
        peak = memory(child.pid)
        longest = json.loads(await child.stdout.readline())
        await child.wait()
        fewest = min(len(healthy.to(f"well{n}")) for n in range(PEERS))
    turn = (
        f"longest turn of the loop: {1000 * longest['cpu']:.0f} ms of CPU,"
        f" {1000 * longest['wall']:.0f} ms on the clock"
    )
    case = _case(kind, side)
    # The agent needs about a second until its first cycle.
    missed = 1 - fewest / (seconds - 1)
    return [
        Figure(f"{case}: cycles that healthy scorers missed", 100 * missed, 15, "%", turn),
        Figure(f"{case}: slowest /healthz", float(health), HEALTH_SECONDS, "s"),
        Figure(f"{case}: peak of memory", peak, 200, "MB"),
    ]


def _case(kind: str, side: str) -> str:
    if kind not in KINDS:
        return kind
    return f"{PEERS} peers, {kind}, {side}"


def figures(kinds: Sequence[str], seconds: float) -> Iterator[Figure]:
    for kind in kinds:
        sides = SIDES
        # Without a hostile peer both sides are the same.
        if kind not in KINDS:
            sides = SIDES[:1]
        for side in sides:
            with tempfile.TemporaryDirectory(prefix="gitops-dsf-bench-") as directory:
                yield from asyncio.run(
                    _measure(kind, side=side, seconds=seconds, directory=Path(directory))
                )


def main() -> int:
    # `nobody` is what the agent does without hostile peers, to compare with.
    flags = options(__doc__, only=["nobody", *KINDS], seconds=20.0)
    os.environ.update(allocator("agent"))
    return shown(figures(flags.only or ["nobody", *KINDS], flags.seconds))


if __name__ == "__main__":
    sys.exit(main())
