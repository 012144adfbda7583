"""What tests of scorers share."""

from collections.abc import AsyncIterator

import pytest

from tests.integration.reconciler.scorerhub import ScorerHub, ScorerLeader, leading
from tests.support.pageserver import ConfigPageServer


@pytest.fixture
async def hub(pages: ConfigPageServer) -> AsyncIterator[ScorerHub]:
    async with ScorerHub(pages.url) as hub:
        yield hub


@pytest.fixture
async def leader(hub: ScorerHub) -> AsyncIterator[ScorerLeader]:
    async with leading(hub) as leader:
        yield leader
