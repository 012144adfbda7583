"""The pipelines of a new repository: ci/publish.sh against real git, races included; workflow files as far as
a shell reads them.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.cli.main import VERBS
from gitops_dsf.cli.scaffold import repo_template, scaffold
from tests.support import yamlfast
from tests.support.commandline import gitops_dsf
from tests.support.environment import GIT_CONFIGURATION

SOURCES = "main"
RENDERED = "gitops-dsf-rendered"


class Fleet:
    """A bare origin, and a pipeline's clone of it."""

    def __init__(self, root: Path, warm_programs: Path, *, folder: str = "") -> None:
        self.root = root
        self.folder = folder
        self.origin = root / "origin.git"
        self.clone = root / "clone"
        home = root / "home"
        home.mkdir()
        (home / ".gitconfig").write_text(
            f"[include]\n\tpath = {GIT_CONFIGURATION}\n"
            "[user]\n\tname = someone\n\temail = someone@example.com\n[init]\n\tdefaultBranch = main\n"
        )
        programs = root / "programs"
        programs.mkdir()
        sleep = programs / "sleep"
        sleep.write_text('#!/bin/sh\necho "$1" >> "$HOME/slept"\n')
        sleep.chmod(0o755)
        self.environment = {
            "PATH": os.pathsep.join([str(programs), str(warm_programs), os.environ["PATH"]]),
            "HOME": str(home),
            "GIT_CONFIG_NOSYSTEM": "1",
            "LC_ALL": "C.UTF-8",
            "GITOPS_DSF_PUBLISH_ATTEMPTS": "2",
        }
        self.git("init", "--quiet", "--bare", str(self.origin), cwd=root)
        self.git("clone", "--quiet", str(self.origin), str(self.clone), cwd=root)
        scaffold(target=self.clone / folder / "fleet" if folder else self.clone, name="fleet")
        self.commit("Begin")

    @property
    def path(self) -> Path:
        return self.clone / self.folder / "fleet" if self.folder else self.clone

    def git(self, *arguments: str, cwd: Path | None = None) -> str:
        done = subprocess.run(
            ["git", *arguments],
            cwd=cwd or self.clone,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (arguments, done.stderr)
        return done.stdout.strip()

    def commit(self, subject: str, *, cwd: Path | None = None) -> None:
        self.git("add", "--all", cwd=cwd)
        self.git("commit", "--quiet", "--message", subject, cwd=cwd)
        self.git("push", "--quiet", "origin", f"HEAD:{SOURCES}", cwd=cwd)

    def edit(self, file: str, old: str, new: str, *, cwd: Path | None = None) -> None:
        path = (cwd or self.path) / file
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new), "utf-8")

    def publish(self, *, ci: str = "true") -> subprocess.CompletedProcess[str]:
        environment = self.environment | {"CI": ci}
        command = ["sh", "ci/publish.sh", SOURCES]
        return subprocess.run(
            command, cwd=self.path, env=environment, capture_output=True, text=True, timeout=120, check=False
        )

    def slept(self) -> list[str]:
        """Seconds between the attempts, for which nobody really waits."""
        file = self.root / "home" / "slept"
        return file.read_text("utf-8").split() if file.is_file() else []

    def log(self, branch: str) -> list[str]:
        return self.git("log", "--format=%s", branch, cwd=self.origin).splitlines()

    def files(self, branch: str) -> set[str]:
        return set(self.git("ls-tree", "-r", "--name-only", branch, cwd=self.origin).splitlines())

    def show(self, branch: str, path: str) -> str:
        return self.git("show", f"{branch}:{path}", cwd=self.origin)


@pytest.fixture
def fleet(tmp_path: Path, warm_programs: Path) -> Fleet:
    return Fleet(tmp_path, warm_programs)


def branch_mode(fleet: Fleet) -> None:
    fleet.edit("gitops-dsf.yaml", "mode: Directory", "mode: Branch")
    fleet.commit("Render onto a branch")


def render_is_clean(fleet: Fleet, tmp_path: Path) -> bool:
    fresh = tmp_path / "fresh"
    fleet.git("clone", "--quiet", str(fleet.origin), str(fresh), cwd=tmp_path)
    return gitops_dsf("render", "--check", cwd=fresh).returncode == 0


def test_directory_mode_commits_the_tree_beside_the_sources(fleet: Fleet, tmp_path: Path) -> None:
    first = fleet.publish()
    assert first.returncode == 0, first.stderr
    assert fleet.log(SOURCES)[0].startswith("Render ")
    assert fleet.log(SOURCES)[0].endswith("[skip ci]")
    assert render_is_clean(fleet, tmp_path)


def test_publishing_twice_commits_once(fleet: Fleet) -> None:
    fleet.publish()
    commits = fleet.log(SOURCES)
    again = fleet.publish()
    assert (again.returncode, "up to date" in again.stdout) == (0, True)
    assert fleet.log(SOURCES) == commits


