"""What tests of the journal share."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.reconciler.journal.journalhub import JournalHub
from tests.integration.reconciler.replica import repository
from tests.support.objecthub import ObjectHub


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[JournalHub]:
    async with ObjectHub() as hub:
        yield JournalHub(hub=hub, repository=repository(tmp_path / "git"), work=tmp_path / "work")
