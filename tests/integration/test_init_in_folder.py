"""`init` in a folder of a git repository.

What forges, owners and hooks read only at its root is there, for this folder alone, and everything
works from there.
"""

import json
import re
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from gitops_dsf.ci.run import PipelineRun
from tests.hub.controlplane.gitrepository import GitRepository, git
from tests.support import yamlfast
from tests.support.commandline import gitops_dsf

URL = "https://git.example.com/team/mono.git"
FOLDER = "platform/fleet"
ALL = ("--registry", "registry.example.com", "--git-url", URL, "--name", "emea")


class Mono:
    """A git repository of other things."""

    def __init__(self, root: Path) -> None:
        self.repository = GitRepository.create(url="", bare=root / "bare.git", clone=root / "mono")
        self.top = self.repository.clone
        self.repository.commit({"service/main.py": "print()\n"})

    def init(self, *words: str, folder: str = FOLDER, code: int = 0) -> str:
        made = gitops_dsf("init", folder, *ALL, *words, cwd=self.top)
        assert made.returncode == code, made.stdout + made.stderr
        return made.stdout + made.stderr

    def files(self) -> set[str]:
        """Files outside the fleet's folder that git does not have yet."""
        listed = git("ls-files", "--others", "--exclude-standard", folder=self.top).splitlines()
        return {path for path in listed if not path.startswith(f"{FOLDER}/")}

    def yaml(self, path: str) -> Any:
        return yamlfast.load((self.top / path).read_text("utf-8"))

    @property
    def fleet(self) -> Path:
        return self.top / FOLDER


@pytest.fixture
def mono(tmp_path: Path) -> Mono:
    return Mono(tmp_path)


def triggers(workflow: Any) -> Any:
    """YAML 1.1 reads the key `on` as true."""
    return workflow[True] if True in workflow else workflow["on"]


@pytest.mark.parametrize(("forge", "folder"), [("github", ".github"), ("gitea", ".gitea")])
def test_the_workflow_is_at_the_root_and_for_the_folder(
    mono: Mono, forge: str, folder: str
) -> None:
    said = mono.init("--forge", forge)
    path = f"{folder}/workflows/gitops-dsf-emea.yaml"
    assert mono.files() == {path}
    assert f"At the root of that repository are: {path}." in said
    workflow = mono.yaml(path)
    assert workflow["defaults"] == {"run": {"working-directory": FOLDER}}
    assert triggers(workflow)["pull_request"] == {"paths": [f"{FOLDER}/**", path]}
    assert triggers(workflow)["push"] == {"branches": ["main"], "paths": [f"{FOLDER}/**"]}
    assert "merge_group" in triggers(workflow)
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    caches = {
        step["with"]["cache-dependency-path"] for step in steps if "cache" in step.get("with", {})
    }
    assert caches == {f"{FOLDER}/requirements.txt"}
    assert (mono.fleet / "requirements.txt").is_file()
    assert not list(mono.fleet.glob(".g*/workflows"))


def test_the_folder_is_in_the_settings_and_in_what_argo_cd_reads(mono: Mono) -> None:
    said = mono.init()
    assert "the folder platform/fleet of the git repository" in said
    assert mono.yaml(f"{FOLDER}/gitops-dsf.yaml")["spec"]["git"]["path"] == FOLDER
    assert mono.files() == set()
    for verb in (["validate", "--strict"], ["test"], ["render"], ["render", "--check"]):
        assert gitops_dsf(*verb, cwd=mono.fleet).returncode == 0
    paths = [
        yamlfast.load(file.read_text("utf-8"))["spec"]["source"]["path"]
        for file in (mono.fleet / "rendered/argocd").glob("application.*.yaml")
    ]
    assert f"{FOLDER}/rendered/delivery" in paths
    for path in paths:
        assert (mono.top / path).is_dir()


