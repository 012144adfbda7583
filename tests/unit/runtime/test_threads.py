"""Look-ups of names that hang, and one that does not."""

import asyncio
import threading

from dsf_runtime.threads import use_threads
from gitops_dsf.reconciler.run import CONCURRENT


async def test_look_ups_that_hang_do_not_block_others() -> None:
    use_threads(CONCURRENT)
    loop, released = asyncio.get_running_loop(), threading.Event()
    # All probes at a time but one hang where a name is looked up.
    hanging = [loop.run_in_executor(None, released.wait, 60) for _ in range(CONCURRENT - 1)]
    try:
        async with asyncio.timeout(60):
            assert await loop.getaddrinfo("localhost", 80)
    finally:
        released.set()
        await asyncio.gather(*hanging)
