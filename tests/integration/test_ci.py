"""The pipeline of a new fleet, from clone to comment, on both forges and without one.

It runs in the environment that the requirements of the fleet install.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from gitops_dsf.ci.environment import pipeline_run
from gitops_dsf.ci.publish import HELPER
from gitops_dsf.ci.run import PipelineError
from gitops_dsf.cli.ci import base_of
from gitops_dsf.cli.scaffold import scaffold
from gitops_dsf.cli.template import repo_template
from gitops_dsf.repository.git import Repository, RevisionError
from gitops_dsf.repository.load.discover import discover
from gitops_dsf.repository.revision.base import find_base
from gitops_dsf.show.preview.page import MARKER
from tests.hub.controlplane.gitrepository import BARE, CLONE, GitRepository, git
from tests.integration.preview.gitfleet import save, snapshot
from tests.support import yamlfast
from tests.support.commandline import gitops_dsf, output_of
from tests.support.githubserver import BOT, NAME, OWNER, PERSON, GitHubServer, Pull
from tests.support.gitlab import GitLabServer
from tests.support.pipelines import TOKEN, github_variables, gitlab_variables


@dataclass(frozen=True, kw_only=True)
class PreparedChange:
    """The repositories that each test has a copy of."""

    folder: Path
    base: str
    """The commit on `main`."""
    ran: Path
    """A file that `yaml.py` of the change writes if Python runs it."""


class Change:
    """A fleet on `main`, and a branch that changes it, checked out as a pipeline has it."""

    def __init__(self, root: Path, *, prepared: PreparedChange) -> None:
        self.root = root
        self.slept: list[float] = []
        """Seconds between attempts to write the comment, for which nobody really waits."""
        self.base = prepared.base
        self.ran = prepared.ran
        self.ran.unlink(missing_ok=True)
        bare = root / BARE
        self.folder = root / CLONE
        shutil.copytree(prepared.folder, root, dirs_exist_ok=True)
        self.repository = GitRepository.copied(bare=bare, clone=self.folder)

    def commit(self) -> None:
        commit(self.folder)

    def pull(self) -> Pull:
        sha = git("rev-parse", "HEAD", folder=self.folder).strip()
        return Pull(number=3, title="Less often", branch="change", base="main", body="", sha=sha)

    def github(self, url: str, *, fork: bool = False) -> dict[str, str]:
        return github_variables(url, self.root, base=self.base, fork=fork)

    def gitlab(self, url: str) -> dict[str, str]:
        return gitlab_variables(url, base=self.base)

    def check(
        self, variables: Mapping[str, str], *words: str, code: int = 0
    ) -> subprocess.CompletedProcess[str]:
        with mock.patch("gitops_dsf.cli.ci.time.sleep", self.slept.append):
            done = gitops_dsf("ci", "check", *words, cwd=self.folder, environ=variables)
        assert done.returncode == code, done.stdout + done.stderr
        return done


def commit(folder: Path) -> None:
    git("add", "--all", folder=folder)
    git("commit", "--quiet", "--message", "Score less often", folder=folder)
    git("push", "--quiet", "origin", "HEAD", folder=folder)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> PreparedChange:
    """Checks of its one scorer take two thirds of those of the examples."""
    return prepare(tmp_path_factory.mktemp("prepared"))


@pytest.fixture(scope="module")
def prepared_examples(tmp_path_factory: pytest.TempPathFactory) -> PreparedChange:
    return prepare(tmp_path_factory.mktemp("prepared"), "examples")


def prepare(top: Path, *extras: str) -> PreparedChange:
    """A fleet as `init` and `render` write it, and a change of it.

    To make the two commits takes 30 processes.
    """
    repositories = top / "repositories"
    repository = GitRepository.create(url="", bare=repositories / BARE, clone=repositories / CLONE)
    folder = repository.clone
    fleet = top / "fleet"
    scaffold(
        target=fleet,
        name="fleet",
        extras=extras,
        registry="registry.example.com",
        forge="github",
    )
    shutil.copytree(fleet, folder, dirs_exist_ok=True)
    shutil.copy(repo_template() / "on-request/gitlab/.gitlab-ci.yml", folder)
    assert gitops_dsf("render", cwd=folder).returncode == 0
    base = repository.publish()
    git("checkout", "--quiet", "-b", "change", folder=folder)
    scorer = folder / "scorers/cpu-headroom.yaml"
    scorer.write_text(scorer.read_text().replace("[1h]", "[2h]"))
    assert gitops_dsf("render", cwd=folder).returncode == 0
    # A pull request's own file, beside the token: nothing may run it.
    ran = top / "ran"
    (folder / "yaml.py").write_text(f"open({str(ran)!r}, 'w').close()\n")
    commit(folder)
    repository.pack()
    return PreparedChange(folder=repositories, base=base, ran=ran)


@pytest.fixture
def change(tmp_path: Path, prepared: PreparedChange) -> Change:
    return Change(tmp_path, prepared=prepared)


@pytest.fixture
def change_of_examples(tmp_path: Path, prepared_examples: PreparedChange) -> Change:
    return Change(tmp_path, prepared=prepared_examples)


@pytest.fixture
def github(change: Change) -> Iterator[GitHubServer]:
    with GitHubServer(repository=change.repository, token=TOKEN) as server:
        server.pulls.append(change.pull())
        yield server
        assert server.violations == []


@pytest.fixture
def gitlab() -> Iterator[GitLabServer]:
    with GitLabServer(token=TOKEN) as server:
        yield server


def run_job(job: list[str], folder: Path, programs: Path, variables: Mapping[str, str]) -> str:
    """Runs the commands of a job as a runner does. What it installs is installed already."""
    script = "\n".join(
        line for line in job if not line.startswith(("pip install", "git config --global"))
    )
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", **variables}
    return output_of("bash", "-e", "-o", "pipefail", "-c", script, cwd=folder, environ=environment)


def workflow_job(folder: Path, name: str) -> tuple[list[str], dict[str, str]]:
    job = yamlfast.load((folder / ".github/workflows/gitops-dsf.yaml").read_text("utf-8"))["jobs"][
        name
    ]
    runs = [step["run"] for step in job["steps"] if "run" in step]
    given = {name: value for step in job["steps"] for name, value in step.get("env", {}).items()}
    known = {"github.token": TOKEN}
    variables = {
        name: re.sub(r"\$\{\{ (.*?) \}\}", lambda found: known.get(found[1], ""), value)
        for name, value in given.items()
    }
    return runs, variables


@pytest.mark.real_time
def test_the_pipeline_on_github_from_clone_to_comment(
    pipeline_programs: Path, change: Change, github: GitHubServer
) -> None:
    runs, given = workflow_job(change.folder, "check")
    assert runs[0] == "pip install -r requirements.txt"
    runner = {"RUNNER_TEMP": str(change.root), **RUN}
    run_job(runs, change.folder, pipeline_programs, change.github(github.url) | given | runner)
    assert (change.root / "preview.html").read_text("utf-8").startswith("<!doctype html>")
    (comment,) = github.pulls[0].comments
    assert comment.startswith(MARKER)
    assert "cpu-headroom" in comment
    assert (change.root / "summary.md").read_text("utf-8") == comment
    github.merge(3)
    runs, given = workflow_job(change.folder, "publish")
    git("checkout", "--quiet", "main", folder=change.folder)
    variables = {"GITHUB_ACTIONS": "true", "GITHUB_REF_NAME": "main", **given}
    assert "rendered/ on main is up to date" in run_job(
        runs, change.folder, pipeline_programs, variables
    )
    assert not change.ran.exists(), "a file of the pull request ran as a module of Python"


def test_on_github_the_own_comment_is_edited_and_no_other(
    change: Change, github: GitHubServer
) -> None:
    """Whoever writes the marker first must not own the preview."""
    (pull,) = github.pulls
    forged = pull.comment(f"{MARKER}\nNothing changes.", user=PERSON)
    for _ in range(120):
        pull.comment("Looks good.", user=PERSON)
    change.check(change.github(github.url) | RUN)
    assert forged["body"] == f"{MARKER}\nNothing changes."
    mine = pull.thread[-1]
    assert mine["user"] == BOT
    assert "preview.html" not in mine["body"], "a run without a page has no link to it"
    mine["body"] = f"{MARKER}\nOld."
    said = change.check(change.github(github.url)).stdout
    assert "ci: edited the comment" in said
    assert len(pull.thread) == 122
    assert "cpu-headroom" in mine["body"]


NOWHERE = "http://127.0.0.1:1"
"""Where nobody writes a comment."""
RUN = {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_RUN_ID": "17", "GITHUB_RUN_NUMBER": "4"}


def test_the_comment_links_to_the_page_that_the_run_keeps(
    change: Change, github: GitHubServer
) -> None:
    page = change.root / "preview.html"
    done = change.check(change.github(github.url) | RUN, "--page", str(page))
    assert "ci: added the comment with the preview" in done.stdout
    (comment,) = github.pulls[0].comments
    url = f"https://github.com/{OWNER}/{NAME}/actions/runs/17#artifacts"
    assert f"Everything of this preview: [preview.html]({url})" in comment
    assert "cpu-headroom" in page.read_text("utf-8")
    assert len(comment) < 65_536


def test_a_run_of_gitea_has_its_number_in_the_link(change: Change) -> None:
    variables = change.github(NOWHERE) | RUN | {"GITEA_ACTIONS": "true", "GITHUB_TOKEN": ""}
    page = f"https://github.com/{OWNER}/{NAME}/actions/runs/4"
    assert pipeline_run(variables).artifacts == page


def test_gitlab_links_to_the_files_of_the_job(change: Change, gitlab: GitLabServer) -> None:
    job = "https://gitlab.example.com/acme/fleet/-/jobs/9"
    page = change.root / "preview.html"
    change.check(change.gitlab(gitlab.url) | {"CI_JOB_URL": job}, "--page", str(page))
    [note] = gitlab.notes
    assert f"[preview.html]({job}/artifacts/browse)" in note["body"]


def test_a_full_clone_stays_full(change: Change, github: GitHubServer) -> None:
    """The branch with the state of the hub is fetched. With --depth the clone would be shallow."""
    state = save(snapshot(), change.root / "state")
    git("init", "--quiet", folder=state)
    for message in ("First", "Second"):
        git("add", "--all", folder=state)
        git("commit", "--quiet", "--allow-empty", "--message", message, folder=state)
    target = "HEAD:refs/heads/gitops-dsf-state"
    git("push", "--quiet", str(change.repository.bare), target, folder=state)
    git("config", "remote.origin.url", change.repository.bare.as_uri(), folder=change.folder)
    change.check(change.github(github.url))
    assert git("rev-parse", "--is-shallow-repository", folder=change.folder).strip() == "false"
    log = git("log", "--format=%s", "origin/gitops-dsf-state", folder=change.folder)
    assert log == "Second\nFirst\n"


@dataclass(frozen=True, kw_only=True)
class Meanwhile:
    """A pull request, while a merge into main added a scorer of somebody else."""

    change: Change
    head: str
    """The commit of the pull request."""
    main: str
    """The commit of main with the scorer."""
    merge: str
    """What a forge makes of both. It is checked out."""

    @property
    def folder(self) -> Path:
        return self.change.folder

    def git(self, *words: str) -> str:
        return git(*words, folder=self.folder).strip()

    def base(self, variables: Mapping[str, str], *, clone: Path | None = None) -> str:
        """The commit with which the preview compares."""
        folder = clone or self.folder
        named = base_of(Repository(directory=folder), pipeline_run(variables))
        return find_base(Repository(directory=folder), named).commit


@pytest.fixture(scope="module")
def prepared_meanwhile(
    prepared: PreparedChange, tmp_path_factory: pytest.TempPathFactory
) -> Meanwhile:
    """The repositories that each test of a merge has a copy of."""
    change = Change(tmp_path_factory.mktemp("meanwhile"), prepared=prepared)
    folder = change.folder

    def commit_of(revision: str) -> str:
        return git("rev-parse", revision, folder=folder).strip()

    head = commit_of("HEAD")
    git("checkout", "--quiet", "main", folder=folder)
    scorer = (folder / "scorers/cpu-headroom.yaml").read_text()
    (folder / "scorers/others.yaml").write_text(
        scorer.replace("cpu-headroom", "others").replace("cpu_headroom", "others")
    )
    assert gitops_dsf("render", cwd=folder).returncode == 0
    git("add", "--all", folder=folder)
    git("commit", "--quiet", "--message", "A scorer of others", folder=folder)
    git("push", "--quiet", "origin", "main", folder=folder)
    main = commit_of("HEAD")
    git("checkout", "--quiet", "--detach", folder=folder)
    merge = ("merge", "--quiet", "--no-ff", "--no-commit", "-X", "theirs", head)
    git(*merge, folder=folder)
    assert gitops_dsf("render", cwd=folder).returncode == 0
    git("add", "--all", folder=folder)
    git("commit", "--quiet", "--message", "Merge the pull request into main", folder=folder)
    return Meanwhile(change=change, head=head, main=main, merge=commit_of("HEAD"))


@pytest.fixture
def meanwhile(tmp_path: Path, prepared: PreparedChange, prepared_meanwhile: Meanwhile) -> Meanwhile:
    repositories = replace(prepared, folder=prepared_meanwhile.change.root)
    return replace(prepared_meanwhile, change=Change(tmp_path, prepared=repositories))


def names_only_the_change(preview: str) -> bool:
    assert "cpu-headroom" in preview
    return "others" not in preview


def test_github_merges_with_a_newer_main_than_its_event_says(meanwhile: Meanwhile) -> None:
    """`base.sha` of the event is main when the pull request was last pushed to."""
    change = meanwhile.change
    variables = change.github(NOWHERE, fork=True) | {
        "GITHUB_REF": "refs/pull/3/merge",
        "GITHUB_SHA": meanwhile.merge,
        "GITHUB_BASE_REF": "main",
    }
    change.check(variables)
    assert names_only_the_change((change.root / "summary.md").read_text("utf-8"))


def test_github_with_the_head_of_a_pull_request_that_merged_main(meanwhile: Meanwhile) -> None:
    """A workflow may check out the head, into which its author merged a newer main."""
    tree = f"{meanwhile.merge}^{{tree}}"
    own = ("commit-tree", tree, "-p", meanwhile.head, "-p", "main", "-m", "Merge main")
    meanwhile.git("checkout", "--quiet", "--detach", meanwhile.git(*own))
    variables = meanwhile.change.github(NOWHERE) | {
        "GITHUB_REF": "refs/pull/3/merge",
        "GITHUB_SHA": meanwhile.merge,
        "GITHUB_BASE_REF": "main",
    }
    assert meanwhile.base(variables) == meanwhile.main


def test_github_with_a_clone_that_has_only_the_merge(meanwhile: Meanwhile, tmp_path: Path) -> None:
    """With depth 2, as `actions/checkout` fetches it, the parents are there and nothing older."""
    merge = meanwhile.merge
    meanwhile.git("push", "--quiet", "origin", f"{merge}:refs/pull/3/merge")
    shallow = tmp_path / "shallow"
    git("init", "--quiet", str(shallow), folder=tmp_path)
    git("remote", "add", "origin", meanwhile.change.repository.bare.as_uri(), folder=shallow)
    variables = meanwhile.change.github(NOWHERE) | {
        "GITHUB_REF": "refs/pull/3/merge",
        "GITHUB_SHA": merge,
        "GITHUB_BASE_REF": "main",
    }
    for depth in (1, 2):
        git("fetch", "--quiet", f"--depth={depth}", "origin", "refs/pull/3/merge", folder=shallow)
        git("checkout", "--quiet", "--detach", merge, folder=shallow)
        if depth == 2:
            assert meanwhile.base(variables, clone=shallow) == meanwhile.main
            continue
        with pytest.raises(RevisionError) as raised:
            meanwhile.base(variables, clone=shallow)
        said = str(raised.value)
        assert f"the revision {meanwhile.main} is not in this clone, which is shallow" in said
        assert "fetch-depth: 0" in said


@pytest.mark.parametrize("said", [True, False])
def test_gitlab_with_merged_results(meanwhile: Meanwhile, said: bool) -> None:
    """CI_MERGE_REQUEST_DIFF_BASE_SHA is where the branch began. The merge is newer."""
    variables = meanwhile.change.gitlab(NOWHERE) | {
        "CI_COMMIT_SHA": meanwhile.merge,
        "CI_MERGE_REQUEST_EVENT_TYPE": "merged_result" if said else "merge_train",
        "CI_MERGE_REQUEST_TARGET_BRANCH_SHA": meanwhile.main if said else "",
    }
    assert meanwhile.base(variables) == meanwhile.main


def test_gitlab_with_the_branch_alone(meanwhile: Meanwhile) -> None:
    meanwhile.git("checkout", "--quiet", "--detach", meanwhile.head)
    variables = meanwhile.change.gitlab(NOWHERE) | {
        "CI_COMMIT_SHA": meanwhile.head,
        "CI_MERGE_REQUEST_EVENT_TYPE": "detached",
        "CI_MERGE_REQUEST_TARGET_BRANCH_SHA": "",
    }
    assert meanwhile.base(variables) == meanwhile.change.base


def test_gitea_checks_out_the_head(meanwhile: Meanwhile) -> None:
    meanwhile.git("checkout", "--quiet", "--detach", meanwhile.head)
    variables = meanwhile.change.github(NOWHERE) | {
        "GITEA_ACTIONS": "true",
        "GITHUB_REF": "refs/pull/3/head",
        "GITHUB_SHA": meanwhile.head,
        "GITHUB_BASE_REF": "main",
        "GITHUB_TOKEN": "",
    }
    assert meanwhile.base(variables) == meanwhile.change.base


def test_a_merge_queue_is_checked_against_what_is_before_it(meanwhile: Meanwhile) -> None:
    """A required check that never runs in the queue blocks it for ever."""
    change = meanwhile.change
    workflow = yamlfast.load(
        (change.folder / ".github/workflows/gitops-dsf.yaml").read_text("utf-8")
    )
    # YAML 1.1 reads the key `on` as true.
    assert "merge_group" in workflow[True if True in workflow else "on"]
    assert workflow["jobs"]["check"]["if"] == "github.event_name != 'push'"
    event = {
        "action": "checks_requested",
        "merge_group": {"base_sha": meanwhile.main, "head_sha": meanwhile.merge},
    }
    variables = change.github(NOWHERE) | {
        "GITHUB_REF": f"refs/heads/gh-readonly-queue/main/pr-3-{meanwhile.main}",
        "GITHUB_SHA": meanwhile.merge,
        "GITHUB_BASE_REF": "",
    }
    (change.root / "event.json").write_text(json.dumps(event))
    assert meanwhile.base(variables) == meanwhile.main
    run = pipeline_run(variables)
    assert run.pull is None, "a queue has no comments"
    assert run.silence == "this run belongs to no pull request"


def test_a_fork_has_its_preview_in_the_summary(change: Change, github: GitHubServer) -> None:
    said = change.check(change.github(github.url, fork=True)).stdout
    assert "from a fork may not write" in said
    assert github.log == []
    assert (change.root / "summary.md").read_text("utf-8").startswith(MARKER)


def test_a_comment_that_is_refused_is_not_sent_again_and_fails_no_check(
    change: Change, gitlab: GitLabServer
) -> None:
    gitlab.faults["POST"] = 403
    done = change.check(change.gitlab(gitlab.url))
    assert "ci: no comment: the token may not write it: " in done.stdout
    assert MARKER in done.stdout, "the log has the preview"
    assert TOKEN not in done.stdout + done.stderr
    assert change.slept == []


def test_a_forge_that_cannot_be_reached_fails_no_check(
    change: Change, gitlab: GitLabServer
) -> None:
    variables = change.gitlab(gitlab.url) | {"CI_API_V4_URL": "http://127.0.0.1:1/api/v4"}
    done = change.check(variables)
    assert "ci: no comment: the forge did not take it in 5 attempts: " in done.stdout
    assert done.stdout.endswith("ci: everything passed\n")
    assert change.slept == [2, 4, 8, 16]
    (change.folder / "rendered/INVENTORY").unlink()
    assert change.check(variables, code=1).stdout.endswith("ci: failed: render\n"), (
        "findings still do"
    )


@pytest.mark.parametrize("token", ["s3cret-1\ns3cret-2", "s3cret-\u00e9", " \n"])
def test_a_comment_token_that_cannot_be_sent_is_named_and_not_repeated(
    change: Change, gitlab: GitLabServer, github: GitHubServer, token: str
) -> None:
    for variables, name in (
        (change.gitlab(gitlab.url), "GITOPS_DSF_COMMENT_TOKEN"),
        (change.github(github.url), "GITHUB_TOKEN"),
    ):
        done = change.check(variables | {name: token}, code=1)
        assert f"error: {name} " in done.stderr
        assert "s3cret" not in done.stdout + done.stderr


def test_a_store_token_that_cannot_be_sent_is_named_and_not_repeated(
    change: Change, gitlab: GitLabServer
) -> None:
    token = "s3cret-1\ns3cret-2"
    store = {"GITOPS_DSF_PROMETHEUS": "http://127.0.0.1:1", "GITOPS_DSF_PROMETHEUS_TOKEN": token}
    done = change.check(change.gitlab(gitlab.url) | store)
    assert "ci: GITOPS_DSF_PROMETHEUS_TOKEN has more than one line" in done.stdout
    assert "The backtest failed" in done.stdout
    assert "s3cret" not in done.stdout + done.stderr


def test_the_password_in_the_url_of_a_store_is_not_printed(
    change: Change, gitlab: GitLabServer
) -> None:
    store = {"GITOPS_DSF_PROMETHEUS": "http://me:pa55word@127.0.0.1:1"}
    done = change.check(change.gitlab(gitlab.url) | store)
    assert "--prometheus http://127.0.0.1:1" in done.stdout
    assert "pa55word" not in done.stdout + done.stderr


@pytest.mark.parametrize("token", ["glpat-one", "glpat-one\n", "\ufeffglpat-one\r\n"])
def test_git_gets_the_push_token_without_its_line_break(tmp_path: Path, token: str) -> None:
    words = (
        "git",
        "-c",
        "credential.helper=",
        "-c",
        f"credential.helper={HELPER}",
        "credential",
        "fill",
    )
    environ = {**os.environ, "GITOPS_DSF_PUSH_TOKEN": token, "GIT_TERMINAL_PROMPT": "0"}
    filled = output_of(
        *words, cwd=tmp_path, environ=environ, stdin="protocol=https\nhost=git.test\n\n"
    )
    assert filled.splitlines()[-2:] == ["username=gitops-dsf", "password=glpat-one"]


def test_every_check_runs_and_names_what_failed(change: Change, gitlab: GitLabServer) -> None:
    test = change.folder / "tests/guestbook.yaml"
    text = test.read_text()
    assert "value: 55   #" in text
    test.write_text(text.replace("value: 55   #", "value: 56   #"))
    (change.folder / "rendered/INVENTORY").unlink()
    done = change.check(change.gitlab(gitlab.url), code=1)
    assert done.stdout.endswith("ci: failed: test, render\n")
    assert len(gitlab.notes) == 1


def test_a_mistake_reaches_the_comment(change: Change, github: GitHubServer) -> None:
    scorer = change.folder / "scorers/cpu-headroom.yaml"
    scorer.write_text(scorer.read_text().replace("type: Query", "type: query"))
    done = change.check(change.github(github.url), code=1)
    assert "::error file=scorers/cpu-headroom.yaml" in done.stdout
    assert "ci: failed: validate\n" in done.stdout
    assert "scorers/cpu-headroom.yaml" in github.pulls[0].comments[0]


def evil(change: Change, *, token: bool) -> None:
    """The scorer of a pull request sends what it has to its author's host."""
    scorer = change.folder / "scorers/latency-forecast.yaml"
    text = scorer.read_text().replace(
        "host: https://forecast.scoring.example.com", "host: https://evil.example.com"
    )
    if not token:
        text = text.replace(text[text.index("    auth:\n") : text.index("  clusterSelector")], "")
    scorer.write_text(text)


