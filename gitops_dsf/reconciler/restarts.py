"""Restarts work that ended because of a bug.

So a bug in one part of the process ends no other part.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from dsf_runtime.backoff import Backoff
from dsf_runtime.clock import monotonic

LOG = logging.getLogger(__name__)
RESTARTS: Final = Backoff(first=1.0, ceiling=60.0, jitter=0)
STEADY_SECONDS: Final = 300.0
"""Work that ran for this long has recovered: its next failure counts as the first one."""


async def keep(
    name: str, run: Callable[[], Awaitable[None]], *, failed: Callable[[], None]
) -> None:
    """Runs until cancelled. `failed` counts every end of `run`, which should have none."""
    failures = 0
    while True:
        began = monotonic()
        # A task of its own: in Python 3.11 and 3.12 a TaskGroup that fails may leave its task
        # marked as cancelled.
        work = asyncio.ensure_future(run())
        try:
            await work
        except (Exception, asyncio.CancelledError):
            _end_if_cancelled()
            if monotonic() - began >= STEADY_SECONDS:
                failures = 0
            # A bug in one controller must not end the others. Alerts look at the counter.
            LOG.exception(
                "controller %s failed and is started again in %g s",
                name,
                RESTARTS.delay(failures + 1),
            )
        else:
            _end_if_cancelled()
        failed()
        failures += 1
        await asyncio.sleep(RESTARTS.delay(failures))


def _end_if_cancelled() -> None:
    """Raises CancelledError again if another exception has replaced it.

    Otherwise the work would be started again without leadership.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
