"""What a controller is, and how controllers are kept running: one that fails is started again and stops no
other.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from prometheus_client import Counter

from dsf_runtime.backoff import Backoff
from dsf_runtime.clock import monotonic

LOG = logging.getLogger(__name__)
RESTARTS: Final = Backoff(first=1.0, ceiling=60.0, jitter=0)
"""Pauses before a failed controller is started again."""
STEADY_SECONDS: Final = 300.0
"""A controller that ran for this long has recovered: its next failure counts as the first one."""


Controllers = Mapping[str, Callable[[], Awaitable[None]]]
"""Control loops of the leader, by a word for logs and metrics. Each can be cancelled at any point: the next
run repeats nothing that was done already.
"""


async def keep_running(controllers: Controllers, *, failures: Counter) -> None:
    """Runs all controllers until cancelled. `failures` has the label `duty`: the controller's name."""
    async with asyncio.TaskGroup() as group:
        for name, run in controllers.items():
            group.create_task(_keep(name, run, failures), name=name)


async def _keep(name: str, run: Callable[[], Awaitable[None]], total: Counter) -> None:
    failures = 0
    while True:
        began = monotonic()
        # A task of its own: in Python 3.11 and 3.12 a TaskGroup that fails may leave its task marked as
        # cancelled.
        work = asyncio.ensure_future(run())
        try:
            await work
        except (Exception, asyncio.CancelledError):
            _end_if_cancelled()
            if monotonic() - began >= STEADY_SECONDS:
                failures = 0
            # A bug in one controller must not end the others. Alerts look at the counter.
            LOG.exception(
                "controller %s failed and is started again in %g s", name, RESTARTS.delay(failures + 1)
            )
        else:
            _end_if_cancelled()
        total.labels(duty=name).inc()
        failures += 1
        await asyncio.sleep(RESTARTS.delay(failures))


def _end_if_cancelled() -> None:
    """Raises CancelledError again when an exception during cancellation replaced it, as in asyncio.TaskGroup.

    Otherwise the controller would go on without leadership.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
