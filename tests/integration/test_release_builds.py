"""`make release`, really built, without the images.

The same bytes twice, and installed by pip, also by the pipelines of a new fleet. Hooks, really
installed from a clone.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import yamlfast
from tests.support.commandline import gitops_dsf, output_of, program
from tools import release as command
from tools import version
from tools.release import ROOT, source_date

UV = Path(sys.executable).with_name("uv")
pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Built twice, the second time by another user's habits."""
    folders = tmp_path_factory.mktemp("first"), tmp_path_factory.mktemp("second")
    for folder, mask in zip(folders, (0o022, 0o077), strict=True):
        before = os.umask(mask)
        try:
            assert command.main(["--out", str(folder), "--without-images"]) == 0
        finally:
            os.umask(before)
    return folders


def test_two_builds_are_equal(builds: tuple[Path, Path]) -> None:
    first, second = (
        {path.name: path.read_bytes() for path in folder.iterdir()} for folder in builds
    )
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []
    assert len([name for name in first if name.endswith(".whl")]) == len(
        version.distributions(ROOT)
    )
    assert len([name for name in first if name.endswith(".tar.gz")]) == len(
        version.distributions(ROOT)
    )


def test_the_checksums_are_those_of_the_files(builds: tuple[Path, Path]) -> None:
    output_of("sha256sum", "--check", "--strict", command.SUMS, cwd=builds[0])
    lines = (builds[0] / command.SUMS).read_text("ascii").splitlines()
    assert len(lines) == len(list(builds[0].iterdir())) - 1


def test_the_index_takes_the_metadata(builds: tuple[Path, Path]) -> None:
    """PyPI refuses a README that it cannot show."""
    files = [*builds[0].glob("*.whl"), *builds[0].glob("*.tar.gz")]
    output_of(UV, "tool", "run", "twine", "check", "--strict", *files)


