"""HTTP clients that were replaced while calls were in flight: closed once those calls must be over."""

import asyncio

import httpx


class Retirement:
    """Closes clients after a grace, in seconds, so that new credentials never break a call made with the old ones."""

    def __init__(self, *, grace: float) -> None:
        self._grace = grace
        self._waiting: dict[asyncio.Task[None], httpx.AsyncClient] = {}

    def add(self, client: httpx.AsyncClient) -> None:
        task = asyncio.create_task(self._later(client), name="retire-client")
        self._waiting[task] = client
        task.add_done_callback(lambda done: self._waiting.pop(done, None))

    async def close(self) -> None:
        """Closes all of them now."""
        waiting = dict(self._waiting)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        for client in waiting.values():
            await client.aclose()

    async def _later(self, client: httpx.AsyncClient) -> None:
        await asyncio.sleep(self._grace)
        await client.aclose()
