"""The folder rendered/ on disk.

What is written, what is pruned, what is left alone, and what a kill half-way leaves.
"""

import itertools
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.errors import RepositoryError
from gitops_dsf.output import compare, read_inventory, write
from gitops_dsf.render.tree import HEADER, INVENTORY, RenderedTree
from gitops_dsf.repository.safefolder import SafeFolder


def tree(**files: str) -> RenderedTree:
    """Keys use ``__`` for ``/``."""
    paths = {key.replace("__", "/"): (HEADER, text.encode()) for key, text in files.items()}
    paths = dict(sorted(paths.items()))
    return RenderedTree(
        files={**paths, INVENTORY: (HEADER, *(f"{path}\n".encode() for path in paths))}
    )


def bring(wanted: RenderedTree, rendered: Path) -> None:
    write(wanted, rendered, compare(wanted, rendered))


def owned(rendered: Path) -> frozenset[str]:
    return read_inventory(SafeFolder(rendered), rendered)


def test_a_second_write_touches_only_what_changed(tmp_path: Path) -> None:
    bring(tree(x__a="1\n", x__b="2\n"), tmp_path)
    before = (tmp_path / "x/a").stat().st_ino
    changes = compare(tree(x__a="1\n", x__b="3\n"), tmp_path)
    assert changes.stale == ["x/b"]
    bring(tree(x__a="1\n", x__b="3\n"), tmp_path)
    assert (tmp_path / "x/a").stat().st_ino == before


def test_a_foreign_file_is_reported_and_never_touched(tmp_path: Path) -> None:
    bring(tree(x__a="1\n"), tmp_path)
    note = tmp_path / "x" / "notes.txt"
    note.write_text("mine")
    changes = compare(tree(y__b="1\n"), tmp_path)
    assert changes.foreign == ("x/notes.txt",)
    bring(tree(y__b="1\n"), tmp_path)
    assert note.read_text() == "mine"


def test_a_file_of_ours_that_a_killed_render_left_out_of_the_inventory_is_taken_back(
    tmp_path: Path,
) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "a").write_bytes(HEADER + b"old\n")
    changes = compare(tree(x__a="1\n"), tmp_path)
    assert changes.changed == ("x/a",)
    assert changes.blocked == ()


@pytest.mark.parametrize(
    "line", ["../outside", "/etc/passwd", "x/../../outside", "x//a", "./a", "x\\a"]
)
def test_an_inventory_line_that_leads_elsewhere_deletes_nothing(tmp_path: Path, line: str) -> None:
    rendered = tmp_path / "rendered"
    bring(tree(x__a="1\n"), rendered)
    outside = tmp_path / "outside"
    outside.write_text("mine")
    with (rendered / INVENTORY).open("a") as file:
        file.write(f"{line}\n")
    assert line not in owned(rendered)
    bring(tree(x__b="1\n"), rendered)
    assert outside.read_text() == "mine"


class Killed(BaseException):
    """Whatever the render would do after this moment does not happen, its cleaning up included."""


class Killer:
    """Kills before a step: a file that is renamed into its place, a file or folder that goes, a
    folder that comes.
    """

    def __init__(self, patch: pytest.MonkeyPatch, *, before: int) -> None:
        self._left = iter(range(before))
        for name in ("replace", "unlink", "mkdir", "rmdir"):
            patch.setattr(os, name, self._step(getattr(os, name)))

    def _step(self, real: Callable[..., object]) -> Callable[..., object]:
        def step(*arguments: Any, **options: Any) -> object:
            if next(self._left, None) is None:
                raise Killed
            return real(*arguments, **options)

        return step


