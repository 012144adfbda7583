"""images/agent.Containerfile: everything is pinned and hashed, and nothing of the generator is in the image.
tests/integration/test_containerfiles.py builds and runs it.
"""

import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
UV = Path(sys.executable).with_name("uv")


@dataclass(frozen=True, kw_only=True)
class Instruction:
    """One instruction, its continued lines joined."""

    name: str
    text: str


def _stages() -> list[list[Instruction]]:
    """The instructions before the first FROM, then one list for each stage."""
    lines = [
        line
        for line in (ROOT / "images" / "agent.Containerfile").read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    ]
    stages: list[list[Instruction]] = [[]]
    for line in filter(str.strip, "\n".join(lines).replace("\\\n", " ").splitlines()):
        name, _, text = line.partition(" ")
        if name == "FROM":
            stages.append([])
        stages[-1].append(Instruction(name=name, text=" ".join(text.split())))
    return stages


HEAD, BUILD, ROOTFS, FINAL = _stages()


def _texts(stage: list[Instruction], name: str) -> list[str]:
    return [one.text for one in stage if one.name == name]


def _commands() -> list[str]:
    """The shell commands of the first stage, in order."""
    return [command.strip() for text in _texts(BUILD, "RUN") for command in text.split("&&")]


def test_the_base_and_the_installer_are_pinned() -> None:
    """What is built has one base, with a full version and the Python that the project requires. uv
    has the version of the Makefile.
    """
    (base,) = _texts(HEAD, "ARG")
    assert re.fullmatch(r"PYTHON_IMAGE=docker\.io/library/python:3\.11\.\d+-slim-[a-z]+", base)
    assert _texts(BUILD, "FROM") == ["${PYTHON_IMAGE} AS build"]
    assert _texts(ROOTFS, "FROM") == ["${PYTHON_IMAGE} AS root"]
    (version,) = [text.removeprefix("UV_VERSION=") for text in _texts(BUILD, "ARG")]
    assert f"UV_VERSION := {version}\n" in (ROOT / "Makefile").read_text(encoding="utf-8")
    assert f'required-version = "=={version}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'python -m pip install --quiet "uv==${UV_VERSION}"' in _commands()


def test_nothing_is_installed_without_a_hash_of_the_lock() -> None:
    """Requirements are installed by hash, and the project's own wheels from the folder where they were
    built.
    """
    installs = [shlex.split(command) for command in _commands() if command.startswith("uv pip install")]
    assert len(installs) == 3
    for words in installs:
        by_hash = "--require-hashes" in words and "--requirement" in words
        own = {"--no-deps", "--no-index", "/tmp/dist/*.whl"} <= set(words)  # noqa: S108 - in the image
        assert by_hash != own, words
        assert "--compile-bytecode" in words or "/opt/build/bin/python" in words
    builds = [shlex.split(command) for command in _commands() if command.startswith("uv build")]
    assert {words[-1] for words in builds} == {"packages/wire", "packages/runtime", "agent"}
    assert all("--no-build-isolation" in words for words in builds), (
        "an isolated build fetches its backend without hashes"
    )
    assert any("PYC_INVALIDATION_MODE=UNCHECKED_HASH" in text for text in _texts(BUILD, "ENV"))


@pytest.mark.parametrize(
    ("output", "needed", "foreign"),
    [
        (
            "agent.txt",
            {"httpx", "msgspec", "pyyaml"},
            {"kubernetes", "promql-parser", "cel-expr-python", "ruamel-yaml", "pytest"},
        ),
        ("build.txt", {"hatchling"}, {"httpx", "pytest"}),
    ],
)
def test_the_lock_gives_the_requirements(
    tmp_path: Path, output: str, needed: set[str], foreign: set[str]
) -> None:
    """The commands of the file, run with the current lock: every line has a version and a hash."""
    (command,) = [command for command in _commands() if command.endswith(f"--output-file /tmp/{output}")]
    words = shlex.split(command.replace("/tmp/", f"{tmp_path}/"))  # noqa: S108 - in the image
    subprocess.run([UV, *words[1:]], cwd=ROOT, check=True, capture_output=True, timeout=60)
    text = (tmp_path / output).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert all(re.match(r"[\w.-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", line) for line in lines)
    names = {line.partition("==")[0] for line in lines}
    assert names >= needed
    assert not names & foreign
