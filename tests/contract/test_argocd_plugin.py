"""The config management plugin as Argo CD runs it: in the folder of the Application, parameters as
environment, answer on stdout.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gitops_dsf import __version__
from gitops_dsf.cli.scaffold import scaffold
from tests.support import yamlfast

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "argocd" / "plugin"


def generate(folder: Path, programs: Path, **parameters: str) -> subprocess.CompletedProcess[str]:
    """Runs `generate` of plugin.yaml with the variables that the plugin server derives from an Application's
    parameters.
    """
    command = yamlfast.load((PLUGIN / "plugin.yaml").read_text("utf-8"))["spec"]["generate"]
    environment = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    environment |= {f"PARAM_{name.upper()}": value for name, value in parameters.items()}
    line = [*command["command"], *command["args"]]
    return subprocess.run(
        line, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def kinds(text: str) -> set[str]:
    documents: list[dict[str, Any]] = list(yamlfast.load_all(text))
    return {document["kind"] for document in documents}


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    scaffold(target=tmp_path / "fleet", name="fleet")
    return tmp_path / "fleet"


def test_a_part_is_that_part_alone(fleet: Path, warm_programs: Path) -> None:
    result = generate(fleet, warm_programs, part="works-00")
    assert result.returncode == 0, result.stderr
    assert kinds(result.stdout) == {"ManifestWork", "ManagedClusterAddOn", "RoleBinding"}


def test_without_a_part_everything_but_the_bootstrap_is_there(fleet: Path, warm_programs: Path) -> None:
    result = generate(fleet, warm_programs)
    assert result.returncode == 0, result.stderr
    assert {"CustomResourceDefinition", "ManifestWork", "ApplicationSet"} <= kinds(result.stdout)
    assert not {"AppProject", "Application"} & kinds(result.stdout)


def test_nothing_is_written_into_the_sources(fleet: Path, warm_programs: Path) -> None:
    before = sorted(fleet.rglob("*"))
    generate(fleet, warm_programs)
    assert sorted(fleet.rglob("*")) == before


@pytest.mark.parametrize(
    "part",
    ["nothing-like-it", "--check", "x; echo kind: Pwned", "$(echo works-00)", "works-00 --allow-shrink"],
)
def test_a_strange_part_is_an_error_and_never_a_command(fleet: Path, warm_programs: Path, part: str) -> None:
    result = generate(fleet, warm_programs, part=part)
    assert result.returncode != 0
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def test_an_error_leaves_standard_output_empty(fleet: Path, warm_programs: Path) -> None:
    (fleet / "scorers" / "broken.yaml").write_text("kind: [\n")
    result = generate(fleet, warm_programs, part="platform")
    assert result.returncode == 1
    assert result.stdout == ""
    assert "scorers/broken.yaml" in result.stderr


def test_a_folder_that_is_no_fleet_is_an_error(tmp_path: Path, warm_programs: Path) -> None:
    result = generate(tmp_path, warm_programs)
    assert result.returncode != 0
    assert result.stdout == ""


def test_the_sidecar_runs_as_argo_cd_demands() -> None:
    patch = yamlfast.load((PLUGIN / "repo-server-patch.yaml").read_text("utf-8"))
    pod = patch["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["command"] == ["/var/run/argocd/argocd-cmp-server"]
    assert container["securityContext"]["runAsUser"] == 999
    assert container["image"].endswith(f":{__version__}")
    own = {volume["name"] for volume in pod["volumes"]}
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    scratch = {path for path, name in mounts.items() if name in own}
    assert scratch == {"/tmp"}, "the repo server's own /tmp must not be shared"  # noqa: S108 - a path in the sidecar
    assert mounts.keys() - scratch == {"/var/run/argocd", "/home/argocd/cmp-server/plugins"}


def test_the_image_copies_what_exists() -> None:
    """Every COPY from the build context names a path of the repository, and the environment is where the next
    stage looks for it.
    """
    lines = (PLUGIN / "Containerfile").read_text("utf-8").splitlines()
    copies = [line.split()[1:-1] for line in lines if line.startswith("COPY ") and "--from" not in line]
    sources = [source for copy in copies for source in copy]
    assert len(sources) >= 8
    assert [source for source in sources if not (ROOT / source).exists()] == []


def test_the_lock_installs_the_generator_without_the_agent(tmp_path: Path) -> None:
    """The Containerfile's `uv sync`, into a scratch environment: locked, from the copied paths alone, the
    agent left out.
    """
    context = tmp_path / "src"
    context.mkdir()
    lines = (PLUGIN / "Containerfile").read_text("utf-8").splitlines()
    for line in lines:
        if line.startswith("COPY ") and "--from" not in line and "argocd/" not in line:
            for source in line.split()[1:-1]:
                origin, target = ROOT / source, context / source
                target.parent.mkdir(parents=True, exist_ok=True)
                if origin.is_dir():
                    shutil.copytree(origin, target, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(origin, target)
    (sync,) = (line.removeprefix("RUN ") for line in lines if line.startswith("RUN uv sync"))
    environment = os.environ | {
        "UV_PROJECT_ENVIRONMENT": str(tmp_path / "venv"),
        "UV_OFFLINE": "1",
        "UV_PYTHON": sys.executable,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    environment.pop("VIRTUAL_ENV", None)
    command = sync.replace(" --compile-bytecode", "").split()
    synced = subprocess.run(
        command, cwd=context, env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert synced.returncode == 0, synced.stderr
    program = tmp_path / "venv" / "bin" / "gitops-dsf"
    version = subprocess.run(
        [program, "--version"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert version == f"gitops-dsf {__version__}\n"
    made = subprocess.run(
        [program, "init", "fleet"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    assert not (tmp_path / "venv" / "bin" / "gitops-dsf-agent").exists()