def test_the_jobs_of_a_forge_work_in_the_folder(mono: Mono, tmp_path: Path) -> None:
    mono.init("--forge", "github")
    assert gitops_dsf("render", cwd=mono.fleet).returncode == 0
    base = mono.repository.publish()
    workflow = mono.yaml(".github/workflows/gitops-dsf-emea.yaml")
    where = mono.top / workflow["defaults"]["run"]["working-directory"]
    scorer = mono.fleet / "scorers/cpu-headroom.yaml"
    scorer.write_text(scorer.read_text("utf-8").replace("[1h]", "[2h]"), "utf-8")
    event = tmp_path / "event.json"
    fork = {"sha": "", "repo": {"full_name": "stranger/mono"}}
    event.write_text(
        json.dumps({"pull_request": {"number": 3, "base": {"sha": base}, "head": fork}})
    )
    summary = tmp_path / "summary.md"
    variables = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_STEP_SUMMARY": str(summary),
        "GITHUB_REPOSITORY": "team/mono",
    }
    done = gitops_dsf("ci", "check", cwd=where, environ=variables)
    assert done.stdout.endswith("ci: failed: render\n"), done.stdout + done.stderr
    assert "cpu-headroom" in summary.read_text("utf-8")
    mono.repository.publish()
    pushed = {"GITHUB_ACTIONS": "true", "GITHUB_REF_NAME": "main"}
    published = gitops_dsf("ci", "publish", cwd=where, environ=pushed)
    assert published.returncode == 0, published.stdout + published.stderr
    assert "[2h]" in mono.repository.read(
        f"{FOLDER}/rendered/platform/dynamicscorer.cpu-headroom.yaml"
    )


@pytest.mark.parametrize("where", [".", FOLDER])
@pytest.mark.parametrize("words", [[], ["scorers/cpu-headroom.yaml"]])
def test_annotations_name_files_from_the_root_of_the_repository(
    mono: Mono, where: str, words: list[str]
) -> None:
    mono.init()
    scorer = mono.fleet / "scorers/cpu-headroom.yaml"
    scorer.write_text(scorer.read_text("utf-8").replace("type: Query", "type: query"), "utf-8")
    prefix = "" if where == FOLDER else f"{FOLDER}/"
    named = [f"{prefix}{word}" for word in words] or [FOLDER if prefix else "."]
    done = gitops_dsf("validate", *named, "-o", "github", cwd=mono.top / where)
    assert f"::error file={FOLDER}/scorers/cpu-headroom.yaml,line=" in done.stdout
    log = json.loads(gitops_dsf("validate", *named, "-o", "sarif", cwd=mono.top / where).stdout)
    places = [result["locations"][0]["physicalLocation"] for result in log["runs"][0]["results"]]
    assert {place["artifactLocation"]["uri"] for place in places} == {
        f"{FOLDER}/scorers/cpu-headroom.yaml"
    }
    # What people read and click names files from where they are.
    text = gitops_dsf("validate", *named, cwd=mono.top / where).stdout
    assert text.startswith(f"{prefix}scorers/cpu-headroom.yaml:")


def test_annotations_of_the_pipeline_name_files_from_the_root(mono: Mono) -> None:
    mono.init()
    scorer = mono.fleet / "scorers/cpu-headroom.yaml"
    scorer.write_text(scorer.read_text("utf-8").replace("type: Query", "type: query"), "utf-8")
    pipeline = PipelineRun(forge="GitHub", silence="there is no pull request")
    with mock.patch("gitops_dsf.cli.ci.pipeline_run", return_value=pipeline):
        done = gitops_dsf("ci", "check", cwd=mono.fleet)
    assert f"::error file={FOLDER}/scorers/cpu-headroom.yaml,line=" in done.stdout


@pytest.mark.parametrize("where", [".", FOLDER])
def test_reports_of_tests_name_files_from_the_root(mono: Mono, where: str) -> None:
    mono.init()
    fleet = [] if where == FOLDER else [FOLDER]
    report = gitops_dsf("test", *fleet, "-o", "junit", cwd=mono.top / where).stdout
    assert f'file="{FOLDER}/tests/guestbook.yaml"' in report


