"""What tests of scorers share."""

from collections.abc import AsyncIterator

import pytest

from tests.integration.reconciler.scorerhub import Leader, ScorerHub, leading
from tests.support.pageserver import PageServer


@pytest.fixture
async def hub(pages: PageServer) -> AsyncIterator[ScorerHub]:
    async with ScorerHub(pages.url) as hub:
        yield hub


@pytest.fixture
async def leader(hub: ScorerHub) -> AsyncIterator[Leader]:
    async with leading(hub) as leader:
        yield leader
