"""docs/scores/scoring-apis.md: what it delivers is what `scorer new` writes, and its Placement and
ApplicationSet are fit for a fleet repository.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from dsf_scorer.scaffold import create
from gitops_dsf.cli.main import main
from tests.support import yamlfast
from tests.support.initflags import NAMED

PAGE = (Path(__file__).parents[2] / "docs/scores/scoring-apis.md").read_text(encoding="utf-8")
NAME = "cpu-headroom"


def block(title: str) -> str:
    (found,) = re.findall(rf"```yaml {title}\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


def written(folder: Path) -> list[Any]:
    create(NAME, folder)
    return yamlfast.load_all((folder / "deploy/api.yaml").read_text(encoding="utf-8"))


def test_the_work_has_what_the_command_writes(tmp_path: Path) -> None:
    namespace, *manifests = yamlfast.load(block("work"))["spec"]["workload"]["manifests"]
    assert manifests == written(tmp_path)
    assert {item["metadata"]["namespace"] for item in manifests} == {namespace["metadata"]["name"]}


def test_every_file_of_the_project_is_explained(tmp_path: Path) -> None:
    create(NAME, tmp_path)
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    named = {
        name
        for row in re.findall(r"^\| (`.+?) \|", PAGE, re.MULTILINE)
        for name in re.findall(r"`(.+?)`", row)
    }
    assert named == files - {"README.md", "pyproject.toml"}


def test_a_fleet_repository_takes_the_application_set(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", str(tmp_path), *NAMED]) == 0
    (tmp_path / "apps/api.yaml").write_text(block("fleet"), encoding="utf-8")
    create(NAME, tmp_path.parent / "project")
    scorer = (tmp_path.parent / "project/dynamicscorer.yaml").read_text(encoding="utf-8")
    (tmp_path / f"scorers/{NAME}.yaml").write_text(scorer, encoding="utf-8")
    capsys.readouterr()
    assert main(["validate", str(tmp_path), "--strict"]) == 0, capsys.readouterr().out


def test_the_application_set_delivers_the_folder_of_the_deployment(tmp_path: Path) -> None:
    _, application_set = yamlfast.load_all(block("fleet"))
    spec = application_set["spec"]["template"]["spec"]
    assert [path.name for path in create(NAME, tmp_path) if path.parent.name == spec["source"]["path"]] == [
        "api.yaml"
    ]
    items = yamlfast.load_all((tmp_path / "deploy/api.yaml").read_text(encoding="utf-8"))
    assert {item["metadata"]["namespace"] for item in items} == {spec["destination"]["namespace"]}
