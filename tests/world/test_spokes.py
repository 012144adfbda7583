"""The way of a configuration from a ManifestWork to a mounted file."""

import random
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.support.agent.running import ConfigMapVolume
from tests.world.spokes import applied


@pytest.mark.parametrize("seed", range(20))
def test_a_reader_of_a_mounted_file_sees_the_old_content_or_the_new_one(
    tmp_path: Path, seed: int
) -> None:
    """At every line of the swap: never half a file, and none only if one of both has none."""
    drawn = random.Random(seed)
    volume = ConfigMapVolume(tmp_path / "mounted")
    contents: list[bytes | None] = [None, b"", b"a" * 5000, b"b" * 5000, b"c"]
    old: bytes | None = None
    for _ in range(10):
        new = drawn.choice(contents)
        seen = _seen_during(volume, {} if new is None else {"summaries": new})
        assert set(seen) <= {old, new}
        assert seen[-1] == new
        old = new


def _seen_during(volume: ConfigMapVolume, files: dict[str, bytes]) -> list[bytes | None]:
    """What a reader sees before every line of the swap, and after it."""
    seen: list[bytes | None] = []
    file = volume.directory / "summaries"

    def read() -> bytes | None:
        try:
            return file.read_bytes()
        except FileNotFoundError:
            return None

    def look(frame: FrameType, event: str, _argument: Any) -> Any:
        if frame.f_code is not ConfigMapVolume.swap.__code__:
            return None
        if event == "line":
            sys.settrace(None)
            seen.append(read())
            sys.settrace(look)
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        volume.swap(files)
    finally:
        sys.settrace(before)
    assert len(seen) > 10
    return [*seen, read()]


def test_what_a_cluster_has_is_what_its_works_have() -> None:
    def a_map(name: str, text: str) -> Any:
        return {
            "kind": "ConfigMap",
            "metadata": {"namespace": "n", "name": name},
            "data": {"summaries": text},
        }

    def work(*manifests: Any) -> Any:
        return {"spec": {"workload": {"manifests": list(manifests)}}}

    other = {"kind": "Deployment", "metadata": {"namespace": "n", "name": "b"}}
    found = applied([work(a_map("a", "1"), other), work(a_map("b", "2"))])
    assert {key: item["data"]["summaries"] for key, item in found.items()} == {
        ("n", "a"): "1",
        ("n", "b"): "2",
    }
    assert applied([]) == {}
