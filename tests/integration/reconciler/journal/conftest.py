"""What tests of the journal share."""

from pathlib import Path

import pytest

from tests.integration.reconciler.journal.journalhub import JournalHub
from tests.integration.reconciler.replica import repository
from tests.support.objecthub import ObjectHub


@pytest.fixture
def scene(hub: ObjectHub, tmp_path: Path) -> JournalHub:
    return JournalHub(hub=hub, repository=repository(tmp_path / "git"), work=tmp_path / "work")
