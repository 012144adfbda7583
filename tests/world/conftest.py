"""What tests of the world share."""

from collections.abc import Iterator

import pytest

from tests.world.loop import WorldLoop


@pytest.fixture
def loop() -> Iterator[WorldLoop]:
    opened = WorldLoop()
    yield opened
    opened.close()
