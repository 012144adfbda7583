"""Every Containerfile, really built as `make images` builds it, and run by podman.

The root is read-only. They are those of the agent, the reconciler, the command line, and what
`scorer new` writes.

The base is the one of images/base.sh, for scorers under the name of the public Python image and
with our wheels, because no index has them.
"""

import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitops_dsf.cli.main import main
from tests.support.commandline import output_of
from tools import release, version
from tools.release import ROOT, uv

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

PROGRAMS = ("podman", "runc", "buildah", "mmdebstrap")
VERSION = version.current(ROOT)
OURS = [f"gitops-dsf-{name}" for name in release.IMAGES]
BASE = "localhost/python"
WHEELS = "/opt/wheels"
CONFINED = (
    "--rm",
    "--read-only",
    "--network=none",
    "--cap-drop=all",
    "--security-opt=no-new-privileges",
)
# The runtime may not raise limits above those of this process.
LIMITS = ("--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024")


@dataclass(frozen=True, kw_only=True)
class Podman:
    """Images and containers in folders of the test, and the images' archives."""

    folder: Path

    def __call__(self, *words: str | Path) -> str:
        return output_of("podman", "--cgroup-manager=cgroupfs", "--runtime=runc", *words)

    def start(
        self, image: str, *words: str, program: Sequence[str] = (), options: Sequence[str] = ()
    ) -> str:
        entry = ["--entrypoint", json.dumps(list(program))] if program else []
        return self("run", *CONFINED, *LIMITS, *options, *entry, image, *words)


@pytest.fixture(scope="module")
def podman(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Podman]:
    """With the base of every Containerfile."""
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    if lacking or os.geteuid() != 0:
        pytest.skip(f"Containerfiles are built as root, with {', '.join(lacking or PROGRAMS)}")
    folder = tmp_path_factory.mktemp("podman")
    (folder / "storage.conf").write_text(
        f'[storage]\ndriver = "vfs"\ngraphroot = "{folder}/storage"\nrunroot = "{folder}/run"\n'
    )
    podman = Podman(folder=folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONTAINERS_STORAGE_CONF", str(folder / "storage.conf"))
        release.run("sh", "images/base.sh", BASE)
        public = base_of(ROOT / "packages/scorer/dsf_scorer/template/Containerfile.tmpl")
        with_wheels(folder, public)
        yield podman
        podman("system", "reset", "--force")


def base_of(file: Path) -> str:
    """The name of the public image from which a file starts."""
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("FROM docker.io/"):
            return line.removeprefix("FROM ").split()[0]
    raise AssertionError(f"{file} names no base")


def with_wheels(folder: Path, image: str) -> None:
    """The base with our wheels where pip finds them."""
    context = folder / "wheels"
    for member in ("packages/wire", "packages/scorer"):
        uv(
            *("build", "--wheel", "--no-build-isolation", "--python", sys.executable),
            *("--no-create-gitignore", "--out-dir", str(context / "wheels"), str(ROOT / member)),
            epoch=1_700_000_000,
        )
    (context / "Containerfile").write_text(
        f"FROM {BASE}\nCOPY wheels {WHEELS}\nENV PIP_FIND_LINKS={WHEELS}\n", encoding="utf-8"
    )
    release.run("buildah", "build", f"--tag={image}", str(context))


@pytest.fixture(scope="module")
def built(podman: Podman) -> Podman:
    assert release.main(["--images", "--base", BASE, "--out", str(podman.folder)]) == 0
    for name in OURS:
        podman("tag", f"localhost/{name}:{VERSION}-{release.machine()}", name)
    return podman


def test_the_bill_names_what_is_installed(built: Podman) -> None:
    (path,) = built.folder.glob("gitops-dsf-agent-*.cdx.json")
    named = {
        one["purl"].partition("@")[0] for one in json.loads(path.read_text("utf-8"))["components"]
    }
    assert {
        f"pkg:pypi/{name}" for name in ("gitops-dsf-agent", "gitops-dsf-wire", "httpx")
    } <= named
    assert {"pkg:deb/debian/libc6", "pkg:deb/debian/ca-certificates"} <= named


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
        " importlib.util.find_spec('pip') is None,"
        " os.access(sysconfig.get_path('stdlib'), os.W_OK)]))"
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
    said = built.start(
        "gitops-dsf-cli", "sh", "-euc", f"cd /tmp && {steps}", options=["--tmpfs=/tmp"]
    )
    assert "no mistakes found" in said or "warning" in said
    assert "rendered: " in said


def test_the_image_of_a_new_scorer_answers(podman: Podman, tmp_path: Path) -> None:
    project = tmp_path / "cpu-mean"
    assert main(["scorer", "new", "cpu-mean", "--dir", str(project)]) == 0
    shutil.copytree(podman.folder / "wheels/wheels", project / "wheels")
    release.run("buildah", "build", "--tag=cpu-mean", str(project))
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