@pytest.mark.parametrize(("token", "finding"), [(True, "DSF129"), (False, "DSF176")])
def test_tokens_and_metrics_go_nowhere_that_git_does_not_allow(
    change_of_examples: Change, gitlab: GitLabServer, token: bool, finding: str
) -> None:
    """`validate` and `render` warn of it. The check of a pull request fails."""
    change = change_of_examples
    evil(change, token=token)
    done = change.check(change.gitlab(gitlab.url), code=1)
    assert f"error {finding}" in done.stdout
    assert "evil.example.com" in done.stdout
    assert done.stdout.endswith("ci: failed: validate, render\n"), "nothing is rendered so far"
    settings = change.folder / "gitops-dsf.yaml"
    allowed = "allowedTokenHosts: [forecast.scoring.example.com"
    text = settings.read_text()
    assert allowed in text
    settings.write_text(text.replace(allowed, f"{allowed}, evil.example.com"))
    assert gitops_dsf("render", cwd=change.folder).returncode == 0
    assert change.check(change.gitlab(gitlab.url)).stdout.endswith("ci: everything passed\n")


def test_a_strict_check_fails_for_warnings(change: Change) -> None:
    """The fleet of these tests has the URL that `init` writes as an example."""
    assert change.check({}).stdout.endswith("ci: everything passed\n")
    done = change.check({}, "--strict", code=1)
    assert "warning DSF175" in done.stdout
    [command] = re.findall(r"^ci: gitops-dsf (validate .*)$", done.stdout, re.MULTILINE)
    repeated = gitops_dsf(*command.split(), cwd=change.folder)
    assert repeated.returncode == 1
    assert repeated.stdout in done.stdout
    assert repeated.stderr in done.stderr
    assert done.stdout.endswith("ci: failed: validate\n")
    assert "ci: gitops-dsf test ." in done.stdout, (
        "the repository has no errors, so its tests are run"
    )
    settings = change.folder / "gitops-dsf.yaml"
    settings.write_text(settings.read_text().replace("platform/fleet.git", "platform/own.git"))
    assert gitops_dsf("render", cwd=change.folder).returncode == 0
    assert change.check({}, "--strict").stdout.endswith("ci: everything passed\n")


