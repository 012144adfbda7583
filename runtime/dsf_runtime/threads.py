"""Threads for what blocks: files, and the look-up of host names, which asyncio hands to the same pool.

A name server or a file system that hangs keeps its thread for as long as it likes. asyncio's own pool has a
handful of threads, so a few such peers would stop all others, and it joins every thread at the end, so the
process would not end either.
"""

import asyncio
import logging
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Final

log = logging.getLogger(__name__)

NAME: Final = "blocking"
LEAVE_SECONDS: Final = 0.5
"""How long the end of the process waits for them."""


class Threads(ThreadPoolExecutor):
    """An executor whose shutdown never waits. Threads are made as they are needed."""

    def __init__(self, most: int) -> None:
        super().__init__(max_workers=most, thread_name_prefix=NAME)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Never waits."""
        del wait, cancel_futures
        super().shutdown(wait=False, cancel_futures=True)


def use_threads(most: int) -> None:
    """Makes a pool of at most so many threads the default executor of the running loop.

    Choose more than there are calls at a time, or names that hang keep the names of healthy peers waiting.
    """
    asyncio.get_running_loop().set_default_executor(Threads(most))


def leave(code: int) -> int:
    """Returns the exit code if the interpreter can end by itself; ends the process here where a
    thread hangs.
    """
    end = time.monotonic() + LEAVE_SECONDS
    for thread in threading.enumerate():
        if thread.name.startswith(NAME):
            thread.join(timeout=max(0.0, end - time.monotonic()))
    if not any(thread.name.startswith(NAME) for thread in threading.enumerate()):
        return code
    log.warning("a name look-up or a file still hangs, leaving without it")
    logging.shutdown()
    sys.stdout.flush()
    os._exit(code)
