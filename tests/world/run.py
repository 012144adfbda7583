"""Runs one world to its end, in a process of its own, and makes a failing one smaller."""

import asyncio
import itertools
import json
import math
import os
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from tests.world import faults, fleet, liveness, loop
from tests.world.faults import DrawnFault
from tests.world.world import Size, World, first_sources, folder, prepare, quieten

BEGIN_SECONDS: Final = 1200.0
"""Before it nothing goes wrong: the fleet is installed."""
EVERY_SECONDS: Final = 240.0
"""Between two faults, at the mean."""
SHOWN: Final = 60
"""Lines of the history that are shown of a failure."""


@dataclass(frozen=True, kw_only=True)
class WorldOrder:
    """What to run."""

    seed: int
    hours: float = 3.0
    """Until the faults end; then the world has liveness.BOUND_SECONDS to settle."""
    size: Size = field(default_factory=Size)
    settles: bool = True
    """Whether it goes on until it is settled. Without, it ends with the faults."""
    begin: float = BEGIN_SECONDS
    """Seconds until the first fault."""
    only: tuple[int, ...] | None = None
    """Numbers of the faults that happen; None means all."""

    @property
    def command(self) -> str:
        words = [f"make world SEED={self.seed} HOURS={self.hours:g}"]
        if self.size != Size():
            words.append(f"CLUSTERS={self.size.clusters} APPLICATIONS={self.size.applications}")
        if self.only is not None:
            words.append(f"FAULTS={','.join(map(str, self.only)) or 'none'}")
        return " ".join(words)


@dataclass(frozen=True, kw_only=True)
class WorldResult:
    order: WorldOrder
    law: str
    """The law that broke; empty if none did."""
    what: str
    digest: str
    hours: float
    """Virtual hours that it ran."""
    cpu: float
    """Seconds."""
    counts: dict[str, int]
    checks: dict[str, int]
    lines: list[str]
    faults: int


def planned(order: WorldOrder) -> tuple[DrawnFault, ...]:
    every = faults.plan(
        seed=order.seed, begin=order.begin, end=order.hours * 3600, every=EVERY_SECONDS
    )
    return (
        every if order.only is None else tuple(each for each in every if each.number in order.only)
    )


async def _live(order: WorldOrder, files: Path) -> tuple[World, str, str]:
    world = World(seed=order.seed, size=order.size, folder=files, faults=planned(order))
    prepare(seed=order.seed, net=world.network, lean=os.environ.get("WORLD_CLIENT") != "httpx")
    world.start()
    law, what = "", ""
    try:
        async with asyncio.timeout(order.hours * 3600):
            await world.ended.wait()
    except TimeoutError:
        if not order.settles:
            return world, "", ""
        liveness.calm(world)
        what = await _settle(world)
        law = "liveness" if what else ""
    if world.laws.broken is not None:
        law, what = world.laws.broken.law, str(world.laws.broken)
    return world, law, what


async def _settle(world: World) -> str:
    """Waits until the world is settled, and stays so. Returns what is not."""
    end = loop.world_loop().time() + liveness.BOUND_SECONDS
    quiet_since: float | None = None
    requests: Counter[str] = Counter()
    while not world.ended.is_set():
        now = loop.world_loop().time()
        # The first is enough to know that it is not settled.
        wrong = list(itertools.islice(liveness.unsettled(world), 5 if now > end else 1))
        if wrong:
            quiet_since = None
            if now > end:
                return (
                    f"after {liveness.BOUND_SECONDS / 3600:g} h without faults: {'; '.join(wrong)}"
                )
        elif quiet_since is None:
            quiet_since, requests = now, Counter(world.requests)
        elif now >= quiet_since + liveness.QUIET_SECONDS:
            asked = world.requests - requests
            return "; ".join(liveness.too_many_requests(asked, seconds=now - quiet_since))
        await asyncio.sleep(60.0)
    return ""


def run(order: WorldOrder) -> WorldResult:
    """Runs a world in this process, which is fit for nothing else afterwards."""
    began = time.process_time()
    quieten()
    with folder() as files:
        world, law, what = loop.run(_live(order, Path(files)))
    return WorldResult(
        order=order,
        law=law,
        what=what,
        digest=world.history.digest,
        hours=world.now / 3600,
        cpu=time.process_time() - began,
        counts=dict(world.history.counts),
        checks=dict(world.laws.checks),
        lines=list(world.history.lines),
        faults=len(world.storm.faults),
    )


def run_apart(order: WorldOrder, cpu: float = math.inf) -> WorldResult:
    """Runs a world in a child process, which ends when it has used so many seconds of CPU."""
    # What the child renders first, it then has from this process.
    fleet.rendered(first_sources(order.size, seed=order.seed))
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        if cpu < math.inf:
            # It sends SIGPROF, which ends the child. A limit of resources knows whole seconds.
            signal.setitimer(signal.ITIMER_PROF, cpu)
        with os.fdopen(write, "wb") as file:
            try:
                file.write(json.dumps(asdict(run(order))).encode())
            except BaseException as error:  # noqa: BLE001 - the parent reports it
                text = "".join(traceback.format_exception(error))
                file.write(json.dumps({"crash": text}).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        answer = file.read()
    _, status, used = os.wait4(child, 0)
    spent = used.ru_utime + used.ru_stime
    died = "the process died"
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF:
        died = f"the world was stopped: it had used {spent:.1f} s of CPU"
    plain: dict[str, Any] = json.loads(answer or json.dumps({"crash": died}))
    if "crash" in plain:
        return WorldResult(
            order=order,
            law="crash",
            what=plain["crash"],
            digest="",
            hours=0,
            cpu=spent,
            counts={},
            checks={},
            lines=[],
            faults=0,
        )
    return WorldResult(**{**plain, "order": order})


def smaller(
    result: WorldResult, *, cpu: float, run: Callable[[WorldOrder, float], WorldResult] = run_apart
) -> WorldResult:
    """The same failure with fewer faults, as far as so many seconds of CPU go."""
    best = result
    numbers = [each.number for each in planned(result.order)]
    size = max(1, len(numbers) // 2)
    while size and cpu > 0:
        for start in range(0, len(numbers), size):
            left = numbers[:start] + numbers[start + size :]
            if cpu <= 0:
                break
            again = run(replace(result.order, only=tuple(left)), cpu)
            cpu -= again.cpu
            if again.law == result.law:
                best, numbers = again, left
                size = min(size, max(1, len(numbers) // 2))
                break
        else:
            size //= 2
    return best


def told(result: WorldResult) -> Iterable[str]:
    """What people read of a result."""
    if not result.law:
        yield (
            f"seed {result.order.seed}: {result.hours:.1f} virtual hours, {result.faults} faults,"
            f" {result.cpu:.1f} s of CPU, digest {result.digest[:16]}"
        )
        return
    yield f"seed {result.order.seed} broke a law: {result.law}"
    yield from result.lines[-SHOWN:]
    yield result.what
    yield f"again: {result.order.command}"
