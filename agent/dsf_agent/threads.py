"""Threads for what blocks: files, and the look-up of names, which asyncio hands to the same pool.

A resolver or a file system that hangs keeps its thread for as long as it likes. asyncio's own pool has a handful of threads, so a few
such scorers would stop all others, and joins every one of them at the end, so the process would not end either.
"""

import logging
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Final

log = logging.getLogger(__name__)

MOST: Final = 64
"""Made as they are needed."""
NAME: Final = "blocking"
LEAVE_SECONDS: Final = 0.5
"""How long the end of the process waits for them."""


class Threads(ThreadPoolExecutor):
    """The loop's default executor."""

    def __init__(self) -> None:
        super().__init__(max_workers=MOST, thread_name_prefix=NAME)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Never waits."""
        del wait, cancel_futures
        super().shutdown(wait=False, cancel_futures=True)


def leave(code: int) -> int:
    """The exit code, if the interpreter can end by itself; where a thread hangs, the process ends here."""
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
