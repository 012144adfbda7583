"""What forges and package indexes read: pipelines and hooks, also those of a new repository, say
what is true of this one, and a tag publishes everything.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from check_jsonschema import main as check_jsonschema
from click.testing import CliRunner
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

from hatch_build import without_relative_links
from tests.support import yamlfast
from tests.support.pages import ROOT, TARGETS
from tools import version

WORKFLOWS = sorted(
    [
        *ROOT.glob(".github/workflows/*.yaml"),
        *ROOT.glob("repo-template/on-request/github/.github/workflows/*.yaml"),
    ]
)
USES = re.compile(r"uses: (\S+)@(\S+)(?: # (\S+))?")


def read(path: str) -> Any:
    return yamlfast.load((ROOT / path).read_text("utf-8"))


def test_the_hooks_are_those_of_a_new_repository() -> None:
    hooks, (local,) = (
        read(".pre-commit-hooks.yaml"),
        read("repo-template/on-request/pre-commit/.pre-commit-config.yaml")["repos"],
    )
    fields = ("id", "name", "entry", "always_run", "pass_filenames")
    assert [[hook[field] for field in fields] for hook in hooks] == [
        [hook[field] for field in fields] for hook in local["hooks"]
    ]


def test_the_hooks_install_all_of_ours_that_the_generator_needs() -> None:
    """pre-commit installs the root of its clone, and these folders beside it: no index has them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = {
        line.partition("==")[0]
        for line in project["dependencies"]
        if line.startswith("gitops-dsf-")
    }
    for hook in read(".pre-commit-hooks.yaml"):
        folders = [ROOT / path for path in hook["additional_dependencies"]]
        assert needed == {
            tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]["name"]
            for folder in folders
        }


def test_a_tag_publishes_without_keys_and_tokens() -> None:
    text = (ROOT / ".github/workflows/release.yaml").read_text("utf-8")
    jobs = yamlfast.load(text)["jobs"]
    assert set(jobs) == {"build", "images", "pypi", "page"}
    assert "secrets." not in text
    assert jobs["pypi"]["environment"] == "pypi"
    assert jobs["pypi"]["permissions"] == {"id-token": "write"}
    assert jobs["images"]["permissions"]["id-token"] == "write"
    assert jobs["page"]["needs"] == ["images", "pypi"]
    built = {entry["target"] for entry in jobs["build"]["strategy"]["matrix"]["include"]}
    assert built == {"release", "images"}
    assert built | set(re.findall(r"run: make ([a-z-]+)", text)) <= TARGETS


@pytest.mark.parametrize(
    "folder", version.members(ROOT), ids=lambda folder: str(folder.relative_to(ROOT))
)
def test_no_link_of_a_published_readme_needs_the_repository_around_it(folder: Path) -> None:
    text = ProjectMetadata(str(folder), PluginManager()).core.readme
    assert text.startswith("# gitops-dsf")
    assert re.findall(r"\]\((?!https://)[^)]*\)", text) == []


def test_links_of_a_published_readme_lead_to_its_tag() -> None:
    text = (
        "See [Installing](docs/start/upgrade.md#uninstalling),"
        " [OCM](https://open-cluster-management.io) and"
        " [above](#try-it).\n\n![A report](docs/images/report.png)\n\n## Next\n"
    )
    place = "https://forge.example.com/team/gitops-dsf"
    assert without_relative_links(text, repository=place, tag="v1.2.0") == text.replace(
        "(docs/images", f"({place}/raw/v1.2.0/docs/images"
    ).replace("(docs/", f"({place}/blob/v1.2.0/docs/")


def test_actions_are_pinned_by_commit_and_everywhere_alike() -> None:
    found = [
        (path, *match.groups())
        for path in WORKFLOWS
        for match in USES.finditer(path.read_text("utf-8"))
    ]
    assert len(found) > 5
    assert [
        item for item in found if not re.fullmatch(r"[0-9a-f]{40}", item[2]) or not item[3]
    ] == []
    pins = {(action, commit) for _, action, commit, _ in found}
    assert len(pins) == len({action for action, _ in pins})


@pytest.mark.parametrize("file", [".github/workflows/ci.yaml", ".gitlab-ci.yml"])
def test_pipelines_run_every_step_of_ci_run(file: str) -> None:
    steps = set(
        re.findall(
            r"(?:suite|make) (lint|fuzz|test-hub|test|world)\b",
            (ROOT / ".ci" / "run").read_text("utf-8"),
        )
    )
    assert steps == {"lint", "fuzz", "test", "test-hub", "world"}
    run = set(re.findall(r"make ([a-z-]+)", (ROOT / file).read_text("utf-8")))
    assert steps <= run <= TARGETS


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("vendor.github-workflows", WORKFLOWS),
        (
            "vendor.gitlab-ci",
            [ROOT / ".gitlab-ci.yml", ROOT / "repo-template/on-request/gitlab/.gitlab-ci.yml"],
        ),
    ],
)
def test_forges_take_the_pipelines(schema: str, files: list[Path], tmp_path: Path) -> None:
    """By the schemas of the forges, which also find what is no job."""
    broken = tmp_path / "broken.yaml"
    broken.write_text("jobs: 1\nscript: [{}]\n", "utf-8")
    assert ran("--builtin-schema", schema, *map(str, files)) == 0
    assert ran("--builtin-schema", schema, str(broken)) == 1


def ran(*arguments: str) -> int:
    return CliRunner().invoke(check_jsonschema, arguments).exit_code
