"""What changes of a DynamicScorer mean for its health."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gitops_dsf.reconciler.hub.view import HubView
from tests.integration.reconciler.scorerhub import NAMESPACE, Leader, ScorerHub, leading
from tests.support.apiserver import Object
from tests.support.objecthub import ObjectHub
from tests.support.pageserver import PageServer

NOBODY = "http://127.0.0.1:1/config"


def change(hub: ObjectHub, name: str, **spec: object) -> None:
    """As Argo CD does it: the object stays the same one, and has another generation."""
    item: Object | None = hub.get("dynamicscorers", name, namespace=NAMESPACE)
    assert item is not None
    item["spec"] |= spec
    item["metadata"]["generation"] += 1


@asynccontextmanager
async def probing(hub: ObjectHub) -> AsyncIterator[HubView]:
    """A controller that runs. It learns of changes by `view.scorers.refresh()`."""
    async with leading(hub, interval=1000.0) as leader:
        await leader.view.scorers.refresh()
        work = asyncio.create_task(leader.controller.run())
        try:
            yield leader.view
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)


async def asked(pages: PageServer, page: str, times: int) -> None:
    async with asyncio.timeout(60):
        while pages.asked[page] < times:  # noqa: ASYNC110 - a counter has no event
            await asyncio.sleep(0.02)


async def test_a_change_of_one_scorer_is_no_probe_of_the_others(hub: ScorerHub, pages: PageServer) -> None:
    for name in ("one", "two"):
        hub.scorer(name, configURL=f"{pages.url}/{name}", configSyncMode="Full")
    async with probing(hub) as view:
        await asked(pages, "/one", 1)
        await asked(pages, "/two", 1)
        for times in (2, 3):
            change(hub, "one", suspend=times == 2)
            await view.scorers.refresh()
            await asked(pages, "/one", times)
        hub.scorer("three", configURL=f"{pages.url}/three", configSyncMode="Full")
        await view.scorers.refresh()
        await asked(pages, "/three", 1)
        # Three failures in a row within seconds would be hysteresis in name alone.
        assert (pages.asked["/one"], pages.asked["/two"]) == (3, 1)


async def test_an_api_that_nobody_ever_reached_is_unknown_whatever_the_one_before_it_was(
    hub: ScorerHub, leader: Leader
) -> None:
    hub.scorer("cpu")
    await leader.once()
    assert hub.condition("cpu", "Healthy")[0] == "True"
    change(hub, "cpu", configURL=NOBODY)
    await leader.once()
    status, reason, message = hub.condition("cpu", "Healthy")
    assert (status, reason) == ("Unknown", "Connection")
    assert message.startswith("never reached from the hub")


async def test_a_new_leader_takes_over_a_verdict_about_this_spec_and_none_about_another(
    pages: PageServer,
) -> None:
    for generation, status in ((1, "False"), (2, "Unknown")):
        async with ScorerHub(pages.url) as hub:
            hub.scorer("cpu")
            async with leading(hub) as first:
                await first.once()
            # With the same generation: as if the API had stopped.
            change(hub, "cpu", configURL=NOBODY)
            (hub.get("dynamicscorers", "cpu", namespace=NAMESPACE) or {})["metadata"]["generation"] = (
                generation
            )
            async with leading(hub) as second:
                await second.once()
            assert hub.condition("cpu", "Healthy")[0] == status
