"""What tests of moves share."""

from collections.abc import AsyncIterator

import pytest

from gitops_dsf.reconciler.moves.deletion import CopyDeleter
from tests.integration.reconciler.moves.movehub import MoveHub, deleter_of
from tests.support.objecthub import ObjectHub


@pytest.fixture
def scene(hub: ObjectHub) -> MoveHub:
    return MoveHub(hub)


@pytest.fixture
async def deleter(scene: MoveHub) -> AsyncIterator[CopyDeleter]:
    """Its application has moved from a to b."""
    scene.moved()
    async with scene.hub.api() as api:
        yield deleter_of(api)
