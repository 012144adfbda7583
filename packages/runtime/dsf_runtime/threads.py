"""A thread pool for files and look-ups of names, which may hang: asyncio's own joins them."""

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
"""The time for which the process waits for its threads at the end."""


class Threads(ThreadPoolExecutor):
    """An executor whose shutdown does not wait. Threads are created when they are needed."""

    def __init__(self, max_threads: int) -> None:
        super().__init__(max_workers=max_threads, thread_name_prefix=NAME)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Returns at once."""
        # asyncio.run waits for the default executor, and a look-up of a name whose DNS server is
        # away may hang for longer than the grace period of a pod.
        del wait, cancel_futures
        super().shutdown(wait=False, cancel_futures=True)


def use_threads(max_threads: int) -> None:
    """Makes such a pool the default executor.

    It needs more threads than there are calls that may hang.
    """
    asyncio.get_running_loop().set_default_executor(Threads(max_threads))


def leave(code: int) -> int:
    """Returns the exit code, or ends the process if a thread hangs, for which Python would wait."""
    end = time.monotonic() + LEAVE_SECONDS
    for thread in threading.enumerate():
        if thread.name.startswith(NAME):
            thread.join(timeout=max(0.0, end - time.monotonic()))
    if not any(thread.name.startswith(NAME) for thread in threading.enumerate()):
        return code
    log.warning("a name look-up or a file access still hangs, ending the process anyway")
    # os._exit ends the process without what Python does at its end, so buffers are written first.
    logging.shutdown()
    sys.stdout.flush()
    os._exit(code)
