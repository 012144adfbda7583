"""Every Containerfile, really built by podman and run with a read-only root: the agent, the reconciler, the
command line, and what `scorer new` writes.

Three things stand in for the public ones. The base is Debian 12 with its own Python 3.11, made by mmdebstrap
under the names of the public Python images. It trusts the certificates of this machine. Our wheels are in a
folder of the base, because no index has them.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitops_dsf.cli.main import main
from tools import version
from tools.images import debian
from tools.images.environment import ROOT, uv
from tools.images.errors import ImageError

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

PROGRAMS = ("podman", "runc", "mmdebstrap")
VERSION = version.current(ROOT)
OURS = {
    "gitops-dsf-agent": "images/agent.Containerfile",
    "gitops-dsf-reconciler": "images/reconciler.Containerfile",
    "gitops-dsf-cli": "images/cli.Containerfile",
}
WHEELS = "/opt/wheels"
TRUSTED = "/etc/ssl/certs/ca-certificates.crt"
CONFINED = ("--rm", "--read-only", "--network=none", "--cap-drop=all", "--security-opt=no-new-privileges")
# The runtime may not raise limits above those of this process.
LIMITS = ("--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024")


@dataclass(frozen=True, kw_only=True)
class Podman:
    """Images and containers in folders of the test."""

    folder: Path

    def __call__(self, *words: str | Path) -> str:
        places = [f"--root={self.folder / 'storage'}", f"--runroot={self.folder / 'run'}"]
        return run("podman", *places, "--cgroup-manager=cgroupfs", "--runtime=runc", *words)

    def build(self, image: str, *, file: Path, context: Path) -> None:
        self("build", "--isolation=chroot", "--pull=never", "--file", file, "--tag", image, context)

    def start(self, image: str, *words: str, program: Sequence[str] = (), options: Sequence[str] = ()) -> str:
        entry = ["--entrypoint", json.dumps(list(program))] if program else []
        return self("run", *CONFINED, *LIMITS, *options, *entry, image, *words)


def run(*command: str | Path) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def podman(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Podman]:
    """With the base of every Containerfile."""
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    if lacking or os.geteuid() != 0:
        pytest.skip(f"Containerfiles are built as root, with {', '.join(lacking or PROGRAMS)}")
    try:
        debian.require_debian()
    except ImageError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("podman")
    podman = Podman(folder=folder)
    base = make_base(folder)
    names = {base_of(ROOT / file) for file in OURS.values()}
    first, *others = sorted(
        {*names, base_of(ROOT / "packages/scorer/dsf_scorer/template/Containerfile.tmpl")}
    )
    podman("import", "--change=ENV PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", base, first)
    for other in others:
        podman("tag", first, other)
    base.unlink()
    yield podman
    podman("system", "reset", "--force")


def base_of(file: Path) -> str:
    """The name of the public image from which a file starts."""
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith(("ARG PYTHON_IMAGE=", "FROM docker.io/")):
            return line.removeprefix("ARG PYTHON_IMAGE=").removeprefix("FROM ").split()[0]
    raise AssertionError(f"{file} names no base")


def make_base(folder: Path) -> Path:
    """An archive of Debian with apt, and with `python` and pip in /usr/local as in the public images."""
    added = folder / "base"
    wheels = added / WHEELS.lstrip("/")
    epoch = 1_700_000_000
    for member in ("packages/wire", "packages/scorer"):
        uv(
            ["build", "--wheel", "--no-build-isolation", "--python", sys.executable],
            ["--no-create-gitignore", "--out-dir", str(wheels), str(ROOT / member)],
            epoch=epoch,
        )
    files = {
        TRUSTED.lstrip("/"): Path(TRUSTED).read_bytes(),
        "etc/pip.conf": f"[global]\ncert = {TRUSTED}\nfind-links = {WHEELS}\n".encode(),
        "etc/uv/uv.toml": b"system-certs = true\n",
    }
    for name, content in files.items():
        (added / name).parent.mkdir(parents=True, exist_ok=True)
        (added / name).write_bytes(content)
    target = folder / "base.tar"
    run(
        "mmdebstrap",
        "--quiet",
        "--variant=required",
        "--include=apt,ca-certificates,python3,python3-pip,python3-venv",
        f"--customize-hook=copy-in {' '.join(str(path) for path in added.iterdir())} /",
        '--customize-hook=chroot "$1" python3 -m venv --copies /usr/local',
        "bookworm",
        target,
    )
    return target


@pytest.fixture(scope="module")
def built(podman: Podman) -> Podman:
    for image, file in OURS.items():
        podman.build(image, file=ROOT / file, context=ROOT)
    return podman


@pytest.mark.parametrize(
    ("image", "program", "user"),
    [
        ("gitops-dsf-agent", "/opt/agent/bin/gitops-dsf-agent", 65532),
        ("gitops-dsf-reconciler", "/opt/gitops-dsf/bin/gitops-dsf", 65532),
        ("gitops-dsf-cli", "/opt/gitops-dsf/bin/gitops-dsf", 65532),
    ],
)
def test_the_program_of_an_image_runs(built: Podman, image: str, program: str, user: int) -> None:
    """As a plain user, with nothing that can be written, and without an installer."""
    assert VERSION in built.start(image, "--version", program=[program])
    ask = (
        "import importlib.util, json, os, sysconfig; print(json.dumps([os.getuid(),"
        " importlib.util.find_spec('pip') is None, os.access(sysconfig.get_path('stdlib'), os.W_OK)]))"
    )
    python = program.rpartition("/")[0] + "/python"
    assert json.loads(built.start(image, "-c", ask, program=[python])) == [user, True, False]


def test_the_image_starts_what_its_deployment_expects(built: Podman) -> None:
    """No arguments but those of the rendered Deployment: the entry point of the image is used."""
    for image in ("gitops-dsf-agent", "gitops-dsf-reconciler"):
        assert VERSION in built.start(image, "--version")
    assert "usage: gitops-dsf" in built.start("gitops-dsf-cli")


@pytest.mark.parametrize("image", ["gitops-dsf-cli", "gitops-dsf-reconciler"])
def test_git_and_ssh_are_in_the_images_that_push(built: Podman, image: str) -> None:
    said = built.start(image, "-c", "git --version && ssh -V 2>&1 && id -un", program=["/bin/sh"])
    assert "git version" in said
    assert "OpenSSH" in said
    assert said.splitlines()[-1] == "gitops-dsf"


def test_a_pipeline_validates_and_renders_in_the_image(built: Podman) -> None:
    steps = "gitops-dsf init fleet && cd fleet && gitops-dsf validate && gitops-dsf render"
    said = built.start("gitops-dsf-cli", "sh", "-euc", f"cd /tmp && {steps}", options=["--tmpfs=/tmp"])
    assert "no mistakes found" in said or "warning" in said
    assert "rendered: " in said


def test_the_image_of_a_new_scorer_answers(podman: Podman, tmp_path: Path) -> None:
    project = tmp_path / "cpu-mean"
    assert main(["scorer", "new", "cpu-mean", "--dir", str(project)]) == 0
    podman.build("cpu-mean", file=project / "Containerfile", context=project)
    podman("run", "--detach", "--name=scorer", *CONFINED, *LIMITS, "cpu-mean")
    try:
        ask = (
            "import time, urllib.request\n"
            "for _ in range(60):\n"
            "    try:\n"
            "        print(urllib.request.urlopen('http://127.0.0.1:8000/config').read().decode())\n"
            "        break\n"
            "    except OSError:\n"
            "        time.sleep(1)\n"
        )
        page = json.loads(podman("exec", "scorer", "python", "-c", ask))
        assert page["name"] == "cpu-mean"
        assert podman("exec", "scorer", "id", "-u").strip() == "65532"
    finally:
        podman("rm", "--force", "--time=0", "scorer")
