"""One round of probes: /healthz and, with configSyncMode Full, /config of every scorer, all at once, each page once."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from gitops_dsf.reconciler.objects import Scorer
from gitops_dsf.resolve.overlay import origin
from gitops_dsf.sync.fetch import Fault, Fetcher, Page


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """What a scorer answered; `config` is None where its page does not count."""

    health: Page | Fault
    config: Page | Fault | None


async def probe(scorers: Iterable[Scorer], *, fetcher: Fetcher) -> dict[str, Probe]:
    """Answers by scorer name. A round takes as long as the slowest page, which is at most the fetcher's time limit."""
    wanted = {
        item.metadata.name: (f"{origin(item.spec.config_url)}/healthz", item.spec.config_url if item.spec.mode == "Full" else None)
        for item in scorers
    }
    urls = sorted({url for pair in wanted.values() for url in pair if url is not None})
    answers = dict(zip(urls, await asyncio.gather(*(fetcher.get(url) for url in urls)), strict=True))
    return {
        name: Probe(health=answers[health], config=None if config is None else answers[config]) for name, (health, config) in wanted.items()
    }
