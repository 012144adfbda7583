from pathlib import Path

import pytest

from tests.integration.preview.gitfleet import GitFleet, Run, save, snapshot


@pytest.fixture
def fleet(tmp_path: Path) -> GitFleet:
    return GitFleet(tmp_path / "fleet")


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    """A snapshot, five minutes old; guestbook is on eu-1."""
    return save(snapshot(), tmp_path / "hub")


@pytest.fixture
def run() -> Run:
    return Run()
