"""Folders of the cache that nobody uses any more go; those in use stay."""

import os
import threading
import time
from pathlib import Path

from tests.hub.controlplane.cache import KEPT_DAYS, collect_unused, in_use

DAY = 24 * 3600


def folder(root: Path, name: str, *, days: float) -> Path:
    """One that was used so many days ago, with its lock file."""
    made = root / name
    (made / "bin").mkdir(parents=True)
    (made / "bin/program").write_text("built", encoding="utf-8")
    made.with_suffix(".lock").touch()
    used = time.time() - days * DAY
    os.utime(made, (used, used))
    return made


def collected(root: Path) -> list[str]:
    return [path.name for path in collect_unused(root, report=lambda _: None)]


def test_what_nobody_used_for_long_goes(tmp_path: Path) -> None:
    old = folder(tmp_path, "kubernetes-0123456789abcdef", days=KEPT_DAYS + 1)
    recent = folder(tmp_path, "kubernetes-fedcba9876543210", days=KEPT_DAYS - 1)
    foreign = folder(tmp_path, "kubernetes-backup", days=KEPT_DAYS + 1)
    said: list[str] = []
    assert collect_unused(tmp_path, report=said.append) == [old]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [recent.name, f"{recent.name}.lock", foreign.name, f"{foreign.name}.lock"]
    )
    assert said == [f"{old}: removed, nobody used it for 14 days"]
    assert (recent / "bin/program").read_text(encoding="utf-8") == "built"


def test_an_absent_cache_is_an_empty_one(tmp_path: Path) -> None:
    assert collected(tmp_path / "hub") == []


def test_using_a_folder_keeps_it(tmp_path: Path) -> None:
    old = folder(tmp_path, "ocm-0123456789abcdef", days=KEPT_DAYS + 1)
    with in_use(old):
        pass
    assert collected(tmp_path) == []


def test_a_folder_in_which_somebody_builds_stays(tmp_path: Path) -> None:
    old = folder(tmp_path, "ocm-0123456789abcdef", days=KEPT_DAYS + 1)
    with in_use(old):
        used = time.time() - (KEPT_DAYS + 1) * DAY
        os.utime(old, (used, used))
        assert collected(tmp_path) == []
    assert collected(tmp_path) == [old.name]


def test_a_removal_that_was_stopped_is_finished(tmp_path: Path) -> None:
    (tmp_path / ".removing-ocm-0123456789abcdef/bin").mkdir(parents=True)
    assert collected(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_build_left_goes_with_the_next_use(tmp_path: Path) -> None:
    home = folder(tmp_path, "ocm-0123456789abcdef", days=1)
    (home / ".building-abc/module-0").mkdir(parents=True)
    with in_use(home):
        assert sorted(path.name for path in home.iterdir()) == ["bin"]


def test_who_waits_for_a_folder_that_goes_gets_a_new_one(tmp_path: Path) -> None:
    """The waiter holds an open lock file that the removal deletes: it must not build beside the next one that
    comes.
    """
    home = folder(tmp_path, "ocm-0123456789abcdef", days=KEPT_DAYS + 1)
    inside: list[int] = []
    seen: list[int] = []

    def build() -> None:
        with in_use(home):
            inside.append(1)
            seen.append(len(inside))
            time.sleep(0.05)
            inside.pop()

    waiters = [threading.Thread(target=build) for _ in range(4)]
    with in_use(home):
        for waiter in waiters[:2]:
            waiter.start()
        home.with_suffix(".lock").unlink()
    for waiter in waiters[2:]:
        waiter.start()
    for waiter in waiters:
        waiter.join(timeout=30)
    assert seen == [1, 1, 1, 1]
    assert home.with_suffix(".lock").exists()
