"""Settings of reconcile that cannot work are refused at the start, in words."""

from pathlib import Path

import pytest
import yaml

from gitops_dsf.cli.main import main


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"git": {"url": "https://git.example.com/f.git"}, "probes": {}}, "spec.probes: Extra inputs"),
        ({"git": {"url": "fleet"}}, "is nothing that Argo CD could clone"),
        ({"git": {"url": "https://tom:secret@git.example.com/team/fleet"}}, "write the URL without them"),
    ],
)
def test_wrong_settings(
    spec: dict[str, object], words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    config = tmp_path / "gitops-dsf.yaml"
    reconciler = {"proposals": {"kinds": ["Locks"]}}
    config.write_text(
        yaml.safe_dump({"metadata": {"name": "fleet"}, "spec": {"reconciler": reconciler, **spec}})
    )
    assert main(["reconcile", f"--config={config}"]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert "tom:secret" not in said


def test_without_settings(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["reconcile", f"--config={tmp_path / 'none.yaml'}"]) == 2
    assert "name the gitops-dsf.yaml of the fleet" in capsys.readouterr().err
