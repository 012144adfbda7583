"""Threads that look host names up, which asyncio leaves to the loop's default executor: a handful of them by default."""

import asyncio
from concurrent.futures import ThreadPoolExecutor


def resolve_in(threads: int) -> None:
    """Gives the running loop so many, made as they are needed.

    A name server that says nothing keeps a thread for half a minute, long after the probe was given up. With fewer threads than probes at
    a time, names that hang would take those of healthy scorers along.
    """
    executor = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="resolver")
    asyncio.get_running_loop().set_default_executor(executor)