SSH = "git@git.example.com:team/mono.git"


@pytest.mark.parametrize("origin", [URL, SSH, "https://user@GIT.example.com/team/mono"])
@pytest.mark.parametrize("path", ["", "path: fleet", "path: platform/fleet/rendered"])
def test_a_path_that_is_not_the_folder_is_told(mono: Mono, origin: str, path: str) -> None:
    """A fleet that was moved, or made before it was in this repository."""
    mono.init()
    settings = mono.fleet / "gitops-dsf.yaml"
    settings.write_text(settings.read_text("utf-8").replace(f"path: {FOLDER}", path), "utf-8")
    git("remote", "set-url", "origin", origin, folder=mono.top)
    for words, where in (([], mono.fleet), ([FOLDER], mono.top)):
        done = gitops_dsf("validate", *words, cwd=where)
        assert done.returncode == 0
        assert "warning DSF039: spec.git.path is " in done.stdout
        assert f"and this fleet is in the folder {FOLDER} of the repository" in done.stdout
        assert f"    write path: {FOLDER}\n" in done.stdout


def test_a_path_that_is_right_or_of_another_repository_is_not_told(mono: Mono) -> None:
    mono.init()
    git("remote", "set-url", "origin", URL, folder=mono.top)
    settings = mono.fleet / "gitops-dsf.yaml"
    right = settings.read_text("utf-8")
    for path in (f"path: {FOLDER}", f"path: /{FOLDER}/", f"path: ./{FOLDER}"):
        settings.write_text(right.replace(f"path: {FOLDER}", path), "utf-8")
        assert "DSF039" not in gitops_dsf("validate", cwd=mono.fleet).stdout, path
    # A copy of the sources in another repository, such as a mirror: nobody knows where Argo CD
    # finds them.
    settings.write_text(right.replace(f"path: {FOLDER}", "path: ''"), "utf-8")
    git("remote", "set-url", "origin", "https://git.example.com/team/mirror.git", folder=mono.top)
    assert "DSF039" not in gitops_dsf("validate", cwd=mono.fleet).stdout
    git("remote", "remove", "origin", folder=mono.top)
    assert "DSF039" not in gitops_dsf("validate", cwd=mono.fleet).stdout


def test_at_the_root_of_its_repository_a_fleet_has_no_path(tmp_path: Path) -> None:
    repository = GitRepository.create(url="", bare=tmp_path / "bare.git", clone=tmp_path / "fleet")
    assert gitops_dsf("init", "fleet", *ALL, cwd=tmp_path).returncode == 0
    git("remote", "set-url", "origin", SSH, folder=repository.clone)
    assert "DSF039" not in gitops_dsf("validate", cwd=repository.clone).stdout
    settings = repository.clone / "gitops-dsf.yaml"
    text = settings.read_text("utf-8").replace(
        "targetRevision: main", "targetRevision: main\n    path: fleet"
    )
    settings.write_text(text, "utf-8")
    said = gitops_dsf("validate", cwd=repository.clone).stdout
    assert "DSF039: spec.git.path is fleet, and this fleet is at the root of the repository" in said
    assert "    remove path\n" in said


def test_outside_of_git_annotations_name_files_from_here(tmp_path: Path) -> None:
    gitops_dsf("init", "fleet", *ALL, cwd=tmp_path)
    scorer = tmp_path / "fleet/scorers/cpu-headroom.yaml"
    scorer.write_text(scorer.read_text("utf-8").replace("type: Query", "type: query"), "utf-8")
    done = gitops_dsf("validate", "fleet", "-o", "github", cwd=tmp_path)
    assert "::error file=fleet/scorers/cpu-headroom.yaml,line=" in done.stdout
    assert gitops_dsf(
        "validate", "-", "-o", "github", cwd=tmp_path, stdin="a: ["
    ).stdout.startswith("::error file=-,")


