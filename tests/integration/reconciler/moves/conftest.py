"""What tests of moves share."""

from collections.abc import AsyncIterator

import pytest

from tests.integration.reconciler.moves.movehub import MoveHub
from tests.support.objecthub import ObjectHub


@pytest.fixture
async def scene() -> AsyncIterator[MoveHub]:
    async with ObjectHub() as hub:
        yield MoveHub(hub)
