"""The informers of a replica without their watches."""

from gitops_dsf.reconciler.hub.view import HubView


async def read_again(view: HubView) -> None:
    """Reads every list again."""
    await view.masks.refresh()
    for informer in view.informers:
        await informer.refresh()
