"""`validate` with files: findings about them alone, in the repository that they belong to."""

import io
import json
import sys
from pathlib import Path

import pytest

from gitops_dsf.cli.main import main
from tests.support import yamlfast
from tests.unit.cli.test_validate import SETTINGS

CLUSTER = "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {name: NAME}\n"


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two files with the same cluster, and one with a misspelt field."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gitops-dsf.yaml").write_text(SETTINGS)
    (tmp_path / "clusters").mkdir()
    for name in ("a", "b"):
        (tmp_path / "clusters" / f"{name}.yaml").write_text(CLUSTER.replace("NAME", "same"))
    (tmp_path / "clusters" / "c.yaml").write_text(CLUSTER.replace("NAME", "c") + "spec: [1]\n")
    return tmp_path


def test_only_findings_about_the_file_are_shown(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "clusters/b.yaml"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("clusters/b.yaml:3:18: error DSF018: ")
    assert "c.yaml:" not in out
    assert main(["validate", "clusters/a.yaml"]) == 0
    assert main(["validate", "clusters/a.yaml", str(fleet / "clusters" / "c.yaml")]) == 1
    assert f"{fleet}/clusters/c.yaml:4:7: error DSF015" in capsys.readouterr().out


@pytest.mark.usefixtures("fleet")
def test_standard_input_is_checked_on_its_own(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for text, code in ((CLUSTER.replace("NAME", "same"), 0), (CLUSTER.replace("NAME", "same: 1"), 1)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        assert main(["validate", "-"]) == code, capsys.readouterr().out
    assert capsys.readouterr().out.startswith("-:3:")


def test_a_file_of_no_repository_is_checked_on_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "scorer.yaml"
    file.write_text("apiVersion: gitops-dsf.io/v1alpha1\nkind: ScoredApplicatio\n")
    assert main(["validate", str(file)]) == 1
    assert "did you mean ScoredApplication?" in capsys.readouterr().out


def test_a_file_that_is_not_there_is_wrong_usage(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "clusters/a.yaml", "clusters/x.yaml"]) == 2
    assert "clusters/x.yaml is not a file" in capsys.readouterr().err
    assert main(["validate", str(fleet / "clusters"), "clusters/a.yaml"]) == 2


@pytest.mark.usefixtures("fleet")
def test_the_findings_as_yaml(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "clusters/b.yaml", "-o", "json"]) == 1
    expected = json.loads(capsys.readouterr().out)
    assert main(["validate", "clusters/b.yaml", "-o", "yaml"]) == 1
    assert yamlfast.load(capsys.readouterr().out) == expected
    assert main(["validate", "clusters/a.yaml", "-o", "yaml"]) == 0
    assert capsys.readouterr().out == "[]\n"
