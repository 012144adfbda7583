"""An agent in this process, beside a task that notices how long the event loop is held.

    python canary.py [--seconds N] FLAGS

FLAGS are those of gitops-dsf-agent. Prints two lines of JSON: the port of its pages, and at the end
the longest step of the event loop, in CPU seconds and on the clock.
"""

import argparse
import asyncio
import json
import time

from dsf_agent.configuration import settings
from dsf_agent.process import build
from dsf_agent.process.supervise import Supervisor, tune
from dsf_runtime import threads


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=14.0)
    own, flags = parser.parse_known_args()
    agent_settings = settings.read(settings.parser().parse_args(flags), {})
    # What dsf_agent.main does before an agent runs; it has no place for a second task.
    threads.use_threads(64)
    agent = Supervisor(adapters=build.Adapters(agent_settings))
    tune()
    task = asyncio.create_task(agent.run())
    while not agent.server.port:  # noqa: ASYNC110 - the server has no event for it
        await asyncio.sleep(0.01)
    # Whoever started this reads the port to ask for /healthz meanwhile.
    print(json.dumps(agent.server.port), flush=True)
    print(json.dumps(await longest(time.monotonic() + own.seconds)), flush=True)
    agent.stop()
    await task


async def longest(end: float) -> dict[str, float]:
    """The longest step of the event loop until then."""
    longest_cpu = 0.0
    longest_wall = 0.0
    while time.monotonic() < end:
        # CPU of this thread: what a step of ours took, whatever else the machine does. Each of the
        # two waits sees a turn of the loop, or two of them together.
        for seconds in (0, 0.0005):
            cpu_before = time.thread_time()
            wall_before = time.monotonic()
            await asyncio.sleep(seconds)
            longest_cpu = max(longest_cpu, time.thread_time() - cpu_before)
            longest_wall = max(longest_wall, time.monotonic() - wall_before)
    return {"cpu": longest_cpu, "wall": longest_wall}


if __name__ == "__main__":
    asyncio.run(main())