def test_gitlab_includes_the_pipeline_of_the_folder(mono: Mono) -> None:
    mono.init("--forge", "gitlab")
    assert mono.files() == {".gitlab-ci.yml"}
    assert mono.yaml(".gitlab-ci.yml") == {"include": [{"local": f"{FOLDER}/.gitlab-ci.yml"}]}
    jobs = mono.yaml(f"{FOLDER}/.gitlab-ci.yml")
    # Global keys of an included file would change the other jobs of the repository.
    assert set(jobs) == {".emea", "emea-check", "emea-publish"}
    assert jobs[".emea"]["before_script"][0] == f"cd {FOLDER}"
    for name in ("emea-check", "emea-publish"):
        assert jobs[name]["extends"] == ".emea"
        assert [rule["changes"] for rule in jobs[name]["rules"]] == [[f"{FOLDER}/**/*"]]
    assert {jobs["emea-check"]["stage"], jobs["emea-publish"]["stage"]} == {"test", "deploy"}
    assert jobs["emea-check"]["artifacts"]["reports"]["junit"] == f"{FOLDER}/tests.xml"
    assert "FOLDER" not in (mono.fleet / ".gitlab-ci.yml").read_text("utf-8")


def test_owners_and_hooks_are_at_the_root(mono: Mono) -> None:
    mono.init("--forge", "github", "--with", "codeowners,pre-commit")
    assert mono.files() == {
        ".github/workflows/gitops-dsf-emea.yaml",
        "CODEOWNERS",
        ".pre-commit-config.yaml",
    }
    owned = re.findall(r"^(\S+) +@", (mono.top / "CODEOWNERS").read_text("utf-8"), re.MULTILINE)
    assert owned == [
        f"/{FOLDER}/",
        f"/{FOLDER}/gitops-dsf.yaml",
        f"/{FOLDER}/config/",
        f"/{FOLDER}/scorers/",
        f"/{FOLDER}/locks/",
        f"/{FOLDER}/requirements.*",
        "/.github/workflows/gitops-dsf-emea.yaml",
    ]
    (local,) = mono.yaml(".pre-commit-config.yaml")["repos"]
    assert gitops_dsf("render", cwd=mono.fleet).returncode == 0
    for hook in local["hooks"]:
        program, *words = hook["entry"].split()
        assert program == "gitops-dsf"
        assert gitops_dsf(*words, cwd=mono.top).returncode == 0, hook["entry"]


THERE = {
    ".github/CODEOWNERS": "* @everybody\n",
    ".pre-commit-config.yaml": "repos: []\n",
    ".gitlab-ci.yml": "build: {script: make}\n",
}


def test_what_is_there_stays_and_what_to_add_is_said(mono: Mono) -> None:
    mono.repository.commit(THERE)
    said = mono.init("--forge", "gitlab", "--with", "codeowners,pre-commit")
    assert mono.files() == set()
    assert {path: (mono.top / path).read_text("utf-8") for path in THERE} == THERE
    for path in THERE:
        assert (
            f"{path} of the git repository exists already, and was not changed. Add to it:" in said
        )
    assert f"    include:\n      - local: {FOLDER}/.gitlab-ci.yml\n" in said
    assert f"    /{FOLDER}/scorers/ " in said
    assert f"entry: gitops-dsf render --check {FOLDER}\n" in said or (
        f"entry: gitops-dsf render {FOLDER} --check\n" in said
    )


def test_two_fleets_of_one_repository_do_not_meet(mono: Mono) -> None:
    mono.init("--forge", "github")
    gitops_dsf("init", "platform/other", "--git-url", URL, "--forge", "github", cwd=mono.top)
    names = {path.name for path in (mono.top / ".github/workflows").iterdir()}
    assert names == {"gitops-dsf-emea.yaml", "gitops-dsf-other.yaml"}
    groups = {
        mono.yaml(f".github/workflows/{name}")["jobs"]["publish"]["concurrency"]["group"]
        for name in names
    }
    assert groups == {"gitops-dsf-publish-emea", "gitops-dsf-publish-other"}
    branches = {
        re.findall(r"state: \{enabled: true, branch: (\S+)\}", file.read_text("utf-8"))[0]
        for file in mono.top.glob("platform/*/gitops-dsf.yaml")
    }
    assert branches == {"gitops-dsf-state-emea", "gitops-dsf-state-other"}


