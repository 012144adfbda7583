"""The loop in which every controller of the leader runs.

A controller is a function `reconcile`: it reads what the informers show, writes what differs, and
returns the seconds after which it must look again (None: only after a change). `run_controller`
does the rest:

- It waits until every source of the controller was read once.
- It reconciles only while nothing that the controller `requires` may be outdated. So what an
  informer merely missed is never taken for absent.
- It looks again after a change, after the time that `reconcile` asked for, and after a failure.
- It counts the outcomes of each controller, and logs failures.

What is not guaranteed:

- That each change has a pass of its own. Changes that arrive during a pass are seen by the next
  one.
- That a pass ends. It may be cancelled at any await, and the next leader knows nothing of it, so
  `reconcile` must be correct without memory.
- That this replica still leads. A process can be frozen after any look at its claim, so `HubApi`
  looks at it right before each write leaves, and `Clone` before each push.

Any other exception than NotReady and ApiError is a bug. It ends the loop, and `restarts` begins it
again.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from http import HTTPStatus
from typing import Final

from dsf_runtime.apiserver import ApiError
from dsf_runtime.backoff import Backoff
from dsf_runtime.clock import happens_within
from gitops_dsf.reconciler.context import ControllerContext
from gitops_dsf.reconciler.hub.view import Source

INTERVAL_SECONDS: Final = 10.0
"""The time between two passes of a controller that does not say when it must look again."""
RETRY_SECONDS: Final = 10.0
"""The pause after a pass that failed on the hub.

It does not grow: what the hub refuses for one object has growing pauses of its own in the
controller, and the first answer after an outage should be used at once.
"""
CONFLICT_SECONDS: Final = 1.0
"""The pause after a conflict. A moment later the informer shows what the other writer wrote."""

LOG = logging.getLogger(__name__)


class NotReady(Exception):  # noqa: N818 - a state, not a mistake
    """A controller cannot decide now, although the hub answers. The message is the reason."""

    def __init__(self, message: str, *, seconds: float = 0.0) -> None:
        """`seconds` is the shortest time after which another pass makes sense."""
        super().__init__(message)
        self.seconds = seconds


async def run_controller(
    reconcile: Callable[[], Awaitable[float | None]],
    *,
    name: str,
    context: ControllerContext,
    failing: str,
    reads: Collection[Source] = (),
    requires: Collection[Source] = (),
    needs_clock: bool = False,
    wake: asyncio.Event | None = None,
    min_interval: float = 0.0,
    backoff: Backoff | None = None,
) -> None:
    """Runs a controller until it is cancelled.

    `name` is the label of its metric, and `failing` says in the log what does not happen while it
    fails. `requires` are the sources that must be current in each pass, and `reads` those that must
    only have been read once. `needs_clock` is for what depends on the hub's time. `wake` is set
    when something changed.

    `min_interval` is the shortest time between two passes. `backoff` is for other servers than the
    hub: its pauses grow with each failure, and no change shortens them. Without it a pass that
    failed is repeated after RETRY_SECONDS, or when something changes.
    """
    changed = wake if wake is not None else asyncio.Event()
    failures = 0
    last_message = ""
    for source in (*reads, *requires):
        await source.synced.wait()
    while True:
        # Before the pass: a change during it, which the pass may not have seen, starts another one.
        changed.clear()
        seconds: float | None = RETRY_SECONDS
        message = ""
        try:
            _check_ready(context, requires, needs_clock=needs_clock)
            seconds = await reconcile()
            outcome = "done"
        except NotReady as error:
            outcome = "not-ready"
            message = str(error)
            seconds = max(RETRY_SECONDS, error.seconds)
        except ApiError as error:
            if error.status == HTTPStatus.CONFLICT:
                # The client has logged it, and counted it by resource.
                outcome = "conflict"
                seconds = CONFLICT_SECONDS
            else:
                outcome = "failed"
                message = str(error)
        context.metrics.reconciles.labels(controller=name, outcome=outcome).inc()
        failures = failures + 1 if message else 0
        if message and backoff is not None:
            pause = max(backoff.delay(failures), seconds or 0.0)
            LOG.warning("%s; next try in %g s: %s", failing, pause, message)
            await asyncio.sleep(pause)
            continue
        # An outage lasts for many passes, and one line says all of it.
        if message and message != last_message:
            LOG.warning("%s: %s", failing, message)
        last_message = message
        # A change that comes during this pause has set the event, so it is not lost.
        await asyncio.sleep(min_interval)
        rest = None if seconds is None else max(0.0, seconds - min_interval)
        await happens_within(changed, seconds=rest)


def _check_ready(
    context: ControllerContext, requires: Collection[Source], *, needs_clock: bool
) -> None:
    """Raises NotReady."""
    if needs_clock and not context.api.clock.known:
        raise NotReady("the hub's time is not known")
    stale_reason = context.view.stale_reason(requires)
    if stale_reason:
        raise NotReady(stale_reason)
