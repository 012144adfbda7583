"""The pipeline of a new fleet, from clone to comment, on both forges and without one.

It runs in the environment that the requirements of the fleet install.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from gitops_dsf.ci.environment import pipeline_run
from gitops_dsf.ci.publish import HELPER
from gitops_dsf.ci.run import PipelineError
from gitops_dsf.cli.scaffold import scaffold
from gitops_dsf.cli.template import repo_template
from gitops_dsf.show.preview.page import MARKER
from tests.hub.controlplane.gitrepository import BARE, CLONE, GitRepository, git
from tests.integration.preview.gitfleet import save, snapshot
from tests.support import yamlfast
from tests.support.commandline import gitops_dsf, output_of
from tests.support.githubserver import BOT, NAME, OWNER, PERSON, GitHubServer, Pull
from tests.support.gitlab import GitLabServer

TOKEN = "s3cret"


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
        self.repository = GitRepository(url="", bare=bare, clone=self.folder)
        shutil.copytree(prepared.folder, root, dirs_exist_ok=True)
        git("config", "remote.origin.url", str(bare), folder=self.folder)
        # git compares a file with its index by its inode first, and takes a copy for a change.
        git("update-index", "-q", "--refresh", folder=self.folder)

    def commit(self) -> None:
        commit(self.folder)

    def pull(self) -> Pull:
        sha = git("rev-parse", "HEAD", folder=self.folder).strip()
        return Pull(number=3, title="Less often", branch="change", base="main", body="", sha=sha)

    def github(self, server: GitHubServer, *, fork: bool = False) -> dict[str, str]:
        head = {"sha": "", "repo": {"full_name": "stranger/fleet" if fork else f"{OWNER}/{NAME}"}}
        event = {"pull_request": {"number": 3, "base": {"sha": self.base}, "head": head}}
        (self.root / "event.json").write_text(json.dumps(event))
        return {
            "GITHUB_ACTIONS": "true",
            "GITHUB_EVENT_PATH": str(self.root / "event.json"),
            "GITHUB_STEP_SUMMARY": str(self.root / "summary.md"),
            "GITHUB_REPOSITORY": f"{OWNER}/{NAME}",
            "GITHUB_API_URL": server.url,
            "GITHUB_TOKEN": TOKEN,
        }

    def gitlab(self, server: GitLabServer) -> dict[str, str]:
        return {
            "GITLAB_CI": "true",
            "CI_API_V4_URL": server.url,
            "CI_PROJECT_ID": "12",
            "CI_MERGE_REQUEST_IID": "3",
            "CI_MERGE_REQUEST_DIFF_BASE_SHA": self.base,
            "GITOPS_DSF_COMMENT_TOKEN": TOKEN,
        }

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
    # So that there are few files to copy.
    for one in (folder, repository.bare):
        git("repack", "-a", "-d", "-q", folder=one)
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
    run_job(runs, change.folder, pipeline_programs, change.github(github) | given | runner)
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
    change.check(change.github(github) | RUN)
    assert forged["body"] == f"{MARKER}\nNothing changes."
    mine = pull.thread[-1]
    assert mine["user"] == BOT
    assert "preview.html" not in mine["body"], "a run without a page has no link to it"
    mine["body"] = f"{MARKER}\nOld."
    said = change.check(change.github(github)).stdout
    assert "ci: edited the comment" in said
    assert len(pull.thread) == 122
    assert "cpu-headroom" in mine["body"]


RUN = {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_RUN_ID": "17", "GITHUB_RUN_NUMBER": "4"}


def test_the_comment_links_to_the_page_that_the_run_keeps(
    change: Change, github: GitHubServer
) -> None:
    page = change.root / "preview.html"
    change.check(change.github(github) | RUN, "--page", str(page))
    (comment,) = github.pulls[0].comments
    url = f"https://github.com/{OWNER}/{NAME}/actions/runs/17#artifacts"
    assert f"Everything of this preview: [preview.html]({url})" in comment
    assert "cpu-headroom" in page.read_text("utf-8")
    assert len(comment) < 65_536


def test_a_run_of_gitea_has_its_number_in_the_link(change: Change, github: GitHubServer) -> None:
    variables = change.github(github) | RUN | {"GITEA_ACTIONS": "true", "GITHUB_TOKEN": ""}
    said = change.check(variables, "--page", str(change.root / "preview.html")).stdout
    assert f"[preview.html](https://github.com/{OWNER}/{NAME}/actions/runs/4)" in said


def test_gitlab_links_to_the_files_of_the_job(change: Change, gitlab: GitLabServer) -> None:
    job = "https://gitlab.example.com/acme/fleet/-/jobs/9"
    page = change.root / "preview.html"
    change.check(change.gitlab(gitlab) | {"CI_JOB_URL": job}, "--page", str(page))
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
    change.check(change.github(github))
    assert git("rev-parse", "--is-shallow-repository", folder=change.folder).strip() == "false"
    log = git("log", "--format=%s", "origin/gitops-dsf-state", folder=change.folder)
    assert log == "Second\nFirst\n"


class Meanwhile:
    """A pull request, while a merge into main added a scorer of somebody else."""

    def __init__(self, change: Change) -> None:
        self.change, self.folder = change, change.folder
        self.head = self.commit_of("HEAD")
        self.git("checkout", "--quiet", "main")
        scorer = (self.folder / "scorers/cpu-headroom.yaml").read_text()
        (self.folder / "scorers/others.yaml").write_text(
            scorer.replace("cpu-headroom", "others").replace("cpu_headroom", "others")
        )
        assert gitops_dsf("render", cwd=self.folder).returncode == 0
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "A scorer of others")
        self.git("push", "--quiet", "origin", "main")
        self.main = self.commit_of("HEAD")

    def git(self, *words: str) -> str:
        return git(*words, folder=self.folder).strip()

    def commit_of(self, revision: str) -> str:
        return self.git("rev-parse", revision)

    def merged(self) -> str:
        """Checks out what a forge makes of main and the pull request."""
        self.git("checkout", "--quiet", "--detach", "main")
        self.git("merge", "--quiet", "--no-ff", "--no-commit", "-X", "theirs", self.head)
        assert gitops_dsf("render", cwd=self.folder).returncode == 0
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "Merge the pull request into main")
        return self.commit_of("HEAD")

    def preview(self, variables: Mapping[str, str]) -> str:
        return self.change.check(variables).stdout


def names_only_the_change(preview: str) -> bool:
    assert "cpu-headroom" in preview
    return "others" not in preview


def test_github_merges_with_a_newer_main_than_its_event_says(
    change: Change, github: GitHubServer
) -> None:
    """`base.sha` of the event is main when the pull request was last pushed to."""
    meanwhile = Meanwhile(change)
    variables = change.github(github) | {
        "GITHUB_REF": "refs/pull/3/merge",
        "GITHUB_SHA": meanwhile.merged(),
        "GITHUB_BASE_REF": "main",
    }
    meanwhile.preview(variables)
    assert names_only_the_change((change.root / "summary.md").read_text("utf-8"))


def test_github_with_the_head_of_a_pull_request_that_merged_main(
    change: Change, github: GitHubServer
) -> None:
    """A workflow may check out the head, into which its author merged a newer main."""
    meanwhile = Meanwhile(change)
    merge = meanwhile.merged()
    tree = meanwhile.commit_of(f"{merge}^{{tree}}")
    own = ("commit-tree", tree, "-p", meanwhile.head, "-p", "main", "-m", "Merge main")
    meanwhile.git("checkout", "--quiet", "--detach", meanwhile.git(*own))
    variables = change.github(github) | {
        "GITHUB_REF": "refs/pull/3/merge",
        "GITHUB_SHA": merge,
        "GITHUB_BASE_REF": "main",
    }
    meanwhile.preview(variables)
    assert names_only_the_change((change.root / "summary.md").read_text("utf-8"))


def test_github_with_a_clone_that_has_only_the_merge(
    change: Change, github: GitHubServer, tmp_path: Path
) -> None:
    """With depth 2, as `actions/checkout` fetches it, the parents are there and nothing older."""
    meanwhile = Meanwhile(change)
    merge = meanwhile.merged()
    meanwhile.git("push", "--quiet", "origin", f"{merge}:refs/pull/3/merge")
    shallow = tmp_path / "shallow"
    git("init", "--quiet", str(shallow), folder=tmp_path)
    git("remote", "add", "origin", change.repository.bare.as_uri(), folder=shallow)
    variables = change.github(github) | {
        "GITHUB_REF": "refs/pull/3/merge",
        "GITHUB_SHA": merge,
        "GITHUB_BASE_REF": "main",
    }
    for depth, code in ((1, 1), (2, 0)):
        git("fetch", "--quiet", f"--depth={depth}", "origin", "refs/pull/3/merge", folder=shallow)
        git("checkout", "--quiet", "--detach", merge, folder=shallow)
        change.folder = shallow
        (change.root / "summary.md").unlink(missing_ok=True)
        done = change.check(variables, code=code)
        if code == 0:
            assert names_only_the_change((change.root / "summary.md").read_text("utf-8"))
        else:
            assert (
                f"the revision {meanwhile.main} is not in this clone, which is shallow"
                in done.stderr
            )
            assert "fetch-depth: 0" in done.stderr


@pytest.mark.parametrize("said", [True, False])
def test_gitlab_with_merged_results(change: Change, gitlab: GitLabServer, said: bool) -> None:
    """CI_MERGE_REQUEST_DIFF_BASE_SHA is where the branch began. The merge is newer."""
    meanwhile = Meanwhile(change)
    merge = meanwhile.merged()
    variables = change.gitlab(gitlab) | {
        "CI_COMMIT_SHA": merge,
        "CI_MERGE_REQUEST_EVENT_TYPE": "merged_result" if said else "merge_train",
        "CI_MERGE_REQUEST_TARGET_BRANCH_SHA": meanwhile.main if said else "",
    }
    meanwhile.preview(variables)
    [note] = gitlab.notes
    assert names_only_the_change(note["body"])


def test_gitlab_with_the_branch_alone(change: Change, gitlab: GitLabServer) -> None:
    meanwhile = Meanwhile(change)
    meanwhile.git("checkout", "--quiet", "--detach", meanwhile.head)
    variables = change.gitlab(gitlab) | {
        "CI_COMMIT_SHA": meanwhile.head,
        "CI_MERGE_REQUEST_EVENT_TYPE": "detached",
        "CI_MERGE_REQUEST_TARGET_BRANCH_SHA": "",
    }
    meanwhile.preview(variables)
    [note] = gitlab.notes
    assert names_only_the_change(note["body"])


def test_gitea_checks_out_the_head(change: Change, github: GitHubServer) -> None:
    meanwhile = Meanwhile(change)
    meanwhile.git("checkout", "--quiet", "--detach", meanwhile.head)
    variables = change.github(github) | {
        "GITEA_ACTIONS": "true",
        "GITHUB_REF": "refs/pull/3/head",
        "GITHUB_SHA": meanwhile.head,
        "GITHUB_BASE_REF": "main",
        "GITHUB_TOKEN": "",
    }
    assert names_only_the_change(meanwhile.preview(variables))


def test_a_merge_queue_is_checked_against_what_is_before_it(
    change: Change, github: GitHubServer
) -> None:
    """A required check that never runs in the queue blocks it for ever."""
    workflow = yamlfast.load(
        (change.folder / ".github/workflows/gitops-dsf.yaml").read_text("utf-8")
    )
    # YAML 1.1 reads the key `on` as true.
    assert "merge_group" in workflow[True if True in workflow else "on"]
    assert workflow["jobs"]["check"]["if"] == "github.event_name != 'push'"
    meanwhile = Meanwhile(change)
    merge = meanwhile.merged()
    event = {
        "action": "checks_requested",
        "merge_group": {"base_sha": meanwhile.main, "head_sha": merge},
    }
    variables = change.github(github) | {
        "GITHUB_REF": f"refs/heads/gh-readonly-queue/main/pr-3-{meanwhile.main}",
        "GITHUB_SHA": merge,
        "GITHUB_BASE_REF": "",
    }
    (change.root / "event.json").write_text(json.dumps(event))
    meanwhile.preview(variables)
    assert names_only_the_change((change.root / "summary.md").read_text("utf-8"))
    assert github.log == [], "a queue has no comments"


def test_a_fork_has_its_preview_in_the_summary(change: Change, github: GitHubServer) -> None:
    said = change.check(change.github(github, fork=True)).stdout
    assert "from a fork may not write" in said
    assert github.log == []
    assert (change.root / "summary.md").read_text("utf-8").startswith(MARKER)


@pytest.mark.parametrize(
    ("status", "said"), [(403, "the token may not write it"), (400, "the forge did not take it")]
)
def test_a_comment_that_is_refused_is_not_sent_again_and_fails_no_check(
    change: Change, gitlab: GitLabServer, status: int, said: str
) -> None:
    gitlab.faults["POST"] = status
    done = change.check(change.gitlab(gitlab))
    assert f"ci: no comment: {said}: " in done.stdout
    assert MARKER in done.stdout, "the log has the preview"
    assert TOKEN not in done.stdout + done.stderr
    assert change.slept == []


FORGES = ["GitHub", "Gitea", "GitLab"]


def pipeline(
    change: Change, github: GitHubServer, gitlab: GitLabServer, forge: str
) -> tuple[dict[str, str], list[tuple[int, str, dict[str, str]]], Callable[[], list[str]]]:
    """Variables of a forge's pipeline, the answers before the forge works, and its comments.

    An answer is its status, message and headers. The test may append to the list.
    """
    troubles: list[tuple[int, str, dict[str, str]]] = []

    def fault(*_: object) -> tuple[int, Any, dict[str, str]] | None:
        if not troubles:
            return None
        status, message, headers = troubles.pop(0)
        return status, {"message": message}, headers

    if forge == "GitLab":
        gitlab.trouble = fault
        return change.gitlab(gitlab), troubles, lambda: [note["body"] for note in gitlab.notes]
    github.faults = [fault]
    github.gitea = forge == "Gitea"
    variables = change.github(github) | ({"GITEA_ACTIONS": "true"} if forge == "Gitea" else {})
    return variables, troubles, lambda: github.pulls[0].comments


@pytest.mark.parametrize("forge", FORGES)
def test_a_forge_in_trouble_is_asked_again(
    change: Change, github: GitHubServer, gitlab: GitLabServer, forge: str
) -> None:
    variables, troubles, comments = pipeline(change, github, gitlab, forge)
    for status in (502, 503, 429, 500):
        headers = {"Retry-After": "7"} if status == 503 else {}
        troubles.append((status, "Bad Gateway", headers))
    done = change.check(variables)
    (comment,) = comments()
    assert comment.startswith(MARKER)
    assert "ci: added the comment with the preview" in done.stdout
    assert change.slept == [2, 7, 60, 16]


@pytest.mark.parametrize("forge", FORGES)
def test_a_forge_that_stays_in_trouble_fails_no_check(
    change: Change, github: GitHubServer, gitlab: GitLabServer, forge: str
) -> None:
    variables, troubles, comments = pipeline(change, github, gitlab, forge)
    troubles += [(502, "Bad Gateway", {})] * 100
    done = change.check(variables)
    assert comments() == []
    assert "ci: no comment: the forge did not take it in 5 attempts: " in done.stdout
    assert "502" in done.stdout
    assert done.stdout.endswith("ci: everything passed\n")
    assert change.slept == [2, 4, 8, 16]


def test_a_forge_that_cannot_be_reached_fails_no_check(
    change: Change, gitlab: GitLabServer
) -> None:
    variables = change.gitlab(gitlab) | {"CI_API_V4_URL": "http://127.0.0.1:1/api/v4"}
    done = change.check(variables)
    assert "ci: no comment: the forge did not take it in 5 attempts: " in done.stdout
    assert done.stdout.endswith("ci: everything passed\n")
    assert change.slept == [2, 4, 8, 16]
    (change.folder / "rendered/INVENTORY").unlink()
    assert change.check(variables, code=1).stdout.endswith("ci: failed: render\n"), (
        "findings still do"
    )


def test_a_comment_that_was_written_although_the_answer_was_lost_is_not_written_twice(
    change: Change, gitlab: GitLabServer
) -> None:
    gitlab.lost = 1
    done = change.check(change.gitlab(gitlab))
    assert len(gitlab.notes) == 1
    assert "ci: edited the comment with the preview" in done.stdout


SECONDARY = (
    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
)
PRIMARY = "API rate limit exceeded for installation ID 1."


def test_a_rate_limit_is_waited_for_and_is_no_missing_permission(
    change: Change, github: GitHubServer, gitlab: GitLabServer
) -> None:
    variables, troubles, _ = pipeline(change, github, gitlab, "GitHub")
    troubles += [
        (403, SECONDARY, {}),
        (403, SECONDARY, {"Retry-After": "6"}),
        (403, "Forbidden", {"Retry-After": "5"}),
        (403, PRIMARY, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1"}),
    ]
    done = change.check(variables)
    assert "ci: added the comment with the preview" in done.stdout
    assert "the token needs" not in done.stdout
    assert change.slept == [60, 6, 5, 60]


@pytest.mark.parametrize(("message", "seconds"), [(PRIMARY, 1200), (SECONDARY, 600)])
def test_a_rate_limit_that_lasts_holds_up_no_check(
    change: Change, github: GitHubServer, message: str, seconds: int
) -> None:
    github.faults = [
        lambda _method, _path: (403, {"message": message}, {"Retry-After": str(seconds)})
    ]
    done = change.check(change.github(github))
    assert (
        f"ci: no comment: the forge limits requests and asks to wait {seconds} s: " in done.stdout
    )
    assert "the token" not in done.stdout
    assert change.slept == []
    assert done.stdout.endswith("ci: everything passed\n")


def test_a_line_break_at_the_end_of_a_token_is_no_part_of_it(
    change: Change, gitlab: GitLabServer
) -> None:
    token = f"\ufeff{TOKEN}\r\n"
    done = change.check(change.gitlab(gitlab) | {"GITOPS_DSF_COMMENT_TOKEN": token})
    assert "ci: added the comment with the preview" in done.stdout


@pytest.mark.parametrize("token", ["s3cret-1\ns3cret-2", "s3cret-\u00e9", " \n"])
def test_a_comment_token_that_cannot_be_sent_is_named_and_not_repeated(
    change: Change, gitlab: GitLabServer, github: GitHubServer, token: str
) -> None:
    for variables, name in (
        (change.gitlab(gitlab), "GITOPS_DSF_COMMENT_TOKEN"),
        (change.github(github), "GITHUB_TOKEN"),
    ):
        done = change.check(variables | {name: token}, code=1)
        assert f"error: {name} " in done.stderr
        assert "s3cret" not in done.stdout + done.stderr


def test_a_store_token_that_cannot_be_sent_is_named_and_not_repeated(
    change: Change, gitlab: GitLabServer
) -> None:
    token = "s3cret-1\ns3cret-2"
    store = {"GITOPS_DSF_PROMETHEUS": "http://127.0.0.1:1", "GITOPS_DSF_PROMETHEUS_TOKEN": token}
    done = change.check(change.gitlab(gitlab) | store)
    assert "ci: GITOPS_DSF_PROMETHEUS_TOKEN has more than one line" in done.stdout
    assert "The backtest failed" in done.stdout
    assert "s3cret" not in done.stdout + done.stderr


def test_the_password_in_the_url_of_a_store_is_not_printed(
    change: Change, gitlab: GitLabServer
) -> None:
    store = {"GITOPS_DSF_PROMETHEUS": "http://me:pa55word@127.0.0.1:1"}
    done = change.check(change.gitlab(gitlab) | store)
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


def test_a_redirect_takes_the_token_nowhere(change: Change, gitlab: GitLabServer) -> None:
    gitlab.faults["GET"] = 302
    assert "302" in change.check(change.gitlab(gitlab)).stdout
    assert change.slept == []


def test_every_check_runs_and_names_what_failed(change: Change, gitlab: GitLabServer) -> None:
    test = change.folder / "tests/guestbook.yaml"
    text = test.read_text()
    assert "value: 55   #" in text
    test.write_text(text.replace("value: 55   #", "value: 56   #"))
    (change.folder / "rendered/INVENTORY").unlink()
    done = change.check(change.gitlab(gitlab), code=1)
    assert done.stdout.endswith("ci: failed: test, render\n")
    assert len(gitlab.notes) == 1


def test_a_mistake_reaches_the_comment(change: Change, github: GitHubServer) -> None:
    scorer = change.folder / "scorers/cpu-headroom.yaml"
    scorer.write_text(scorer.read_text().replace("type: Query", "type: query"))
    done = change.check(change.github(github), code=1)
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
    assert gitops_dsf("render", cwd=change.folder).returncode == 0


@pytest.mark.parametrize(("token", "finding"), [(True, "DSF129"), (False, "DSF176")])
def test_tokens_and_metrics_go_nowhere_that_git_does_not_allow(
    change_of_examples: Change, gitlab: GitLabServer, token: bool, finding: str
) -> None:
    """`validate` and `render` warn of it. The check of a pull request fails."""
    change = change_of_examples
    evil(change, token=token)
    done = change.check(change.gitlab(gitlab), code=1)
    assert f"error {finding}" in done.stdout
    assert "evil.example.com" in done.stdout
    assert done.stdout.endswith("ci: failed: validate\n")
    settings = change.folder / "gitops-dsf.yaml"
    allowed = "allowedTokenHosts: [forecast.scoring.example.com"
    text = settings.read_text()
    assert allowed in text
    settings.write_text(text.replace(allowed, f"{allowed}, evil.example.com"))
    assert gitops_dsf("render", cwd=change.folder).returncode == 0
    assert change.check(change.gitlab(gitlab)).stdout.endswith("ci: everything passed\n")


def test_a_strict_check_fails_for_warnings(change: Change) -> None:
    """The fleet of these tests has the URL that `init` writes as an example."""
    assert change.check({}).stdout.endswith("ci: everything passed\n")
    done = change.check({}, "--strict", code=1)
    assert "warning DSF175" in done.stdout
    assert done.stdout.endswith("ci: failed: validate\n")
    assert "ci: gitops-dsf test ." in done.stdout, (
        "the repository has no errors, so its tests are run"
    )
    settings = change.folder / "gitops-dsf.yaml"
    settings.write_text(settings.read_text().replace("platform/fleet.git", "platform/own.git"))
    assert gitops_dsf("render", cwd=change.folder).returncode == 0
    assert change.check({}, "--strict").stdout.endswith("ci: everything passed\n")


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
