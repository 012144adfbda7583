"""Which commit of the fleet repository is live, by the status of an Application."""

import json
from typing import Any

import pytest

from gitops_dsf.reconciler.journal.explaining import live_commit

PAST = [{"revision": "a"}, {"revision": "b"}]


@pytest.mark.parametrize(
    ("status", "commit"),
    [
        ({"sync": {"status": "Synced", "revision": "c"}, "history": PAST}, "c"),
        ({"sync": {"status": "OutOfSync", "revision": "c"}, "history": PAST}, "b"),
        ({"sync": {"status": "Unknown"}, "history": PAST}, "b"),
        ({"sync": {"status": "OutOfSync", "revision": "c"}, "history": None}, ""),
        ({}, ""),
    ],
)
def test_what_was_compared_counts_when_it_is_applied(status: dict[str, Any], commit: str) -> None:
    item = {"metadata": {"name": "gitops-dsf-delivery"}, "status": status}
    assert live_commit(json.dumps(item).encode()) == commit