def test_a_push_that_loses_a_race_is_rendered_again_on_top(fleet: Fleet, tmp_path: Path) -> None:
    """Another merge lands between fetch and push: its change is neither overwritten nor left unrendered."""
    other = tmp_path / "other"
    fleet.git("clone", "--quiet", str(fleet.origin), str(other), cwd=tmp_path)
    fleet.edit("scorers/cpu-headroom.yaml", "interval: 60", "interval: 90", cwd=other)
    fleet.git("commit", "--quiet", "--all", "--message", "Score less often", cwd=other)
    hook = fleet.clone / ".git" / "hooks" / "pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f'#!/bin/sh\nrm "$0"\nunset GIT_DIR\ngit -C {other} push --quiet origin HEAD:{SOURCES}\n')
    hook.chmod(0o755)
    result = fleet.publish()
    assert result.returncode == 0, result.stderr
    assert not hook.exists()
    assert fleet.log(SOURCES)[1:] == ["Score less often", "Begin"]
    assert "interval: 90" in fleet.show(SOURCES, "rendered/platform/dynamicscorer.cpu-headroom.yaml")
    assert render_is_clean(fleet, tmp_path)


ADMIN = "kind: ClusterRoleBinding\n"


def test_a_foreign_file_beside_the_sources_is_refused(fleet: Fleet) -> None:
    assert fleet.publish().returncode == 0
    fleet.git("pull", "--quiet", "origin", SOURCES)
    (fleet.path / "rendered/platform/admin.yaml").write_text(ADMIN, "utf-8")
    fleet.edit("scorers/cpu-headroom.yaml", "interval: 60", "interval: 90")
    fleet.commit("Add an administrator")
    done = fleet.publish()
    assert done.returncode == 1
    assert "foreign: rendered/platform/admin.yaml" in done.stdout
    assert fleet.log(SOURCES)[0] == "Add an administrator"


def test_a_foreign_file_on_the_rendered_branch_is_refused(fleet: Fleet, tmp_path: Path) -> None:
    branch_mode(fleet)
    assert fleet.publish().returncode == 0
    other = tmp_path / "other"
    fleet.git("clone", "--quiet", "--branch", RENDERED, str(fleet.origin), str(other), cwd=tmp_path)
    (other / "rendered/platform/admin.yaml").write_text(ADMIN, "utf-8")
    fleet.git("add", "--all", cwd=other)
    fleet.git("commit", "--quiet", "--message", "Add an administrator", cwd=other)
    fleet.git("push", "--quiet", "origin", RENDERED, cwd=other)
    fleet.edit("scorers/cpu-headroom.yaml", "interval: 60", "interval: 90")
    fleet.commit("Score less often")
    done = fleet.publish()
    assert done.returncode == 1
    assert "rendered/platform/admin.yaml" in done.stdout
    assert fleet.log(RENDERED)[0] == "Add an administrator"


def test_branch_mode_writes_a_branch_of_its_own(fleet: Fleet) -> None:
    branch_mode(fleet)
    sources = fleet.log(SOURCES)
    result = fleet.publish()
    assert result.returncode == 0, result.stderr
    assert fleet.log(SOURCES) == sources
    assert {path.partition("/")[0] for path in fleet.files(RENDERED)} == {"rendered"}
    assert fleet.log(RENDERED)[1:] == [f"Begin {RENDERED}"]
    assert fleet.publish().returncode == 0
    assert len(fleet.log(RENDERED)) == 2
    fleet.git("checkout", "--quiet", "-B", "work", f"origin/{SOURCES}")
    (fleet.path / "clusters" / "us-east-1.yaml").unlink()
    fleet.edit("config/dynamic-scoring-config.yaml", "clusterName: us-east-1", "clusterName: eu-west-1")
    fleet.edit("config/dynamic-scoring-config.yaml", "env: staging", "region: eu-west")
    fleet.commit("A cluster leaves")
    left = fleet.publish()
    # One of three works is more than 20 %: somebody has to say that it is meant.
    assert left.returncode == 1
    assert "--allow-shrink" in left.stderr
    assert len(fleet.log(RENDERED)) == 2


def test_branch_mode_adds_a_commit_for_a_change(fleet: Fleet) -> None:
    branch_mode(fleet)
    fleet.publish()
    fleet.git("checkout", "--quiet", "-B", "work", f"origin/{SOURCES}")
    fleet.edit("scorers/cpu-headroom.yaml", "interval: 60", "interval: 90")
    fleet.commit("Score less often")
    assert fleet.publish().returncode == 0
    assert len(fleet.log(RENDERED)) == 3
    changed = fleet.git("diff", "--name-only", f"{RENDERED}~1", RENDERED, cwd=fleet.origin).splitlines()
    assert "rendered/platform/dynamicscorer.cpu-headroom.yaml" in changed
    assert all(path.startswith("rendered/") for path in changed)


def test_the_branch_of_the_sources_is_never_rendered_onto(fleet: Fleet) -> None:
    branch_mode(fleet)
    fleet.edit("gitops-dsf.yaml", "    shards: 1", f"    branch: {SOURCES}\n    shards: 1")
    fleet.commit("A mistake")
    before = fleet.log(SOURCES)
    result = fleet.publish()
    assert result.returncode == 1
    assert before == fleet.log(SOURCES)


