"""images/agent.Containerfile: everything is pinned and hashed, and nothing of the generator is in the image.
tests/integration/test_containerfiles.py builds and runs it.
"""

import re
import shlex
from pathlib import Path

import pytest

from tests.support.containerfile import ROOT, commands, requirements, stages, texts

HEAD, BUILD, ROOTFS, FINAL = stages("images/agent.Containerfile")


def test_the_base_and_the_installer_are_pinned() -> None:
    """One base, with a full version and the project's Python; uv has the version of the Makefile."""
    (base,) = texts(HEAD, "ARG")
    assert re.fullmatch(r"PYTHON_IMAGE=docker\.io/library/python:3\.11\.\d+-slim-[a-z]+", base)
    assert texts(BUILD, "FROM") == ["${PYTHON_IMAGE} AS build"]
    assert texts(ROOTFS, "FROM") == ["${PYTHON_IMAGE} AS root"]
    (version,) = [text.removeprefix("UV_VERSION=") for text in texts(BUILD, "ARG")]
    assert f"UV_VERSION := {version}\n" in (ROOT / "Makefile").read_text(encoding="utf-8")
    assert f'required-version = "=={version}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'python -m pip install --quiet "uv==${UV_VERSION}"' in commands(BUILD)


def test_nothing_is_installed_without_a_hash_of_the_lock() -> None:
    """Requirements are installed by hash, the project's own wheels from where they were built."""
    installs = [shlex.split(command) for command in commands(BUILD) if command.startswith("uv pip install")]
    assert len(installs) == 3
    for words in installs:
        by_hash = "--require-hashes" in words and "--requirement" in words
        own = {"--no-deps", "--no-index", "/tmp/dist/*.whl"} <= set(words)  # noqa: S108 - in the image
        assert by_hash != own, words
        assert "--compile-bytecode" in words or "/opt/build/bin/python" in words
    builds = [shlex.split(command) for command in commands(BUILD) if command.startswith("uv build")]
    assert {words[-1] for words in builds} == {"packages/wire", "packages/runtime", "agent"}
    assert all("--no-build-isolation" in words for words in builds), (
        "an isolated build fetches its backend without hashes"
    )
    assert any("PYC_INVALIDATION_MODE=UNCHECKED_HASH" in text for text in texts(BUILD, "ENV"))


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
    names = requirements(BUILD, output, source=ROOT, folder=tmp_path)
    assert names >= needed
    assert not names & foreign