def test_an_sdist_gives_the_wheel_of_the_release(builds: tuple[Path, Path], tmp_path: Path) -> None:
    """Away from the checkout, with nothing but the sdist."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(source_date())}
    for sdist in builds[0].glob("*.tar.gz"):
        output_of(
            *(UV, "build", "--quiet", "--no-config", "--wheel", "--no-build-isolation"),
            *("--python", sys.executable, "--out-dir", tmp_path, sdist),
            cwd=tmp_path,
            environ=environment,
        )
    made = {path.name: path.read_bytes() for path in tmp_path.glob("*.whl")}
    assert made == {path.name: path.read_bytes() for path in builds[0].glob("*.whl")}


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        ("gitops-dsf", "gitops-dsf"),
        ("gitops-dsf-agent", "gitops-dsf-agent"),
        ("gitops-dsf-scorer", "dsf-scorer"),
    ],
)
def test_pip_installs_from_the_folder(
    builds: tuple[Path, Path], tmp_path: Path, wanted: str, name: str
) -> None:
    """Our distributions come from the folder, what they need from the index."""
    output_of(sys.executable, "-m", "venv", tmp_path / "venv")
    python = tmp_path / "venv/bin/python"
    pinned = f"{wanted}=={version.current(ROOT)}"
    output_of(python, "-m", "pip", "install", "--quiet", "--find-links", builds[0], pinned)
    assert version.current(ROOT) in output_of(tmp_path / "venv/bin" / name, "--version")
    if wanted == "gitops-dsf":
        fleet = tmp_path / "fleet"
        for words in (["init", fleet], ["render", fleet]):
            output_of(tmp_path / "venv/bin/gitops-dsf", *words)


class Job:
    """A runner's machine: an empty home, and a virtual environment in place of the image of the
    job.
    """

    def __init__(self, folder: Path, origin: Path, forge: str) -> None:
        self.origin, self.forge = origin, forge
        self.clone = folder / "clone"
        output_of(sys.executable, "-m", "venv", folder / "image")
        kept = ("PIP_", "SSL_", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
        self.environment = {
            **{name: value for name, value in os.environ.items() if name.startswith(kept)},
            "PATH": f"{folder / 'image/bin'}{os.pathsep}/usr/local/bin{os.pathsep}/usr/bin{os.pathsep}/bin",  # noqa: E501
            "HOME": str(folder / "home"),
            "CI_PROJECT_DIR": str(self.clone),
        }
        (folder / "home").mkdir()

    def run(self, name: str, revision: str, *depth: str, **variables: str) -> str:
        """Runs the commands of a job of the pipeline file, in a clone at a revision.

        Returns its output.
        """
        git("clone", "--quiet", "--no-checkout", *depth, f"file://{self.origin}", self.clone)
        git("checkout", "--quiet", "--detach", revision, cwd=self.clone)
        script = "\n".join(self._commands(name))
        environment = {**self.environment, **variables}
        return output_of("/bin/sh", "-e", "-c", script, cwd=self.clone, environ=environment)

    def _commands(self, name: str) -> list[str]:
        if self.forge == "gitlab":
            pipeline = yamlfast.load((self.clone / ".gitlab-ci.yml").read_text("utf-8"))
            return [*pipeline["default"]["before_script"], *pipeline[name]["script"]]
        workflow = yamlfast.load(
            (self.clone / ".github/workflows/gitops-dsf.yaml").read_text("utf-8")
        )
        return [step["run"] for step in workflow["jobs"][name]["steps"] if "run" in step]


def git(*words: str | Path, cwd: Path | None = None) -> str:
    return output_of("git", *words, cwd=cwd).strip()


@pytest.mark.parametrize(("forge", "more"), [("github", []), ("gitlab", ["--hashes"])])
def test_the_first_push_of_a_fresh_fleet_is_green(
    builds: tuple[Path, Path], tmp_path: Path, forge: str, more: list[str]
) -> None:
    """The commands of the pipeline file itself, as the forge runs them: after the first push, and
    for the first pull request. Our distributions are those of the release, what they need comes
    from the index.
    """
    fleet, origin = tmp_path / "fleet", tmp_path / "origin.git"
    made = gitops_dsf("init", "fleet", "--forge", forge, "--wheels", builds[0], *more, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    git("init", "--quiet", "--bare", "--initial-branch=main", origin)
    git("init", "--quiet", "--initial-branch=main", cwd=fleet)
    git("remote", "add", "origin", f"file://{origin}", cwd=fleet)
    git("add", "--all", cwd=fleet)
    git("commit", "--quiet", "--message", "Begin", cwd=fleet)
    git("push", "--quiet", "origin", "main", cwd=fleet)

    event = tmp_path / "event.json"
    event.write_text("{}", "utf-8")
    pushed = {
        "github": {
            "GITHUB_ACTIONS": "true",
            "GITHUB_REF_NAME": "main",
            "GITHUB_EVENT_PATH": str(event),
        },
        "gitlab": {
            "GITLAB_CI": "true",
            "CI_COMMIT_BRANCH": "main",
            "CI_COMMIT_REF_PROTECTED": "true",
        },
    }[forge]
    (tmp_path / "publish").mkdir()
    said = Job(tmp_path / "publish", origin, forge).run("publish", "main", "--depth=1", **pushed)
    assert "rendered/ on main is now the rendering of" in said
    assert git("log", "--format=%s", "main", cwd=origin).endswith("[skip ci]\nBegin")

    git("pull", "--quiet", "origin", "main", cwd=fleet)
    git("checkout", "--quiet", "-b", "change", cwd=fleet)
    scorer = fleet / "scorers/cpu-headroom.yaml"
    text = scorer.read_text("utf-8")
    assert "[1h]" in text
    scorer.write_text(text.replace("[1h]", "[2h]"), "utf-8")
    assert gitops_dsf("render", cwd=fleet).returncode == 0
    git("commit", "--quiet", "--all", "--message", "Look further back", cwd=fleet)
    git("push", "--quiet", "origin", "change", cwd=fleet)
    base, head, summary = (
        git("rev-parse", "main", cwd=origin),
        "origin/change",
        tmp_path / "summary",
    )
    pull = {
        "number": 1,
        "base": {"sha": base},
        "head": {"sha": "0", "repo": {"full_name": "a/fork"}},
    }
    event.write_text(json.dumps({"pull_request": pull}), "utf-8")
    asked = {
        "github": {
            "GITHUB_ACTIONS": "true",
            "GITHUB_REPOSITORY": "team/fleet",
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_STEP_SUMMARY": str(summary),
        },
        "gitlab": {
            "GITLAB_CI": "true",
            "CI_MERGE_REQUEST_IID": "1",
            "CI_MERGE_REQUEST_DIFF_BASE_SHA": base,
        },
    }[forge]
    (tmp_path / "check").mkdir()
    job = Job(tmp_path / "check", origin, forge)
    said = job.run("check", head, **asked)
    assert "ci: everything passed" in said
    assert "cpu-headroom" in (summary.read_text("utf-8") if forge == "github" else said)
    assert (job.clone / "tests.xml").is_file() == (forge == "gitlab")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What pre-commit and forges make of a tag: the committed files."""
    target = tmp_path_factory.mktemp("clone")
    git("clone", "--quiet", ROOT, target)
    return target


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """A new fleet repository in git."""
    assert gitops_dsf("init", "fleet", "--with", "pre-commit", cwd=tmp_path).returncode == 0
    fleet = tmp_path / "fleet"
    git("init", "--quiet", cwd=fleet)
    return fleet