def test_sources_are_read_and_checked_once(change: Change, tmp_path: Path) -> None:
    """For a large fleet it takes seconds."""
    report = tmp_path / "tests.xml"
    with (
        mock.patch("gitops_dsf.cli.ci._preview", return_value=True),
        mock.patch("gitops_dsf.repository.sources.discover", wraps=discover) as reads,
    ):
        said = change.check({}, "--junit", str(report)).stdout
    assert reads.call_count == 1
    commands = re.findall(r"^ci: gitops-dsf (.*)$", said, re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["validate", "test", "render", "test"]
    assert 'failures="0"' in report.read_text("utf-8")


def test_branch_mode_needs_no_tree_in_git(change: Change) -> None:
    settings = change.folder / "gitops-dsf.yaml"
    settings.write_text(settings.read_text().replace("mode: Directory", "mode: Branch"))
    git("rm", "-rq", "rendered", folder=change.folder)
    change.commit()
    assert change.check({}).stdout.endswith("ci: everything passed\n")
    assert not (change.folder / "rendered").exists()


def test_on_a_laptop_the_preview_is_text_compared_with_the_branch_of_argo_cd(
    change: Change,
) -> None:
    said = change.check({}).stdout
    assert "ci: gitops-dsf diff . --base origin/main --state-branch gitops-dsf-state\n" in said
    assert "cpu-headroom" in said
    assert MARKER not in said
    git("checkout", "--quiet", "--orphan", "elsewhere", folder=change.folder)
    said = change.check({}, "--base", "nothing", code=1)
    assert "the revision nothing is not in this clone" in said.stderr


PUSH = {"GITOPS_DSF_PUSH_TOKEN": "glpat-secret"}
TWO_LINES = {"GITOPS_DSF_PUSH_TOKEN": "glpat-one\nglpat-two"}


@pytest.mark.parametrize(
    ("variables", "problem"),
    [
        ({"CI_COMMIT_REF_PROTECTED": "false"}, ""),
        ({"CI_COMMIT_REF_PROTECTED": "false", **PUSH}, "mark it Protected"),
        (PUSH, "mark it Protected"),
        ({"CI_COMMIT_REF_PROTECTED": "true", "CI_COMMIT_BRANCH": "main", **PUSH}, ""),
        (
            {"CI_COMMIT_REF_PROTECTED": "true", **TWO_LINES},
            "GITOPS_DSF_PUSH_TOKEN has more than one line",
        ),
        (
            {
                "CI_COMMIT_REF_PROTECTED": "false",
                "CI_COMMIT_BRANCH": "main",
                "CI_DEFAULT_BRANCH": "main",
            },
            "not a protected branch",
        ),
    ],
)
def test_a_push_token_that_every_developer_can_read_is_refused(
    variables: dict[str, str], problem: str
) -> None:
    forge = {
        "GITLAB_CI": "true",
        "CI_SERVER_URL": "https://gitlab.test",
        "CI_PROJECT_PATH": "team/fleet",
    }
    said: Any = ""
    try:
        pipeline_run(forge | variables)
    except PipelineError as error:
        said = str(error)
    assert problem in said
    assert bool(problem) == bool(said)
    assert "glpat" not in said
