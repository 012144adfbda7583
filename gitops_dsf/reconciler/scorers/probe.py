"""One round of probes: /healthz and, with configSyncMode Full, /config of every scorer, all at once, each
page once.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.urls import origin
from gitops_dsf.reconciler.scorers.health import UNREACHED
from gitops_dsf.sync.fetch import Fault, Fetcher, Page


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """What a scorer answered; `config` is None where its page does not count."""

    health: Page | Fault
    config: Page | Fault | None


async def probe(scorers: Iterable[DynamicScorer], *, fetcher: Fetcher) -> dict[str, Probe]:
    """Answers by scorer name.

    /healthz of all comes first, and /config only of those that were reached, so an API that hangs costs one
    time limit and one place: a round takes one time limit, plus what it takes to ask everybody; two where
    /healthz is slow and /config hangs.
    """
    wanted = {
        item.metadata.name: (_healthz(item), item.spec.config_url if item.spec.mode == "Full" else None)
        for item in scorers
    }
    async with asyncio.TaskGroup() as group:
        health = {
            url: group.create_task(fetcher.get(url)) for url in sorted({url for url, _ in wanted.values()})
        }
        config = {
            url: group.create_task(_config(url, health[first], fetcher))
            for first, url in sorted({(first, url) for first, url in wanted.values() if url is not None})
        }
    return {
        name: Probe(health=health[first].result(), config=None if url is None else config[url].result())
        for name, (first, url) in wanted.items()
    }


def _healthz(item: DynamicScorer) -> str:
    return f"{origin(item.spec.config_url)}/healthz"


async def _config(url: str, health: "asyncio.Task[Page | Fault]", fetcher: Fetcher) -> Page | Fault:
    answer = await health
    if isinstance(answer, Fault) and answer.kind in UNREACHED:
        return answer
    return await fetcher.get(url)
