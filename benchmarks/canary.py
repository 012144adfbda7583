"""An agent in this process, beside a task that yields all the time; prints the longest step of the event loop
in CPU seconds as JSON.

The arguments are those of gitops-dsf-agent.
"""

import asyncio
import json
import sys
import time

from dsf_agent import build, settings
from dsf_agent.supervise import Agent, tune
from dsf_runtime.clock import SystemClock

SECONDS = 14


async def main() -> None:
    read, _ = settings.read(sys.argv[1:], {})
    agent = Agent(adapters=build.adapters(read, clock=SystemClock()))
    tune()
    task = asyncio.create_task(agent.run())
    steps, end = [], time.monotonic() + SECONDS
    while time.monotonic() < end:
        start = time.thread_time()
        await asyncio.sleep(0)
        # CPU of this thread between two turns of the loop: what a step of ours took, whatever else the
        # machine does.
        steps.append(time.thread_time() - start)
        await asyncio.sleep(0.0005)
    agent.stop()
    await task
    print(json.dumps(max(steps)))


if __name__ == "__main__":
    asyncio.run(main())
