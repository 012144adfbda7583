"""Settings of reconcile that cannot work are refused at the start, in words."""

from pathlib import Path

import pytest

from gitops_dsf.cli.main import main
from tests.support.repositories import BASE


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("git: {url: https://git.example.com/f.git}, probes: {}", "probes is not a field of spec"),
        ("git: {url: fleet}", "Argo CD cannot clone this URL"),
        (
            "git: {url: 'https://tom:secret@git.example.com/team/fleet'}",
            "write the URL without them",
        ),
        ("git: {url: fleet", ":4:7: the bracket or quote that opens here"),
    ],
)
def test_wrong_settings(
    spec: str, words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    config = tmp_path / "gitops-dsf.yaml"
    head = BASE["gitops-dsf.yaml"].partition("spec:")[0]
    config.write_text(f"{head}spec: {{reconciler: {{proposals: {{kinds: [Locks]}}}}, {spec}}}\n")
    assert main(["reconcile", f"--config={config}"]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert "tom:secret" not in said


def test_without_settings(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["reconcile", f"--config={tmp_path / 'none.yaml'}"]) == 2
    assert "name the gitops-dsf.yaml of the fleet" in capsys.readouterr().err
