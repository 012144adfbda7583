"""What `init --wheels --hashes` makes pipelines install.

Nothing without a hash or with another one.
"""

import re
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from gitops_dsf import __version__
from gitops_dsf.cli.scaffold import scaffold
from tests.support.commandline import gitops_dsf, output_of, program

ROOT = Path(__file__).parents[2]
HASHED = "repo-template/on-request/hashes/requirements.txt"
OWN = ("gitops-dsf", "gitops-dsf-scorer", "gitops-dsf-wire")
WHEELS = tuple(f"{name.replace('-', '_')}-{__version__}-py3-none-any.whl" for name in OWN)
pytestmark = pytest.mark.real_time  # pip is a process


def test_the_requirements_are_those_of_the_lock_file() -> None:
    """The command is that of `make lock`."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    (command,) = re.findall(r"^REQUIREMENTS := (.*)$", makefile, re.MULTILINE)
    uv = Path(sys.executable).with_name("uv")
    done = subprocess.run(
        [uv, *command.split()], cwd=ROOT, capture_output=True, text=True, check=True
    )
    head, own, rest = (
        (ROOT / HASHED).read_text("utf-8").partition("".join(map("./wheels/{}\n".format, WHEELS)))
    )
    assert (head.count("\n"), bool(own), rest) == (1, True, done.stdout), "run make lock"


@pytest.fixture
def fleet(wheels: Path, tmp_path: Path) -> Path:
    scaffold(target=tmp_path / "fleet", name="fleet", wheels=wheels, hashes=True)
    return tmp_path / "fleet"


def test_every_line_has_a_hash(fleet: Path) -> None:
    lines = (fleet / "requirements.txt").read_text("utf-8").splitlines()
    named = [line for line in lines if "==" in line or "./wheels/" in line]
    assert f"./wheels/{WHEELS[0]} \\" in named
    assert [line for line in named if not line.endswith("\\")] == []


def index_of_others(folder: Path) -> str:
    """A package index in which somebody registered our names; returns its URL."""
    for name in (*OWN, "gitops-dsf-runtime"):
        place = folder / "simple" / name
        place.mkdir(parents=True)
        stem = f"{name.replace('-', '_')}-{__version__}"
        with ZipFile(place / f"{stem}-py3-none-any.whl", "w") as wheel:
            about = f"{stem}.dist-info"
            files = {
                "evil.py": "",
                f"{about}/METADATA": (
                    f"Metadata-Version: 2.1\nName: {name}\nVersion: {__version__}\n"
                ),
                f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            }
            for path, text in files.items():
                wheel.writestr(path, text)
            wheel.writestr(
                f"{about}/RECORD", "".join(f"{path},,\n" for path in [*files, f"{about}/RECORD"])
            )
        link = f'<a href="{stem}-py3-none-any.whl">wheel</a>'
        (place / "index.html").write_text(
            f"<!DOCTYPE html><html><body>{link}</body></html>", "utf-8"
        )
    return (folder / "simple").as_uri()


def pip(fleet: Path, index: str) -> subprocess.CompletedProcess[str]:
    """Installs as a pipeline would. To compile the modules would take half of the time."""
    words = ("install", "--quiet", "--no-deps", "--no-compile", "--target", "installed")
    given = ("--index-url", index, "-r", "requirements.txt")
    return program(sys.executable, "-m", "pip", *words, *given, cwd=fleet)


def test_pip_asks_no_index_for_what_none_has(wheels: Path, tmp_path: Path) -> None:
    """Whoever registers our names would run code beside the token that may push."""
    index = index_of_others(tmp_path / "index")
    plain, given = tmp_path / "plain", tmp_path / "given"
    scaffold(target=plain, name="fleet", forge="github")
    done = pip(plain, index)
    assert not (plain / "installed/evil.py").exists()
    assert done.returncode != 0
    assert f"gitops_dsf_wire-{__version__}-py3-none-any.whl" in done.stderr
    scaffold(target=given, name="fleet", wheels=wheels)
    done = pip(given, index)
    assert done.returncode == 0, done.stderr
    assert not (given / "installed/evil.py").exists()
    assert (given / "installed/gitops_dsf/cli").is_dir()
    assert (given / "installed/dsf_runtime").is_dir(), "extras need it"


def test_hashes_refuse_what_an_index_has_and_a_replaced_wheel(fleet: Path, tmp_path: Path) -> None:
    """Only our own distributions are installed: others would come from an index."""
    index = index_of_others(tmp_path / "index")
    lines = (fleet / "requirements.txt").read_text("utf-8").splitlines()
    ours = [line for number, line in enumerate(lines) if "./wheels/" in lines[number - 1] + line]
    (fleet / "requirements.txt").write_text("\n".join(ours) + "\n", "utf-8")
    done = pip(fleet, index)
    assert done.returncode == 0, done.stderr
    assert (fleet / "installed/gitops_dsf/cli").is_dir()
    assert not (fleet / "installed/evil.py").exists()
    (wheel,) = (fleet / "wheels").glob("gitops_dsf_wire-*.whl")
    wheel.write_bytes(wheel.read_bytes() + b"more")
    done = pip(fleet, index)
    assert done.returncode == 1
    assert "DO NOT MATCH THE HASHES" in done.stderr


def test_a_new_scorer_asks_no_index_for_ours(tmp_path: Path) -> None:
    """Its image and its README install wheels."""
    project = tmp_path / "cpu-mean"
    assert gitops_dsf("scorer", "new", "cpu-mean", "--dir", project).returncode == 0
    installs = re.findall(
        r"pip install .*",
        "".join(path.read_text("utf-8") for path in project.glob("*") if path.is_file()),
    )
    assert len(installs) == 2
    assert [line for line in installs if "wheels/" not in line] == []
    assert "dependencies = []" in (project / "pyproject.toml").read_text("utf-8")


def test_no_page_and_no_message_installs_a_name_that_no_index_has() -> None:
    """A name in quotes is a word of a sentence."""
    pattern = re.compile(
        r"(?:pip3? install|uv add|uv pip install|pipx install)(?: -\S+)* ['\"]?gitops-dsf"
    )
    listed = output_of(
        "git",
        "ls-files",
        "-z",
        "docs",
        "gitops_dsf",
        "packages",
        "agent",
        "repo-template",
        "README.md",
        cwd=ROOT,
    )
    texts = {
        name: (ROOT / name)
        for name in listed.split("\0")
        if name.endswith((".md", ".py", ".tmpl", ".yaml"))
    }
    wrong = [name for name, path in texts.items() if pattern.search(path.read_text("utf-8"))]
    assert wrong == ["docs/start/install.md"], "which says never to do it"
