"""The informers of a replica without their watches."""

import asyncio

from gitops_dsf.reconciler.hub.view import HubView


async def read_again(view: HubView) -> None:
    """Reads every list again."""
    await view.masks.refresh()
    for informer in view.informers:
        await informer.refresh()


async def keep_reading(view: HubView) -> None:
    """Reads every list again and again, until it is cancelled."""
    while True:
        await asyncio.sleep(0.05)
        await read_again(view)
