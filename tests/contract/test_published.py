"""What forges and package indexes read.

Pipelines and hooks, also those of a new repository, say what is true of this one, and a tag
publishes everything.
"""

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

from hatch_build import without_relative_links
from tests.support import yamlfast
from tests.support.commandline import gitops_dsf, program
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
    jobs = read(".github/workflows/release.yaml")["jobs"]
    assert set(jobs) == {"build", "verify", "pypi", "page"}
    assert jobs["pypi"]["needs"] == ["build", "verify"]
    for name in ("release", "build"):
        assert "secrets." not in (ROOT / f".github/workflows/{name}.yaml").read_text("utf-8")
    assert jobs["build"]["uses"] == "./.github/workflows/build.yaml"
    assert jobs["pypi"]["environment"] == "pypi"
    assert jobs["pypi"]["permissions"] == {"id-token": "write"}
    assert jobs["page"]["needs"] == ["build", "pypi"]


def test_what_builds_a_release_holds_no_credentials_and_what_signs_it_builds_nothing() -> None:
    """Level 3 of SLSA: no command of this repository can sign a provenance."""
    workflow = read(".github/workflows/build.yaml")
    assert workflow["permissions"] == {"contents": "read"}
    build, images, provenance = (
        workflow["jobs"][name] for name in ("build", "images", "provenance")
    )
    built = {entry["target"] for entry in build["strategy"]["matrix"]["include"]}
    assert built == {"release", "images"} <= TARGETS
    assert "permissions" not in build
    for job in (images, provenance):
        assert job["permissions"]["id-token"] == "write"
        text = str(job["steps"])
        assert "actions/checkout" not in text
        assert "make " not in text
        assert "python" not in text
    assert provenance["needs"] == ["build", "images"]
    assert provenance["permissions"]["attestations"] == "write"
    (attest,) = (step for step in provenance["steps"] if "actions/attest@" in step.get("uses", ""))
    assert attest["with"] == {"subject-checksums": "subjects"}


def test_zizmor_finds_nothing_in_the_workflows_of_a_new_repository(tmp_path: Path) -> None:
    """`make lint` reads those of this repository."""
    assert gitops_dsf("init", "fleet", "--forge", "github", cwd=tmp_path).returncode == 0
    zizmor = Path(sys.executable).with_name("zizmor")
    words = ("--offline", "--no-progress", "--strict-collection")
    done = program(zizmor, *words, tmp_path / "fleet/.github")
    assert done.returncode == 0, done.stdout + done.stderr
    workflow = tmp_path / "fleet/.github/workflows/gitops-dsf.yaml"
    text = workflow.read_text("utf-8")
    workflow.write_text(text.replace("persist-credentials: true", "ssh-strict: true"), "utf-8")
    assert program(zizmor, *words, tmp_path / "fleet/.github").returncode != 0


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


def test_the_update_bot_sees_all_files_with_actions() -> None:
    """Those of new repositories, too: Dependabot looks into `/` only for `.github/workflows`."""
    (actions,) = (
        update["directories"]
        for update in read(".github/dependabot.yml")["updates"]
        if update["package-ecosystem"] == "github-actions"
    )
    seen = {
        ROOT / ".github/workflows",
        *(ROOT / path.strip("/") for path in actions if path != "/"),
    }
    assert "/" in actions
    assert seen == {path.parent for path in WORKFLOWS}


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
        ("vendor.dependabot", [ROOT / ".github/dependabot.yml"]),
    ],
)
def test_forges_take_the_pipelines(schema: str, files: list[Path], tmp_path: Path) -> None:
    """By the schemas of the forges, which also find what is not a job."""
    broken = tmp_path / "broken.yaml"
    broken.write_text("jobs: 1\nscript: [{}]\nupdates: 1\n", "utf-8")
    assert ran("--builtin-schema", schema, *map(str, files)) == 0
    assert ran("--builtin-schema", schema, str(broken)) == 1


def ran(*arguments: str) -> int:
    from check_jsonschema import main as check_jsonschema

    return CliRunner().invoke(check_jsonschema, arguments).exit_code
