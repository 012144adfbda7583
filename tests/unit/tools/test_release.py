"""Releases.

Schemas, notes, metadata, the bill of materials, and what the Containerfiles have in common.
"""

import json
import re
import tarfile
import tomllib
from pathlib import Path

import pytest

from tools import release, version

ROOT = Path(__file__).parents[3]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout with a changelog, at version 1.2.0."""
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "gitops-dsf"\nversion = "1.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2026-01-02\n\n### Added\n\n- A thing.\n\n"
        "## [1.1.0] - 2025-01-02\n\n- Old.\n"
    )
    return tmp_path


def test_the_schemas_contain_crds_and_the_licence(tmp_path: Path) -> None:
    release.schemas(tmp_path)
    (path,) = tmp_path.iterdir()
    name = f"gitops-dsf-schemas-{version.current(ROOT)}"
    assert path.name == f"{name}.tgz"
    with tarfile.open(path) as tar:
        names = tar.getnames()
    assert {f"{name}/LICENSE", f"{name}/schemas/json/fleetrepository_v1alpha1.json"} <= set(names)
    assert len([one for one in names if one.startswith(f"{name}/schemas/crds/")]) >= 2


def test_notes_are_the_section_of_the_version(root: Path) -> None:
    assert release.notes(root, "v1.2.0") == "### Added\n\n- A thing.\n"


@pytest.mark.parametrize(
    ("tag", "changes", "said"),
    [
        ("v1.1.0", "## [1.1.0]\n\n- Old.\n", "the tag v1.1.0 is for another version than 1.2.0"),
        (
            "v1.2.0",
            "## [Unreleased]\n\n- New.\n",
            "no section '## [1.2.0] - DATE'; rename 'Unreleased'",
        ),
        ("v1.2.0", "## [1.2.0]\n\n## [1.1.0]\n\n- Old.\n", "no section '## [1.2.0]"),
    ],
)
def test_a_release_without_notes_stops(root: Path, tag: str, changes: str, said: str) -> None:
    (root / "CHANGELOG.md").write_text(changes)
    with pytest.raises(ValueError, match=re.escape(said)):
        release.notes(root, tag)


@pytest.mark.parametrize("folder", version.members(ROOT), ids=lambda folder: folder.name)
def test_every_distribution_has_a_readme_and_the_licence(folder: Path) -> None:
    project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    assert (folder / "README.md").is_file()
    assert project["license"] == "Apache-2.0"
    assert (folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_bill_names_packages_and_distributions() -> None:
    listed = "pypi ruamel.yaml 0.19.1\ndeb/debian libstdc++6 1:12.2+b1\npypi ruamel.yaml 0.19.1\n"
    document = json.loads(
        release.bill("image", "1.0.0", digest="sha256:00", epoch=0, packages=listed)
    )
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    assert document["metadata"]["component"]["purl"] == "pkg:oci/image@sha256%3A00"
    assert document["metadata"]["component"]["version"] == "1.0.0"
    assert [one["purl"] for one in document["components"]] == [
        "pkg:deb/debian/libstdc%2B%2B6@1%3A12.2%2Bb1",
        "pkg:pypi/ruamel.yaml@0.19.1",
    ]
