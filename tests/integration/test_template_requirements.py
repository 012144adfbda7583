"""What `init --wheels --hashes` makes pipelines install: nothing without a hash or with another one."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from gitops_dsf import __version__
from gitops_dsf.cli.scaffold import scaffold
from tests.support.commandline import program

ROOT = Path(__file__).parents[2]
HASHED = "repo-template/on-request/hashes/requirements.txt"
OWN = ("gitops-dsf", "gitops-dsf-scorer", "gitops-dsf-wire")
pytestmark = pytest.mark.real_time  # pip is a process


def test_the_requirements_are_those_of_the_lock_file() -> None:
    """The command is that of `make lock`."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    (command,) = re.findall(r"^REQUIREMENTS := (.*)$", makefile, re.MULTILINE)
    uv = Path(sys.executable).with_name("uv")
    done = subprocess.run([uv, *command.split()], cwd=ROOT, capture_output=True, text=True, check=True)
    head, own, rest = (
        (ROOT / HASHED).read_text("utf-8").partition("".join(f"{name}=={__version__}\n" for name in OWN))
    )
    assert (head.count("\n"), bool(own), rest) == (1, True, done.stdout), "run make lock"


@pytest.fixture
def fleet(wheels: Path, tmp_path: Path) -> Path:
    scaffold(target=tmp_path / "fleet", name="fleet", wheels=wheels, hashes=True)
    return tmp_path / "fleet"


def install(fleet: Path) -> subprocess.CompletedProcess[str]:
    """Installs our own distributions as a pipeline would; others would come from an index."""
    lines = (fleet / "requirements.txt").read_text("utf-8").splitlines()
    ours = [line for number, line in enumerate(lines) if "gitops-dsf" in lines[number - 1] + line]
    (fleet / "ours.txt").write_text("\n".join(["--find-links wheels", *ours]) + "\n", "utf-8")
    words = ("-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", "installed")
    return program(sys.executable, *words, "-r", "ours.txt", cwd=fleet)


def test_every_line_has_a_hash(fleet: Path) -> None:
    lines = (fleet / "requirements.txt").read_text("utf-8").splitlines()
    named = [line for line in lines if "==" in line]
    assert f"gitops-dsf=={__version__} \\" in named
    assert [line for line in named if not line.endswith("\\")] == []


def test_the_wheels_install_and_a_replaced_one_does_not(fleet: Path) -> None:
    done = install(fleet)
    assert done.returncode == 0, done.stderr
    (wheel,) = (fleet / "wheels").glob("gitops_dsf_wire-*.whl")
    wheel.write_bytes(wheel.read_bytes() + b"more")
    done = install(fleet)
    assert done.returncode == 1
    assert "DO NOT MATCH THE HASHES" in done.stderr
