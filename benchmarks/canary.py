"""An agent in this process, beside a task that yields all the time. Prints two lines of JSON: the port of its
pages, and at the end the longest step of the event loop, in CPU seconds and on the clock.

    python canary.py [--seconds N] FLAGS
    python canary.py --probe URL...

FLAGS are those of gitops-dsf-agent. With --probe, the client of the reconciler's probes asks for these pages
at once instead, and the first line says how many answered.
"""

import argparse
import asyncio
import json
import ssl
import time
from collections.abc import Callable

from dsf_agent.configuration import settings
from dsf_agent.process import build
from dsf_agent.process.supervise import Agent, tune
from dsf_runtime import threads


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=14.0)
    parser.add_argument("--probe", metavar="URL", nargs="+", default=[])
    own, flags = parser.parse_known_args()
    if own.probe:
        await probe(own.probe)
        return
    read = settings.read(settings.parser().parse_args(flags), {})
    threads.use_threads(64)
    agent = Agent(adapters=build.Adapters(read))
    tune()
    task = asyncio.create_task(agent.run())
    while not agent.server.port:  # noqa: ASYNC110 - the server has no event for it
        await asyncio.sleep(0.01)
    print(json.dumps(agent.server.port), flush=True)
    end = time.monotonic() + own.seconds
    print(json.dumps(await longest(lambda: time.monotonic() < end)), flush=True)
    agent.stop()
    await task


async def probe(urls: list[str]) -> None:
    """Asks for the pages."""
    from gitops_dsf.sync.fetch import Fetcher, Page  # the agent's environment does not have it

    async with Fetcher(trust=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)) as fetcher:
        asked = asyncio.gather(*map(fetcher.get, urls))
        steps = await longest(lambda: not asked.done())
        answers = await asked
    print(json.dumps(sum(isinstance(answer, Page) for answer in answers)), flush=True)
    print(json.dumps(steps), flush=True)


async def longest(go_on: Callable[[], bool]) -> dict[str, float]:
    """The longest step of the event loop meanwhile."""
    cpu = wall = 0.0
    while go_on():
        # CPU of this thread: what a step of ours took, whatever else the machine does. Each of the two waits
        # sees a turn of the loop, or two of them together.
        for seconds in (0, 0.0005):
            started, clock = time.thread_time(), time.monotonic()
            await asyncio.sleep(seconds)
            cpu, wall = max(cpu, time.thread_time() - started), max(wall, time.monotonic() - clock)
    return {"cpu": cpu, "wall": wall}


if __name__ == "__main__":
    asyncio.run(main())
