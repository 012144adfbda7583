"""images/reconciler.Containerfile keeps what it promises: hashed packages, and what the Deployment starts."""

import json
import shlex
import tomllib
from typing import Any

from gitops_dsf.cli.main import VERBS
from gitops_dsf.render.reconciler import workload
from gitops_dsf.repository.model.repository import FleetRepository
from tests.support.containerfile import ROOT, commands, stages, texts

HEAD, BUILD, FINAL = stages("images/reconciler.Containerfile")


def test_nothing_of_python_is_installed_without_a_hash_of_the_lock() -> None:
    installs = [shlex.split(command) for command in commands(BUILD) if command.startswith("uv pip install")]
    assert len(installs) == 3
    for words in installs:
        own = {"--no-deps", "--no-index", "/tmp/dist/*.whl"} <= set(words)  # noqa: S108 - in the image
        assert ("--require-hashes" in words) != own, words
    builds = [command for command in commands(BUILD) if command.startswith("uv build")]
    assert all("--no-build-isolation" in command for command in builds)


def test_what_it_starts_is_what_the_deployment_asks_for() -> None:
    (program,) = json.loads(texts(FINAL, "ENTRYPOINT")[0])
    folder, _, name = program.rpartition("/")
    scripts: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "scripts"
    ]
    assert name in scripts
    assert texts(FINAL, "COPY") == [
        f"--from=build {folder.removesuffix('/bin')} {folder.removesuffix('/bin')}"
    ]
    (verb,) = json.loads(texts(FINAL, "CMD")[0])
    assert verb in VERBS
    repository = FleetRepository.model_validate(
        {"metadata": {"name": "f"}, "spec": {"git": {"url": "https://git.example.com/f.git"}}}
    )
    objects = workload(repository, placement_namespaces=())
    (deployment,) = (item for item in objects if item["kind"] == "Deployment")
    assert deployment["spec"]["template"]["spec"]["containers"][0]["args"][0] == verb
    assert texts(FINAL, "EXPOSE") == ["8080"]
