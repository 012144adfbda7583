"""`gitops-dsf scorer new`: what it makes works as it is."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.cli.main import main
from gitops_dsf.cli.template import repo_template
from tests.support import yamlfast
from tests.support.pages import ROOT, files_of_the_readme
from tests.support.scorer.projecttests import run_project_tests


@pytest.fixture
def project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    folder = tmp_path / "cpu-mean"
    assert main(["scorer", "new", "cpu-mean", "--dir", str(folder)]) == 0
    assert "dsf-scorer run scorer:app" in capsys.readouterr().out
    return folder


def test_its_service_is_what_its_scorer_calls(project: Path) -> None:
    deployment, service = yamlfast.load_all((project / "deploy/api.yaml").read_text())
    scorer = yamlfast.load((project / "dynamicscorer.yaml").read_text())
    (port,), name = service["spec"]["ports"], service["metadata"]["name"]
    host = f"http://{name}.{service['metadata']['namespace']}.svc:{port['port']}"
    assert scorer["spec"]["scoring"]["host"] == host
    assert scorer["spec"]["configURL"] == f"{host}/config"
    pod = deployment["spec"]["template"]
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    (container,) = pod["spec"]["containers"]
    (listening,) = container["ports"]
    assert listening["name"] == port["targetPort"]
    assert f'"--port", "{listening["containerPort"]}"' in (project / "Containerfile").read_text()


def test_its_metric_source_is_the_one_of_the_readme_and_of_init(project: Path) -> None:
    """A newcomer who changes one of them expects the others to be the same."""
    texts = [
        (project / "dynamicscorer.yaml").read_text("utf-8"),
        files_of_the_readme()["scorers/cpu-headroom.yaml"],
        (repo_template() / "scorers/cpu-headroom.yaml").read_text("utf-8"),
    ]
    hosts = {yamlfast.load(text)["spec"]["source"]["host"] for text in texts}
    assert hosts == {"http://prometheus-operated.monitoring.svc:9090"}
    for page in ("docs/scores/scorers.md", "docs/scores/locks.md", "docs/scores/sources.md"):
        named = set(
            re.findall(
                r"http://prometheus[a-z-]*\.monitoring\.svc\S*", (ROOT / page).read_text("utf-8")
            )
        )
        assert named <= hosts, page


def test_its_own_test_passes(project: Path, warm_programs: Path) -> None:
    done = run_project_tests(project, "-q", programs=warm_programs)
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout


def test_it_runs_and_keeps_the_contract(
    project: Path, serve: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    served = serve("scorer:app", project)
    assert main(["scorer", "check", served.url, "--strict"]) == 0, capsys.readouterr().out


def test_its_scorer_fits_into_a_fleet_repository(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet = tmp_path / "fleet"
    url = "https://git.example.com/team/fleet.git"
    assert main(["init", str(fleet), "--registry", "registry.example.com", "--git-url", url]) == 0
    (fleet / "scorers" / "cpu-mean.yaml").write_text((project / "dynamicscorer.yaml").read_text())
    capsys.readouterr()
    assert main(["validate", str(fleet), "--strict"]) == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    "name", ["", "CPU", "cpu_mean", "-cpu", "cpu-", "a" * 64, "3d", "cpu mean", "../cpu", "cpu\n"]
)
def test_a_name_that_kubernetes_would_refuse(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["scorer", "new", f"--dir={tmp_path / 'new'}", "--", name]) == 2
    assert "write lower-case letters, digits and dashes" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "scorer.py").write_text("mine")
    assert main(["scorer", "new", "cpu", "--dir", str(tmp_path)]) == 2
    assert "is not empty" in capsys.readouterr().err
    assert main(["scorer", "new", "cpu", "--dir", str(tmp_path / "scorer.py")]) == 2
    assert "is a file" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["scorer.py"]
    assert (tmp_path / "scorer.py").read_text() == "mine"
