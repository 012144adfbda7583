"""Planted faults, each in a world with the faults that it needs: its law breaks, and only there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.world import hunt

ROOT = Path(__file__).parents[2]
LATE = " ".join(f"scores-are-late@{at}" for at in (400, 700, 1000, 1300, 1600, 2000, 2400))
LIES = "cluster-lies@1500 --verified --clusters 4 --applications 9"
SWINGS = " ".join(f"scores-swing@{at}" for at in (1300, 1900, 2500, 3100))
FIVE_CLUSTERS = "--clusters 5 --applications 8"
LATE_DECISIONS = " ".join(f"decisions-are-late@{at}" for at in (500, 700, 900, 1100, 1300))
PLANS = {
    "asks-the-forge-too-early": ("limits", "cluster-labelled@300 forge-limits@330 --hours 0.7"),
    "changing-decision-stops-all": (
        "patience",
        "fought-over@900 --hours 0.9 --clusters 5 --applications 5",
    ),
    "claim-from-the-answer": (
        "fence",
        "renewals-are-slow@300 fought-over@400 --hours 1 --clusters 5 --applications 5",
    ),
    "copies-that-stay-unchanged": (
        "last-copy",
        "deletions-are-late@300 fought-slowly@400 --hours 0.8",
    ),
    "deletes-by-old-knowledge": (
        "only-copies",
        f"fought-slowly@400 {LATE_DECISIONS} --hours 0.8",
    ),
    "deletes-what-people-pushed": (
        "theirs",
        "all-pushed-to@500 cluster-labelled@600 --hours 0.7",
    ),
    "deletes-while-verifying": ("verified", f"{LIES} --hours 1.5"),
    "failed-push-counts": (
        "proposed",
        "branches-stay-forbidden@900 page-drifts@1000 cluster-labelled@1000 --hours 1.5",
    ),
    "forgets-that-the-hub-is-away": (
        "away",
        "hub-scorer-is-cut-off@300 --hours 0.6 --clusters 12 --interval 30",
    ),
    "forgets-its-own-writes": (
        "drawn",
        f"{LATE} scores-swing@500 scores-swing@900 scores-swing@1300 scores-swing@1700 --hours 0.8",
    ),
    "forgets-holds": ("held-away", f"{LIES} --hours 2.5"),
    "goes-on-by-itself": ("stopped", f"{LIES} --hours 2.5"),
    "holds-too-long": ("hold-length", f"{LIES} --hours 2"),
    "half-a-list-is-whole": (
        "collected",
        "never-a-score@1 list-without-a-part@900 --hours 0.7",
    ),
    "maintenance-trusted-for-ever": (
        "unknown",
        "maintenance-unreadable@500 scores-swing@900 --hours 0.8",
    ),
    "proposes-what-was-refused": ("refused", "all-closed@500 --hours 0.7"),
    "prunes-any-version": ("version", "deletions-raced@300 scorer-goes@400 --hours 0.6"),
    "pruner-ignores-writes": (
        "writing",
        "removed-while-written@600 --hours 0.8 --clusters 2",
    ),
    "pushes-without-a-claim": (
        "fence",
        "fought-slowly@400 frozen-at-fetches@500 --hours 0.8",
    ),
    "refresh-without-backoff": (
        "backoff",
        "refreshes-forbidden@300 scores-swing@400 scores-swing@900 --hours 0.6",
    ),
    "refusal-ends-publishing": (
        "backoff",
        f"items-forbidden@300 scores-swing@400 scores-swing@900 --hours 0.8 {FIVE_CLUSTERS}",
    ),
    "removed-score-returns": ("writing", "removed-while-written@600 --hours 0.8 --clusters 2"),
    "taints-without-backoff": ("backoff", "taints-forbidden@600 drained@700 --hours 0.8"),
    "taints-without-version": ("policies", "taints-raced@300 drained@400 --hours 0.6"),
    "unreachable-copy-is-good": ("healthy-first", "target-is-lost@300 --hours 1"),
    "unsettled-decisions": (
        "unsettled",
        f"{SWINGS} --hours 1.2 {FIVE_CLUSTERS}",
    ),
}
"""The law that breaks, and the faults."""


def told(folder: Path, name: str) -> str:
    """What the world says in this copy of the product."""
    _, arguments = PLANS[name]
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.world.staged", *arguments.split()],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.soak
@pytest.mark.parametrize("name", PLANS)
def test_its_law_breaks_with_the_fault_and_not_without(tmp_path: Path, name: str) -> None:
    hunt.planted_in(tmp_path, name)
    assert f"seed 1 broke a law: {PLANS[name][0]}" in told(tmp_path, name)
    assert "virtual hours" in told(ROOT, name)