def pre_commit(
    fleet: Path, *words: str | Path, everything: bool = True, **variables: str
) -> subprocess.CompletedProcess[str]:
    git("add", "--all", cwd=fleet)
    environment = {**os.environ, "PRE_COMMIT_HOME": str(fleet.parent / "home"), **variables}
    tool = (UV, "tool", "run", "--from", "pre-commit", "pre-commit")
    which = ["--all-files"] if everything else []
    return program(*tool, *words, *which, cwd=fleet, environ=environment)


def test_pre_commit_runs_the_hooks_of_the_repository(clone: Path, fleet: Path) -> None:
    (fleet / "scorers/bad.yaml").write_text("kind: [\n")
    ran = pre_commit(fleet, "try-repo", clone, "gitops-dsf-validate")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "\nscorers/bad.yaml:" in ran.stdout


def test_the_hooks_of_a_new_repository_run_what_its_pipelines_install(
    fleet: Path, pipeline_programs: Path
) -> None:
    assert gitops_dsf("render", cwd=fleet).returncode == 0
    ran = pre_commit(fleet, "run", PATH=f"{pipeline_programs}{os.pathsep}{os.environ['PATH']}")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.count("Passed") == 3


@pytest.mark.parametrize("folder", ["", "platform/fleet"])
def test_the_hooks_run_for_a_commit_that_only_deletes(
    tmp_path: Path, pipeline_programs: Path, folder: str
) -> None:
    """Also in a folder of a larger repository.

    A scorer that is deleted leaves a stale rendered/ behind.
    """
    mono = tmp_path / "mono"
    mono.mkdir()
    git("init", "--quiet", cwd=mono)
    assert gitops_dsf("init", folder or ".", "--with", "pre-commit", cwd=mono).returncode == 0
    assert gitops_dsf("render", folder or ".", cwd=mono).returncode == 0
    git("add", "--all", cwd=mono)
    git("commit", "--quiet", "--message", "Begin", cwd=mono)
    git("rm", "--quiet", str(Path(folder, "scorers/cpu-headroom.yaml")), cwd=mono)
    git("rm", "--quiet", "-r", str(Path(folder, "apps")), str(Path(folder, "tests")), cwd=mono)
    variables = {"PATH": f"{pipeline_programs}{os.pathsep}{os.environ['PATH']}"}
    ran = pre_commit(mono, "run", everything=False, **variables)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert re.search(r"^gitops-dsf render --check\.+Failed$", ran.stdout, re.MULTILINE)
    assert re.search(r"^gitops-dsf validate\.+Passed$", ran.stdout, re.MULTILINE)
    assert (
        f"left over: {Path(folder, 'rendered/platform/dynamicscorer.cpu-headroom.yaml')}\n"
        in ran.stdout
    )
