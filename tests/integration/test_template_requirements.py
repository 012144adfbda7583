"""What pipelines install: nothing without a hash, nothing with another hash; and what ci/lock.sh writes."""

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from gitops_dsf import __version__
from gitops_dsf.cli.scaffold import repo_template
from tools.requirements import TEMPLATE, requirements

pytestmark = pytest.mark.real_time  # pip and uv are processes


def wheel(folder: Path, name: str, *, requires: str = "", content: str = "") -> None:
    """A distribution of one module, as small as pip takes it."""
    module = name.replace("-", "_")
    about = f"{module}-{__version__}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {__version__}\n"
    files = {
        f"{module}.py": content,
        f"{about}/METADATA": metadata + (f"Requires-Dist: {requires}\n" if requires else ""),
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},sha256={_digest(text)},{len(text)}\n" for path, text in files.items())
    with zipfile.ZipFile(folder / f"{module}-{__version__}-py3-none-any.whl", "w") as archive:
        for path, text in {**files, f"{about}/RECORD": f"{record}{about}/RECORD,,\n"}.items():
            archive.writestr(zipfile.ZipInfo(path), text)


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")


class Index:
    """A folder of distributions, and a fleet repository beside it."""

    def __init__(self, root: Path) -> None:
        self.files = root / "index"
        self.files.mkdir()
        self.fleet = root / "fleet"
        (self.fleet / "ci").mkdir(parents=True)
        for path in ("requirements.in", "ci/lock.sh"):
            shutil.copy(repo_template() / path, self.fleet / path)
        self.root = root
        wheel(self.files, "gitops-dsf-wire")
        wheel(self.files, "gitops-dsf", requires=f"gitops-dsf-wire=={__version__}")

    def run(self, *command: str | Path, path: str = "") -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": path or f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.root),
            "UV_FIND_LINKS": str(self.files),
            "UV_NO_INDEX": "1",
            "UV_OFFLINE": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }
        return subprocess.run(
            command, cwd=self.fleet, env=environment, capture_output=True, text=True, check=False, timeout=120
        )

    def install(self) -> subprocess.CompletedProcess[str]:
        return self.run(
            *(sys.executable, "-m", "pip", "install", "--no-index", "--find-links", self.files),
            *("--require-hashes", "--target", self.root / "installed", "-r", "requirements.txt"),
        )


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return Index(tmp_path)


def test_the_requirements_of_new_repositories_are_those_of_the_lock_file() -> None:
    assert TEMPLATE.read_text("utf-8") == requirements(), "run make lock"


def test_nothing_is_installed_before_everything_has_a_hash(index: Index) -> None:
    (index.fleet / "requirements.txt").write_text(
        f"gitops-dsf=={__version__}\ngitops-dsf-wire=={__version__}\n", "utf-8"
    )
    done = index.install()
    assert done.returncode == 1
    assert "Hashes are required in --require-hashes mode" in done.stderr
    assert not (index.root / "installed").exists()


def test_locked_requirements_install_and_a_replaced_file_does_not(index: Index) -> None:
    done = index.run("sh", "ci/lock.sh")
    assert done.returncode == 0, done.stderr
    text = (index.fleet / "requirements.txt").read_text("utf-8")
    assert text.count("--hash=sha256:") == 2
    assert "sh ci/lock.sh" in text
    done = index.install()
    assert done.returncode == 0, done.stderr
    wheel(index.files, "gitops-dsf", requires=f"gitops-dsf-wire=={__version__}", content="import evil")
    done = index.install()
    assert done.returncode == 1
    assert "DO NOT MATCH THE HASHES" in done.stderr


def test_without_uv_the_script_says_what_it_needs(index: Index, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    done = index.run(Path(shutil.which("sh") or "sh"), "ci/lock.sh", path=str(tmp_path / "bin"))
    assert done.returncode == 2
    assert "ci/lock.sh needs uv: pip install uv" in done.stderr


def test_every_pipeline_installs_by_hash() -> None:
    texts = [
        (repo_template() / path).read_text("utf-8")
        for path in (".github/workflows/gitops-dsf.yaml", ".gitlab-ci.yml")
    ]
    installs = [
        line for text in texts for line in text.splitlines() if "pip install" in line and "#" not in line
    ]
    assert len(installs) == 3
    assert [line for line in installs if "--require-hashes" not in line] == []


def test_wheels_in_the_repository_are_enough(index: Index) -> None:
    """Before the first release: nothing but the folder that is committed has the distributions."""
    wheels = index.fleet / "wheels"
    index.files.rename(wheels)
    index.files.mkdir()
    wanted = index.fleet / "requirements.in"
    text = wanted.read_text("utf-8")
    assert "# --find-links wheels\n" in text
    wanted.write_text(text.replace("# --find-links wheels\n", "--find-links wheels\n"))
    locked = index.run("sh", "ci/lock.sh")
    assert locked.returncode == 0, locked.stderr
    assert "--find-links wheels" in (index.fleet / "requirements.txt").read_text("utf-8").splitlines()
    words = (
        sys.executable,
        "-m",
        "pip",
        "install",
        "--no-index",
        "--require-hashes",
        "--target",
        index.root / "installed",
    )
    installed = index.run(*words, "-r", "requirements.txt")
    assert installed.returncode == 0, installed.stderr
    assert (index.root / "installed/gitops_dsf.py").is_file()
