"""What contributors and forges read: the example of CONTRIBUTING, the pipelines and the hooks say what is
true of this repository.
"""

import re
from pathlib import Path

import pytest
from check_jsonschema import main as check_jsonschema
from click.testing import CliRunner

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted(
    [
        *ROOT.glob(".github/workflows/*.yaml"),
        *ROOT.glob("repo-template/on-request/github/.github/workflows/*.yaml"),
    ]
)
USES = re.compile(r"uses: (\S+)@(\S+)(?: # (\S+))?")
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


def test_actions_are_pinned_by_commit_and_everywhere_alike() -> None:
    found = [
        (path, *match.groups()) for path in WORKFLOWS for match in USES.finditer(path.read_text("utf-8"))
    ]
    assert len(found) > 5
    assert [item for item in found if not re.fullmatch(r"[0-9a-f]{40}", item[2]) or not item[3]] == []
    pins = {(action, commit) for _, action, commit, _ in found}
    assert len(pins) == len({action for action, _ in pins})


@pytest.mark.parametrize("file", [".github/workflows/ci.yaml", ".gitlab-ci.yml"])
def test_pipelines_run_every_step_of_ci_run(file: str) -> None:
    steps = set(
        re.findall(r"(?:suite|make) (lint|fuzz|test-hub|test)\b", (ROOT / ".ci" / "run").read_text("utf-8"))
    )
    assert steps == {"lint", "fuzz", "test", "test-hub"}
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
