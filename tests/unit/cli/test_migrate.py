"""gitops-dsf migrate: files in place, --check, and what it says."""

from pathlib import Path

import pytest

from gitops_dsf.cli.main import main

OLD = (
    "apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1\nkind: DynamicScoringConfig\nspec:\n "
    " mask: []\n"
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "masks.yaml"
    path.write_text(OLD)
    path.chmod(0o640)
    return path


def test_a_file_is_rewritten_in_place_with_its_mode(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["migrate", str(file)]) == 0
    assert file.read_text() == OLD.replace("mask:", "masks:")
    assert file.stat().st_mode & 0o777 == 0o640
    assert (
        capsys.readouterr().out
        == f"{file}:4:3: rewritten: mask is the spelling of an older text; write masks\n"
    )
    assert [path.name for path in file.parent.iterdir()] == ["masks.yaml"]


def test_check_writes_nothing_and_fails_until_it_is_done(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["migrate", "--check", str(file)]) == 1
    assert file.read_text() == OLD
    assert "would rewrite" in capsys.readouterr().out
    main(["migrate", str(file)])
    assert main(["migrate", "--check", str(file)]) == 0


def test_a_link_stays_a_link(file: Path) -> None:
    link = file.parent / "link.yaml"
    link.symlink_to(file.name)
    assert main(["migrate", str(link)]) == 0
    assert link.is_symlink()
    assert file.read_text() == OLD.replace("mask:", "masks:")


def test_what_is_left_for_people_fails(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(
        OLD.replace("DynamicScoringConfig", "DynamicScorer").replace("mask: []", "sources: [{host: a}]")
    )
    assert main(["migrate", str(file)]) == 1
    assert "left for you: a list of sources" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"\xff", b"#" * 9_000_000])
def test_what_cannot_be_read_is_said(file: Path, content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(content)
    assert main(["migrate", str(file)]) == 1
    assert capsys.readouterr().err.startswith(f"gitops-dsf: error: {file}")
    assert file.read_bytes() == content


def test_a_file_without_old_spellings_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.yaml").touch()
    assert main(["migrate", str(tmp_path / "empty.yaml")]) == 0
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "nothing to rewrite\n")
