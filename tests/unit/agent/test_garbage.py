"""Reference cycles go while the agent runs, whatever the collector's own thresholds."""

import asyncio
import gc
import weakref

from dsf_agent import garbage
from tests.support.waiting import until


class Ring:
    """Refers to itself, as a failure's traceback does."""

    def __init__(self) -> None:
        self.itself = self


async def test_cycles_are_collected_by_the_clock() -> None:
    """Also where Python would not look for them yet, here never."""
    gc.disable()
    try:
        left = weakref.ref(Ring())
        await asyncio.sleep(0.05)
        assert left() is not None
        collecting = asyncio.create_task(garbage.collect(pause_seconds=0.01))
        await until(lambda: left() is None, what="the ring is gone")
        collecting.cancel()
        await asyncio.gather(collecting, return_exceptions=True)
    finally:
        gc.enable()
