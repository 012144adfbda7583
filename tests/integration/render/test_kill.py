"""`render` killed by SIGKILL at random moments and run again: the tree is the same as without the kill, and
nothing of others is lost.

tests/unit/output/test_write.py does the same at every step of a small render, without a process.
"""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_dsf.render.tree import HEADER
from tests.integration.render.test_render_verb import content, render, scorer, sources
from tests.support import fleets

CLUSTERS = 400
KILLS = 8


def lay_out(root: Path, *, clusters: int, names: tuple[str, ...]) -> Path:
    """Two states of one fleet that differ in every work, in some clusters and in a scorer."""
    for folder in ("clusters", "scorers"):
        for path in (root / folder).glob("*"):
            path.unlink()
    return fleets.write(root, sources(clusters, scorers=tuple(scorer(name) for name in names)))


def killed(fleet: Path, *, after: float) -> bool:
    """Starts a render and kills it that many seconds after it began to write; whether it was still
    running.
    """
    inventory = fleet / "rendered" / "INVENTORY"
    before = inventory.stat().st_ino if inventory.exists() else None
    command = [sys.executable, "-m", "gitops_dsf", "render", "--allow-shrink"]
    with subprocess.Popen(
        command, cwd=fleet, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        # The first thing that is written is INVENTORY, with old and new paths.
        while process.poll() is None and (not inventory.exists() or inventory.stat().st_ino == before):
            time.sleep(0.0005)
        time.sleep(after)
        process.send_signal(signal.SIGKILL)
        return process.wait() == -signal.SIGKILL


@pytest.fixture
def delays() -> Iterator[float]:
    seed = random.randrange(2**32)
    print(f"random.Random({seed})")
    rng = random.Random(seed)
    return (rng.uniform(0, 0.15) for _ in range(10_000))


@pytest.mark.soak
def test_the_next_render_after_a_kill_is_whole(tmp_path: Path, delays: Iterator[float]) -> None:
    states = ((CLUSTERS, ("cpu", "gpu")), (CLUSTERS - 40, ("cpu", "cost")))
    expected = []
    for number, (clusters, names) in enumerate(states):
        clean = lay_out(tmp_path / f"clean-{number}", clusters=clusters, names=names)
        assert render(cwd=clean).returncode == 0
        expected.append(content(clean / "rendered"))
    fleet = tmp_path / "fleet"
    note = fleet / "rendered" / "works-00" / "notes.txt"
    note.parent.mkdir(parents=True)
    note.write_text("mine", encoding="utf-8")
    hits = 0
    for attempt in range(5 * KILLS):
        # A machine that starves this process makes it miss some renders; then it tries more of them.
        if attempt >= KILLS and hits >= KILLS // 2:
            break
        clusters, names = states[attempt % 2]
        lay_out(fleet, clusters=clusters, names=names)
        hits += killed(fleet, after=next(delays))
        for path in (fleet / "rendered").rglob("*.yaml"):
            data = path.read_bytes()
            assert data.startswith(HEADER), path
            assert data.endswith(b"\n"), path
        if attempt % 3 == 2:
            continue  # the next kill finds what two killed renders of two states left
        done = render("--allow-shrink", cwd=fleet)
        assert done.returncode == 0, done.stderr
        found = content(fleet / "rendered")
        assert found.pop("works-00/notes.txt") == b"mine"
        assert found == expected[attempt % 2]
    assert hits >= KILLS // 2, "most kills came too late to say anything"
