"""What every duty of the reconciler is, and how duties are kept running: one that fails starts anew and stops
no other.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Final, Protocol

from dsf_runtime.backoff import Backoff
from gitops_dsf.reconciler.metrics import Metrics

LOG = logging.getLogger(__name__)
RESTARTS: Final = Backoff(first=1.0, ceiling=60.0, jitter=0)
"""Before a failed duty starts anew."""
STEADY_SECONDS: Final = 300.0
"""A duty that worked for so long has recovered: its next failure is a first one again."""


class Duty(Protocol):
    """Runs on the leader only. Cancelling it at any point leaves nothing half-done that a next run would do
    twice.
    """

    @property
    def name(self) -> str:
        """One word for logs and metrics."""

    @property
    def ready(self) -> bool:
        """Whether it has seen what it watches."""

    async def run(self) -> None:
        """Works until it is cancelled."""


async def keep_running(duties: Sequence[Duty], *, metrics: Metrics) -> None:
    """Runs all duties until cancelled."""
    async with asyncio.TaskGroup() as group:
        for duty in duties:
            group.create_task(_keep(duty, metrics), name=duty.name)


async def _keep(duty: Duty, metrics: Metrics) -> None:
    failures = 0
    clock = asyncio.get_running_loop().time
    while True:
        began = clock()
        try:
            await duty.run()
        except Exception:
            _end_if_cancelled()
            if clock() - began >= STEADY_SECONDS:
                failures = 0
            # A bug in one duty must not take the others along; the count is what alerts look at.
            LOG.exception("duty %s failed; it starts anew in %g s", duty.name, RESTARTS.delay(failures + 1))
        else:
            _end_if_cancelled()
        metrics.failures.labels(duty=duty.name).inc()
        failures += 1
        await asyncio.sleep(RESTARTS.delay(failures))


def _end_if_cancelled() -> None:
    """What fails while it is cancelled loses the cancellation, as in asyncio.TaskGroup, and would go on
    without leading.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