def test_a_repository_with_errors_publishes_nothing(fleet: Fleet) -> None:
    fleet.edit("scorers/cpu-headroom.yaml", "type: Query", "type: query")
    fleet.commit("A mistake")
    result = fleet.publish()
    assert result.returncode == 1
    assert "scorers/cpu-headroom.yaml" in result.stderr
    assert fleet.log(SOURCES) == ["A mistake", "Begin"]


def test_a_push_that_is_not_allowed_ends_with_a_reason(fleet: Fleet) -> None:
    hook = fleet.origin / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho protected >&2\nexit 1\n")
    hook.chmod(0o755)
    result = fleet.publish()
    assert result.returncode == 1
    assert "is this pipeline allowed to push?" in result.stderr
    assert fleet.slept() == ["1"], "between two attempts, and not after the last one"
    assert fleet.log(SOURCES) == ["Begin"]


def test_outside_of_a_pipeline_nothing_is_touched(fleet: Fleet) -> None:
    fleet.edit("README.md", "# fleet", "# my unsaved work")
    result = fleet.publish(ci="")
    assert result.returncode == 2
    assert (fleet.path / "README.md").read_text("utf-8").startswith("# my unsaved work")


@pytest.mark.parametrize("mode", ["Directory", "Branch"])
def test_a_fleet_in_a_folder_of_a_larger_repository(tmp_path: Path, warm_programs: Path, mode: str) -> None:
    fleet = Fleet(tmp_path, warm_programs, folder="platform")
    fleet.edit("gitops-dsf.yaml", "targetRevision: main", "targetRevision: main\n    path: platform/fleet")
    fleet.edit("gitops-dsf.yaml", "mode: Directory", f"mode: {mode}")
    fleet.commit("Say where")
    result = fleet.publish()
    assert result.returncode == 0, result.stderr
    branch = RENDERED if mode == "Branch" else SOURCES
    application = yamlfast.load(
        fleet.show(branch, "platform/fleet/rendered/argocd/application.gitops-dsf-platform.yaml")
    )
    source = application["spec"]["source"]
    assert source["targetRevision"] == branch
    assert any(path.startswith(f"{source['path']}/") for path in fleet.files(branch))


def scripts() -> Iterator[Any]:
    template = repo_template()
    workflow = yamlfast.load((template / ".github/workflows/gitops-dsf.yaml").read_text("utf-8"))
    for name, job in workflow["jobs"].items():
        for index, step in enumerate(job["steps"]):
            if "run" in step:
                yield pytest.param(step["run"], id=f"github-{name}-{index}")
    pipeline = yamlfast.load((template / ".gitlab-ci.yml").read_text("utf-8"))
    for name, job in pipeline.items():
        for key in ("before_script", "script"):
            if isinstance(job, dict) and key in job:
                yield pytest.param("\n".join(job[key]), id=f"gitlab-{name}-{key}")
    for name in ("publish.sh", "backtest.sh"):
        yield pytest.param((template / "ci" / name).read_text("utf-8"), id=name)


@pytest.mark.parametrize("script", [*scripts()])
def test_scripts_are_shell(script: str) -> None:
    checked = subprocess.run(["sh", "-n"], input=script, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_actions_are_pinned_by_commit() -> None:
    workflow = yamlfast.load((repo_template() / ".github/workflows/gitops-dsf.yaml").read_text("utf-8"))
    used = [step["uses"] for job in workflow["jobs"].values() for step in job["steps"] if "uses" in step]
    assert used
    assert [action for action in used if len(action.rpartition("@")[2]) != 40] == []


def test_hooks_call_verbs_that_exist() -> None:
    hooks = yamlfast.load((repo_template() / ".pre-commit-config.yaml").read_text("utf-8"))["repos"][0][
        "hooks"
    ]
    assert {hook["entry"].split()[1] for hook in hooks} == {"validate", "test", "render"} <= VERBS.keys()


@pytest.mark.parametrize(
    ("variables", "code", "said"),
    [
        ({"CI_COMMIT_REF_PROTECTED": "false"}, 0, ""),
        (
            {"CI_COMMIT_REF_PROTECTED": "false", "GITOPS_DSF_PUSH_TOKEN": "glpat-secret"},
            1,
            "mark it Protected",
        ),
        ({"GITOPS_DSF_PUSH_TOKEN": "glpat-secret"}, 1, "mark it Protected"),
        (
            {
                "CI_COMMIT_REF_PROTECTED": "true",
                "GITOPS_DSF_PUSH_TOKEN": "glpat-secret",
                "CI_COMMIT_BRANCH": "main",
            },
            0,
            "",
        ),
        (
            {"CI_COMMIT_REF_PROTECTED": "false", "CI_COMMIT_BRANCH": "main", "CI_DEFAULT_BRANCH": "main"},
            1,
            "not a protected branch",
        ),
    ],
)
def test_a_push_token_that_every_developer_can_read_is_refused(
    variables: dict[str, str], code: int, said: str
) -> None:
    environment = {"PATH": os.environ["PATH"], **variables}
    command = ["sh", str(repo_template() / "ci/protected.sh")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert said in done.stderr
    assert "glpat" not in done.stderr + done.stdout
