"""The targets of images/Containerfile.

Everything is pinned and hashed, nothing of the generator is in the agent's image, and the
reconciler's starts what its Deployment asks for. test_containerfiles.py builds and runs them.
"""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.cli.main import VERBS
from gitops_dsf.render.reconciler import workload
from gitops_dsf.repository.model.repository import FleetRepository

ROOT = Path(__file__).parents[2]
Instruction = tuple[str, str]
Stage = list[Instruction]


def stages(file: str) -> dict[str, Stage]:
    """The instructions of each stage, as (name, text), by its name; "" is what stands before the
    first one.
    """
    lines = [
        line
        for line in (ROOT / file).read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    ]
    found: dict[str, Stage] = {"": []}
    stage = found[""]
    for line in filter(str.strip, "\n".join(lines).replace("\\\n", " ").splitlines()):
        name, _, text = line.partition(" ")
        if name == "FROM":
            stage = found.setdefault(text.partition(" AS ")[2], [])
        stage.append((name, " ".join(text.split())))
    return found


def texts(stage: Stage, name: str) -> list[str]:
    return [text for each, text in stage if each == name]


def commands(stage: Stage) -> list[str]:
    """The shell commands, in order."""
    return [command.strip() for text in texts(stage, "RUN") for command in text.split("&&")]


def requirements(stage: Stage, output: str, *, source: Path, folder: Path) -> set[str]:
    """What the stage's own command exports from the lock of ``source``, each with a version and a
    hash.
    """
    (command,) = [
        command for command in commands(stage) if command.endswith(f"--output-file /tmp/{output}")
    ]
    words = shlex.split(command.replace("/tmp/", f"{folder}/"))  # noqa: S108 - in the image
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([uv, *words[1:]], cwd=source, check=True, capture_output=True, timeout=120)
    text = (folder / output).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [
        line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")
    ]
    assert all(re.match(r"[\w.-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", line) for line in lines)
    return {line.partition("==")[0] for line in lines}


STAGES = stages("images/Containerfile")


def whole(name: str) -> Stage:
    """The instructions of a stage, behind those of the stages that it continues."""
    stage = STAGES[name]
    before = texts(stage, "FROM")[0].partition(" AS ")[0]
    return [*whole(before), *stage] if before in STAGES else stage


HEAD = STAGES[""]
WHEELS = STAGES["wheels"]
AGENT_BUILD = whole("agent-build")
RECONCILER_BUILD = whole("reconciler-build")
CLI_BUILD = whole("cli-build")
RECONCILER = STAGES["reconciler"]


def test_the_base_and_the_installer_are_pinned() -> None:
    """One base, with a full version and the project's Python; uv has the version of the
    Makefile.
    """
    (base,) = texts(HEAD, "ARG")
    assert re.fullmatch(r"PYTHON_IMAGE=docker\.io/library/python:3\.11\.\d+-slim-[a-z]+", base)
    bases = {texts(stage, "FROM")[0].partition(" AS ")[0] for name, stage in STAGES.items() if name}
    assert bases - STAGES.keys() == {"${PYTHON_IMAGE}", "scratch"}
    assert texts(STAGES["agent"], "FROM") == ["scratch AS agent"]
    (version,) = [text.removeprefix("UV_VERSION=") for text in texts(WHEELS, "ARG")]
    assert f"UV_VERSION := {version}\n" in (ROOT / "Makefile").read_text(encoding="utf-8")
    assert f'required-version = "=={version}"' in (ROOT / "pyproject.toml").read_text(
        encoding="utf-8"
    )
    assert 'python -m pip install --quiet "uv==${UV_VERSION}"' in commands(WHEELS)


@pytest.mark.parametrize(
    ("build", "built"),
    [
        (AGENT_BUILD, {"packages/wire", "packages/runtime", "agent"}),
        (RECONCILER_BUILD, {"packages/wire", "packages/runtime", "packages/scorer", "."}),
        (CLI_BUILD, {"packages/wire", "packages/runtime", "packages/scorer", ".", "agent"}),
    ],
    ids=["agent", "reconciler", "cli"],
)
def test_nothing_is_installed_without_a_hash_of_the_lock(build: Stage, built: set[str]) -> None:
    """Requirements are installed by hash, the project's own wheels from where they were built."""
    installs = [
        shlex.split(command) for command in commands(build) if command.startswith("uv pip install")
    ]
    assert len(installs) == 3
    for words in installs:
        by_hash = "--require-hashes" in words and "--requirement" in words
        own = {"--no-deps", "--no-index", "/tmp/dist/*.whl"} <= set(words)  # noqa: S108 - in the image
        assert by_hash != own, words
        assert "--compile-bytecode" in words or "/opt/build/bin/python" in words
    builds = [shlex.split(command) for command in commands(build) if command.startswith("uv build")]
    assert {words[-1] for words in builds} == built
    assert all("--no-build-isolation" in words for words in builds), (
        "an isolated build fetches its backend without hashes"
    )
    assert any("PYC_INVALIDATION_MODE=UNCHECKED_HASH" in text for text in texts(build, "ENV"))


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
    names = requirements(AGENT_BUILD, output, source=ROOT, folder=tmp_path)
    assert names >= needed
    assert not names & foreign


def test_what_it_starts_is_what_the_deployment_asks_for() -> None:
    (program,) = json.loads(texts(RECONCILER, "ENTRYPOINT")[0])
    folder, _, name = program.rpartition("/")
    scripts: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]["scripts"]
    assert name in scripts
    assert texts(RECONCILER, "COPY") == [
        f"--from=reconciler-build {folder.removesuffix('/bin')} {folder.removesuffix('/bin')}"
    ]
    (verb,) = json.loads(texts(RECONCILER, "CMD")[0])
    assert verb in VERBS
    repository = FleetRepository.model_validate(
        {"metadata": {"name": "f"}, "spec": {"git": {"url": "https://git.example.com/f.git"}}}
    )
    objects = workload(repository, placement_namespaces=())
    (deployment,) = (item for item in objects if item["kind"] == "Deployment")
    assert deployment["spec"]["template"]["spec"]["containers"][0]["args"][0] == verb
    assert texts(RECONCILER, "EXPOSE") == ["8080"]