def test_the_root_of_a_repository_is_no_folder_of_it(mono: Mono, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git("init", "--quiet", str(clone), folder=tmp_path)
    made = gitops_dsf("init", ".", *ALL, "--forge", "github", cwd=clone)
    assert "git repository" not in made.stdout
    assert (clone / ".github/workflows/gitops-dsf.yaml").is_file()
    assert (
        "path" not in yamlfast.load((clone / "gitops-dsf.yaml").read_text("utf-8"))["spec"]["git"]
    )
    workflow = yamlfast.load((clone / ".github/workflows/gitops-dsf.yaml").read_text("utf-8"))
    assert "defaults" not in workflow
    assert triggers(workflow)["pull_request"] is None
    # A submodule, or a folder that git ignores, is not part of the repository around it.
    (mono.top / ".gitignore").write_text("/work/\n")
    mono.init("--forge", "github", folder="work/fleet")
    assert (mono.top / "work/fleet/.github/workflows/gitops-dsf.yaml").is_file()
    assert mono.files() == {".gitignore"}


@pytest.mark.parametrize("folder", ["fleet", "scorers/fleet", "a/b/c"])
def test_a_fleet_inside_of_a_fleet_is_refused(tmp_path: Path, folder: str) -> None:
    assert gitops_dsf("init", "outer", *ALL, cwd=tmp_path).returncode == 0
    before = sorted(tmp_path.rglob("*"))
    done = gitops_dsf("init", folder, *ALL, cwd=tmp_path / "outer")
    assert done.returncode == 2
    assert f"{folder} would be inside the fleet repository {tmp_path / 'outer'}" in done.stderr
    assert "name a folder outside of that one" in done.stderr
    assert sorted(tmp_path.rglob("*")) == before
    beside = gitops_dsf("init", "../second", *ALL, cwd=tmp_path / "outer")
    assert beside.returncode == 0, beside.stderr
    # A repository of its own, such as a clone of another one.
    git("init", "--quiet", "own", folder=tmp_path / "outer")
    assert gitops_dsf("init", "own", *ALL, cwd=tmp_path / "outer").returncode == 0


def test_a_folder_that_no_pattern_can_name_is_refused(mono: Mono) -> None:
    said = mono.init("--forge", "github", folder="my fleets/[eu]", code=2)
    assert "pipelines, owners and hooks cannot name the folder 'my fleets/[eu]'" in said
    assert mono.files() == set()
    mono.init(folder="my fleets/eu")
    assert mono.yaml("my fleets/eu/gitops-dsf.yaml")["spec"]["git"]["path"] == "my fleets/eu"


FIRST_COMMIT = {"README.md": "# Our fleet\n", "LICENSE": "MIT\n", ".gitignore": "*.pyc\nwheels/\n"}


def test_the_first_commit_of_a_forge_stays(tmp_path: Path, wheels: Path) -> None:
    repository = GitRepository.create(url="", bare=tmp_path / "bare.git", clone=tmp_path / "fleet")
    repository.commit(FIRST_COMMIT)
    made = gitops_dsf("init", "fleet", *ALL, "--wheels", wheels, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert "Not changed: .gitignore, LICENSE, README.md." in made.stdout
    assert "README.md says what each folder is for" not in made.stdout
    for path, text in FIRST_COMMIT.items():
        assert (tmp_path / "fleet" / path).read_text("utf-8") == text
    (line,) = (line for line in made.stdout.splitlines() if line.startswith("git ignores "))
    assert line.count(".whl") == 4
    assert line.endswith(
        " because of wheels/ in .gitignore:2: remove the rule, or run `git add --force`"
    )
    assert gitops_dsf("validate", "--strict", cwd=tmp_path / "fleet").returncode == 0
