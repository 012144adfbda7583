"""Reference cycles are freed while the agent runs, whatever the collector's thresholds are."""

import asyncio
import gc
import weakref

from dsf_agent.process import supervise
from tests.support.waiting import until


class Ring:
    """Refers to itself, as the traceback of a failure does."""

    def __init__(self) -> None:
        self.itself = self


async def test_reference_cycles_are_collected_periodically() -> None:
    gc.disable()
    try:
        left = weakref.ref(Ring())
        await asyncio.sleep(0.05)
        assert left() is not None
        collecting = asyncio.create_task(supervise.collect_periodically(pause_seconds=0.01))
        await until(lambda: left() is None, what="the ring is gone")
        collecting.cancel()
        await asyncio.gather(collecting, return_exceptions=True)
    finally:
        gc.enable()