def test_a_render_after_a_kill_at_any_step_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every file is old, new or not there; the next render, of either state, leaves exactly its
    files and those of others.
    """
    old = tree(platform__a="1\n", works__b="1\n", gone__c="1\n", gone__deep__d="1\n")
    new = tree(platform__a="2\n", works__b="1\n", works__e="2\n", more__f="2\n")
    bring(new, tmp_path / "clean")
    wanted = content(tmp_path / "clean")
    steps = 0
    for after in itertools.count():
        rendered = tmp_path / str(after)
        bring(old, rendered)
        (rendered / "gone" / "notes.txt").write_text("mine")
        before = content(rendered)
        with monkeypatch.context() as patch:
            Killer(patch, before=after)
            try:
                bring(new, rendered)
            except Killed:
                steps += 1
            else:
                break
        found = {
            path: data
            for path, data in content(rendered).items()
            if not path.endswith(".tmp") and path != INVENTORY
        }
        assert all(data in {before.get(path), wanted.get(path)} for path, data in found.items())
        for again, expected in ((new, wanted), (old, before)):
            bring(again, rendered)
            assert content(rendered) == {**expected, "gone/notes.txt": b"mine"}
    assert steps > 10


def test_a_file_that_cannot_be_written_is_named_and_takes_no_other_with_it(tmp_path: Path) -> None:
    wanted = tree(**{f"part{number}__{name}": "1\n" for number in range(9) for name in "ab"})
    changes = compare(wanted, tmp_path)
    (tmp_path / "part4" / "b").mkdir(parents=True)
    with pytest.raises(RepositoryError, match=r"cannot write .*/part4/b: Is a directory"):
        write(wanted, tmp_path, changes)
    missing = {path for path in wanted.files if not (tmp_path / path).is_file()}
    assert missing == {"part4/b"}
    assert owned(tmp_path) == wanted.files.keys() - {INVENTORY}
    assert not list(tmp_path.rglob("*.tmp"))


def content(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


def test_temporary_files_of_a_killed_render_are_swept(tmp_path: Path) -> None:
    bring(tree(x__a="1\n"), tmp_path)
    left = tmp_path / "x" / ".gitops-dsf-123.tmp"
    left.write_text("half")
    assert compare(tree(x__a="1\n"), tmp_path).foreign == ()
    bring(tree(x__a="2\n"), tmp_path)
    assert not left.exists()


def test_dropped_works_are_counted_by_cluster_not_by_shard(tmp_path: Path) -> None:
    bring(RenderedTree(files=works("works-00/a", "works-00/b", "works-00/c")), tmp_path)
    changes = compare(RenderedTree(files=works("works-01/a", "works-00/b")), tmp_path)
    assert (changes.works_before, changes.works_dropped) == (3, 1)


def works(*names: str) -> dict[str, tuple[bytes, ...]]:
    files: dict[str, tuple[bytes, ...]] = {
        f"{name}.manifestwork.yaml": (HEADER, b"x\n") for name in names
    }
    return {**files, INVENTORY: (HEADER, *(f"{path}\n".encode() for path in sorted(files)))}


def test_a_symlink_in_our_place_is_not_followed(tmp_path: Path) -> None:
    rendered = tmp_path / "rendered"
    bring(tree(x__a="1\n"), rendered)
    outside = tmp_path / "outside"
    outside.write_text("mine")
    (rendered / "x" / "a").unlink()
    (rendered / "x" / "a").symlink_to(outside)
    bring(tree(x__a="2\n"), rendered)
    assert outside.read_text() == "mine"
    assert not (rendered / "x" / "a").is_symlink()


def test_a_symlink_to_the_very_bytes_is_replaced_all_the_same(tmp_path: Path) -> None:
    rendered = tmp_path / "rendered"
    bring(tree(x__a="1\n"), rendered)
    outside = (rendered / "x" / "a").rename(tmp_path / "outside")
    (rendered / "x" / "a").symlink_to(outside)
    assert compare(tree(x__a="1\n"), rendered).changed == ("x/a",)


def test_a_folder_that_is_a_symlink_is_not_followed(tmp_path: Path) -> None:
    rendered, outside = tmp_path / "rendered", tmp_path / "outside"
    bring(tree(x__a="1\n"), rendered)
    (rendered / "x").rename(outside)
    (rendered / "x").symlink_to(outside)
    changes = compare(tree(x__a="2\n"), rendered)
    assert (changes.added, changes.unwanted) == (("x/a",), ("x",))
    with pytest.raises(RepositoryError, match="rendered/x: not a folder"):
        write(tree(x__a="2\n"), rendered, changes)
    assert (outside / "a").read_bytes() == HEADER + b"1\n"


def test_a_symlink_to_itself_is_no_folder(tmp_path: Path) -> None:
    rendered = tmp_path / "rendered"
    bring(tree(x__a="1\n"), rendered)
    (rendered / "x" / "a").unlink()
    (rendered / "x").rmdir()
    (rendered / "x").symlink_to("x")
    changes = compare(tree(x__a="2\n"), rendered)
    assert (changes.added, changes.unwanted) == (("x/a",), ("x",))
    with pytest.raises(RepositoryError, match="rendered/x: not a folder"):
        write(tree(x__a="2\n"), rendered, changes)


def test_a_folder_that_another_thread_makes_meanwhile_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made_after_a_look(look: Callable[..., bool]) -> Callable[..., bool]:
        def looked(path: os.PathLike[str], **options: bool) -> bool:
            answer = look(path, **options)
            with suppress(FileExistsError):
                Path(path).mkdir()
            return answer

        return looked

    folder = SafeFolder(tmp_path)
    monkeypatch.setattr(Path, "is_dir", made_after_a_look(Path.is_dir))
    monkeypatch.setattr(os.path, "lexists", made_after_a_look(os.path.lexists))
    folder.replace("x/a", (b"1\n",), temporary=".a")
    assert (tmp_path / "x" / "a").read_bytes() == b"1\n"


def test_nothing_is_deleted_behind_a_symlink(tmp_path: Path) -> None:
    rendered, outside = tmp_path / "rendered", tmp_path / "outside"
    bring(tree(x__a="1\n", y__b="2\n"), rendered)
    (rendered / "x").rename(outside)
    changes = compare(tree(y__b="2\n"), rendered)
    (rendered / "x").symlink_to(outside)
    with pytest.raises(RepositoryError):
        write(tree(y__b="2\n"), rendered, replace(changes, removed=("x/a",)))
    assert (outside / "a").exists()


@pytest.mark.parametrize("target", ["/dev/zero", "elsewhere"])
@pytest.mark.timeout(20)
def test_an_inventory_that_is_a_symlink_is_not_read(tmp_path: Path, target: str) -> None:
    bring(tree(x__a="1\n"), tmp_path / "rendered")
    (tmp_path / "rendered" / "elsewhere").write_text("x/mine\n")
    (tmp_path / "rendered" / INVENTORY).unlink()
    (tmp_path / "rendered" / INVENTORY).symlink_to(target)
    with pytest.raises(RepositoryError, match="INVENTORY was not written by gitops-dsf"):
        compare(tree(x__a="1\n"), tmp_path / "rendered")


@pytest.mark.parametrize("name", [INVENTORY, "x/a"])
@pytest.mark.timeout(20)
def test_a_named_pipe_is_not_waited_for(tmp_path: Path, name: str) -> None:
    bring(tree(x__a="1\n"), tmp_path)
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    if name == INVENTORY:
        with pytest.raises(RepositoryError, match="not a regular file"):
            compare(tree(x__a="1\n"), tmp_path)
    else:
        assert compare(tree(x__a="1\n"), tmp_path).changed == ("x/a",)


@pytest.mark.parametrize(
    ("name", "unwanted"),
    [
        ("x/clusterrolebinding.yaml", True),
        ("x/.hidden.yaml", True),
        ("x/.argocd-source.yaml", True),
        ("x/kustomization.yaml", True),
        ("x/deeper/notes.txt", True),
        ("other/thing.json", True),
        ("top.yaml", True),
        ("README.md", False),
        ("x/.gitkeep", False),
    ],
)
def test_a_file_that_no_render_writes_is_unwanted_unless_argocd_never_reads_its_name(
    tmp_path: Path, name: str, unwanted: bool
) -> None:
    bring(tree(x__a="1\n"), tmp_path)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    changes = compare(tree(x__a="1\n"), tmp_path)
    assert changes.foreign == (name,)
    assert bool(changes.unwanted) is unwanted
