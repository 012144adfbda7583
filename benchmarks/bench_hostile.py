"""What hostile peers do to an agent: the longest turn of its event loop, the cycles of healthy scorers,
/healthz, and the peak of memory.

    .venv/bin/python -m benchmarks.bench_hostile [--only KIND] [--seconds N]

The peers run in this process, the agent in another one, with eight healthy scorers of one second beside
eight hostile ones. Prints a Markdown table; exits with 1 when a figure misses its goal.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bench_agent import peak
from tests.support.agent.apis import scores
from tests.support.agent.configmap import ConfigMapVolume, entry
from tests.support.agent.http import HttpFake
from tests.support.hostile import KINDS, hostile

HERE = Path(__file__).parent
PEERS = 8
PAGES = 64
CYCLES, HEALTH_SECONDS, PEAK_MB = 0.85, 0.5, 200.0
SIDES = ("APIs", "sources")


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
"""Asks in a process of its own: this one is busy with being hostile."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one kind of peer did."""

    kind: str
    turn_ms: float
    turn_cpu_ms: float
    cycles: float
    health: float
    peak: float

    @property
    def good(self) -> bool:
        return self.cycles >= CYCLES and self.health <= HEALTH_SECONDS and self.peak <= PEAK_MB

    def text(self) -> str:
        figures = (
            f"{self.turn_cpu_ms:.0f} | {self.turn_ms:.0f} | {100 * self.cycles:.0f} %"
            f" | {self.health:.3f} | {self.peak:.0f}"
        )
        return f"| {self.kind} | {figures} | {'ok' if self.good else 'MISSED'} |"


async def _measure(kind: str, *, side: str, seconds: float, directory: Path) -> Row:
    volume = ConfigMapVolume(directory / "config")
    async with AsyncExitStack() as stack:
        well = await stack.enter_async_context(HttpFake(scores(1.0)))
        entries = [entry(f"well{n}", scoring=f"{well.url}/well{n}/", scoringInterval=1) for n in range(PEERS)]
        if kind in KINDS:
            servers = [await stack.enter_async_context(hostile(kind)) for _ in range(PEERS)]
            for n, server in enumerate(servers):
                urls = (
                    {"scoring": server.url} if side == "APIs" else {"scoring": well.url, "source": server.url}
                )
                entries.append(entry(f"bad{n}", **urls, scoringInterval=1))
        volume.put(*entries)
        flags = ["--config-dir", volume.directory, "--cluster-name", "c", "--publish", f"dir:{directory}/out"]
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, HERE / "canary.py", "--seconds", str(seconds)),
            *("run", "--metrics-address", "127.0.0.1:0", "--splay", "0", *map(str, flags)),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        assert child.stdout is not None
        port = json.loads(await child.stdout.readline())
        health = await _health(port, seconds=seconds - 1)
        memory = peak(child.pid)
        report = json.loads(await child.stdout.readline())
        await child.wait()
        beats = [len(well.to(f"well{n}")) for n in range(PEERS)]
        return Row(
            kind=f"{kind}, {side}" if kind in KINDS else kind,
            turn_ms=1000 * report["wall"],
            turn_cpu_ms=1000 * report["cpu"],
            cycles=min(beats) / (seconds - 1),
            health=health,
            peak=memory,
        )


async def _probes(kind: str) -> tuple[str, bool]:
    """The longest turn of a loop that probes 64 hostile pages at once, as a row."""
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(hostile(kind)) for _ in range(PAGES)]
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            HERE / "canary.py",
            "--probe",
            *(server.url for server in servers),
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await child.communicate()
        assert child.pid
        cpu = 1000 * json.loads(out.splitlines()[-1])["cpu"]
        wall = 1000 * json.loads(out.splitlines()[-1])["wall"]
        good = wall <= 1000 * HEALTH_SECONDS
        return f"| {kind} | {cpu:.0f} | {wall:.0f} | {'ok' if good else 'MISSED'} |", good


async def _health(port: int, *, seconds: float) -> float:
    """The slowest of many answers, in seconds."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HEALTH, str(port), str(seconds), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await child.communicate()
    return float(out)


async def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", metavar="KIND", choices=["nobody", *KINDS])
    parser.add_argument("--seconds", type=float, default=20.0)
    flags, _ = parser.parse_known_args()
    print(
        "| eight peers of | longest turn, CPU ms | on the clock | healthy cycles | /healthz, s | peak, MB | |"
    )
    print("|---|---|---|---|---|---|---|", flush=True)
    good = True
    for kind in [flags.only] if flags.only else ["nobody", *KINDS]:
        for side in SIDES if kind in KINDS else SIDES[:1]:
            with tempfile.TemporaryDirectory(prefix="gitops-dsf-bench-") as directory:
                row = await _measure(kind, side=side, seconds=flags.seconds, directory=Path(directory))
            print(row.text(), flush=True)
            good = good and row.good
    print(
        f"\n| probes of {PAGES} pages | longest turn, CPU ms | on the clock | |\n|---|---|---|---|",
        flush=True,
    )
    for kind in KINDS:
        if flags.only in {None, kind}:
            text, fine = await _probes(kind)
            print(text, flush=True)
            good = good and fine
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
