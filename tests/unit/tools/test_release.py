"""Releases: archives with the same bytes for the same files, checksums, notes, and metadata."""

import hashlib
import os
import shutil
import tarfile
import tomllib
from pathlib import Path

import pytest

from tools import version
from tools.release import __main__ as release
from tools.release import archive, notes

ROOT = Path(__file__).parents[3]
EPOCH = 1_700_000_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout with a folder and a changelog, at version 1.2.0."""
    root = tmp_path / "root"
    folder = root / "fleet"
    (folder / "templates").mkdir(parents=True)
    (root / "pyproject.toml").write_text('[project]\nname = "gitops-dsf"\nversion = "1.2.0"\n')
    (folder / "README.md").write_text("A fleet.\n")
    (folder / "templates/namespace.yaml").write_text("kind: Namespace\n")
    (root / "CHANGELOG.md").write_text(
        "# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2026-01-02\n\n### Added\n\n- A thing.\n\n"
        "## [1.1.0] - 2025-01-02\n\n- Old.\n"
    )
    return root


def test_an_archive_depends_on_names_and_contents_only(root: Path, tmp_path: Path) -> None:
    folder = root / "fleet"
    archive.write(tmp_path / "first.tgz", archive.files_below(folder, "fleet"), epoch=EPOCH)
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "README.md").chmod(0o600)
    os.utime(copy / "README.md", (1, 1))
    backwards = dict(reversed(archive.files_below(copy, "fleet").items()))
    archive.write(tmp_path / "second.tgz", backwards, epoch=EPOCH)
    assert (tmp_path / "first.tgz").read_bytes() == (tmp_path / "second.tgz").read_bytes()
    with tarfile.open(tmp_path / "first.tgz") as tar:
        entries = tar.getmembers()
    assert [entry.name for entry in entries] == ["fleet/README.md", "fleet/templates/namespace.yaml"]
    assert {(entry.mtime, entry.mode, entry.uid, entry.uname) for entry in entries} == {(EPOCH, 0o644, 0, "")}


def test_the_schemas_contain_crds_and_the_licence(tmp_path: Path) -> None:
    release.schemas(ROOT, tmp_path, epoch=EPOCH)
    (path,) = tmp_path.iterdir()
    name = f"gitops-dsf-schemas-{version.current(ROOT)}"
    assert path.name == f"{name}.tgz"
    with tarfile.open(path) as tar:
        names = tar.getnames()
    assert {f"{name}/LICENSE", f"{name}/json/fleetrepository_v1alpha1.json"} <= set(names)
    assert len([one for one in names if one.startswith(f"{name}/crds/")]) >= 2


def test_checksums_are_lines_of_sha256sum(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"2")
    (tmp_path / "a").write_bytes(b"1")
    assert release.sums(tmp_path) == (
        f"{hashlib.sha256(b'1').hexdigest()}  a\n{hashlib.sha256(b'2').hexdigest()}  b\n"
    )


def test_notes_are_the_section_of_the_version(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert notes.main(["v1.2.0", "--root", str(root)]) == 0
    assert capsys.readouterr().out == "### Added\n\n- A thing.\n"


@pytest.mark.parametrize(
    ("tag", "changes", "said"),
    [
        ("v1.1.0", "## [1.1.0]\n\n- Old.\n", "the tag v1.1.0 is for another version than 1.2.0"),
        ("v1.2.0", "## [Unreleased]\n\n- New.\n", "no section '## [1.2.0] - DATE'; rename 'Unreleased'"),
        ("v1.2.0", "## [1.2.0]\n\n## [1.1.0]\n\n- Old.\n", "no section '## [1.2.0]"),
    ],
)
def test_a_release_without_notes_stops(
    root: Path, capsys: pytest.CaptureFixture[str], tag: str, changes: str, said: str
) -> None:
    (root / "CHANGELOG.md").write_text(changes)
    assert notes.main([tag, "--root", str(root)]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("folder", version.members(ROOT), ids=lambda folder: folder.name)
def test_every_distribution_has_a_readme_and_the_licence(folder: Path) -> None:
    project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    assert (folder / "README.md").is_file()
    assert project["license"] == "Apache-2.0"
    assert (folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
