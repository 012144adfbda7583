"""An agent in this process, beside a task that yields all the time. Prints two lines of JSON: the port of its
pages, and at the end the longest step of the event loop, in CPU seconds and on the clock.

    python canary.py [--seconds N] FLAGS

FLAGS are those of gitops-dsf-agent.
"""

import argparse
import asyncio
import json
import time

from dsf_agent.configuration import settings
from dsf_agent.process import build
from dsf_agent.process.supervise import Agent, tune
from dsf_runtime import threads


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=14.0)
    own, flags = parser.parse_known_args()
    read = settings.read(settings.parser().parse_args(flags), {})
    threads.use_threads(64)
    agent = Agent(adapters=build.Adapters(read))
    tune()
    task = asyncio.create_task(agent.run())
    while not agent.server.port:  # noqa: ASYNC110 - the server has no event for it
        await asyncio.sleep(0.01)
    print(json.dumps(agent.server.port), flush=True)
    print(json.dumps(await longest(time.monotonic() + own.seconds)), flush=True)
    agent.stop()
    await task


async def longest(end: float) -> dict[str, float]:
    """The longest step of the event loop until then."""
    cpu = wall = 0.0
    while time.monotonic() < end:
        # CPU of this thread: what a step of ours took, whatever else the machine does. Each of the two waits
        # sees a turn of the loop, or two of them together.
        for seconds in (0, 0.0005):
            started, clock = time.thread_time(), time.monotonic()
            await asyncio.sleep(seconds)
            cpu, wall = max(cpu, time.thread_time() - started), max(wall, time.monotonic() - clock)
    return {"cpu": cpu, "wall": wall}


if __name__ == "__main__":
    asyncio.run(main())
