"""Planted faults of proposals, each in a world with the faults that it needs: its law breaks, and
only there.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.world import hunt

ROOT = Path(__file__).parents[2]
PLANS = {
    "asks-the-forge-too-early": ("limits", "0.7", "cluster-labelled@300 forge-limits@330"),
    "deletes-what-people-pushed": ("theirs", "0.7", "all-pushed-to@500 cluster-labelled@600"),
    "failed-push-counts": (
        "proposed",
        "1.5",
        "branches-stay-forbidden@900 page-drifts@1000 cluster-labelled@1000",
    ),
    "proposes-what-was-refused": ("refused", "0.7", "all-closed@500"),
}
"""The law that breaks, the hours with faults, and the faults."""


def told(folder: Path, name: str) -> str:
    """What the world says in this copy of the product."""
    _, hours, plan = PLANS[name]
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.world.staged", *plan.split(), "--hours", hours],
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
