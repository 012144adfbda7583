"""The comment of a pipeline on forges that are in trouble, limit requests, or lose answers.

That `ci check` writes it, and passes without it, is in test_ci.py.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.ci.comment import NotWrittenError, write_comment
from gitops_dsf.ci.environment import pipeline_run
from gitops_dsf.show.preview.page import MARKER
from tests.hub.controlplane.gitrepository import GitRepository
from tests.support.githubserver import GitHubServer, Pull
from tests.support.gitlab import GitLabServer
from tests.support.pipelines import TOKEN, github_variables, gitlab_variables

FORGES = ["GitHub", "Gitea", "GitLab"]
TEXT = f"{MARKER}\nNothing changes."
SHA = "1" * 40


@pytest.fixture
def gitlab() -> Iterator[GitLabServer]:
    with GitLabServer(token=TOKEN) as server:
        yield server


@pytest.fixture
def github(tmp_path: Path) -> Iterator[GitHubServer]:
    """With a pull request of a branch that is there. Comments need nothing else of git."""
    branch = tmp_path / "refs/heads/change"
    branch.parent.mkdir(parents=True)
    branch.write_text(SHA, encoding="ascii")
    repository = GitRepository(url="", bare=tmp_path, clone=tmp_path)
    with GitHubServer(repository=repository, token=TOKEN) as server:
        server.pulls.append(
            Pull(number=3, title="Less often", branch="change", base="main", body="", sha=SHA)
        )
        yield server
        assert server.violations == []


class Pipeline:
    """A pipeline of a forge that gives some answers before it works."""

    def __init__(
        self, forge: str, folder: Path, github: GitHubServer, gitlab: GitLabServer
    ) -> None:
        self.slept: list[float] = []
        """Seconds between attempts, for which nobody really waits."""
        self.troubles: list[tuple[int, str, dict[str, str]]] = []
        """Status, message and headers of answers."""
        self._github, self._gitlab = github, gitlab
        if forge == "GitLab":
            gitlab.trouble = self._trouble
            self.variables = gitlab_variables(gitlab.url, base=SHA)
            return
        github.faults = [lambda _method, _path: self._trouble()]
        github.gitea = forge == "Gitea"
        self.variables = github_variables(github.url, folder, base=SHA)
        if github.gitea:
            self.variables["GITEA_ACTIONS"] = "true"

    def _trouble(self) -> tuple[int, Any, dict[str, str]] | None:
        if not self.troubles:
            return None
        status, message, headers = self.troubles.pop(0)
        return status, {"message": message}, headers

    @property
    def comments(self) -> list[str]:
        return self._github.pulls[0].comments + [note["body"] for note in self._gitlab.notes]

    def write(self, **variables: str) -> str:
        pull = pipeline_run(self.variables | variables).pull
        assert pull is not None
        forge, number = pull
        return write_comment(forge, number, TEXT, marker=MARKER, sleep=self.slept.append)


@pytest.fixture
def on_github(tmp_path: Path, github: GitHubServer, gitlab: GitLabServer) -> Pipeline:
    return Pipeline("GitHub", tmp_path, github, gitlab)


@pytest.fixture
def on_gitlab(tmp_path: Path, github: GitHubServer, gitlab: GitLabServer) -> Pipeline:
    return Pipeline("GitLab", tmp_path, github, gitlab)


@pytest.fixture(params=FORGES)
def pipeline(
    request: pytest.FixtureRequest, tmp_path: Path, github: GitHubServer, gitlab: GitLabServer
) -> Pipeline:
    return Pipeline(request.param, tmp_path, github, gitlab)


def test_a_forge_in_trouble_is_asked_again(pipeline: Pipeline) -> None:
    for status in (502, 503, 429, 500):
        headers = {"Retry-After": "7"} if status == 503 else {}
        pipeline.troubles.append((status, "Bad Gateway", headers))
    assert pipeline.write() == "added"
    assert pipeline.comments == [TEXT]
    assert pipeline.slept == [2, 7, 60, 16]


def test_a_forge_that_stays_in_trouble_is_given_up(pipeline: Pipeline) -> None:
    pipeline.troubles += [(502, "Bad Gateway", {})] * 100
    with pytest.raises(NotWrittenError, match=r"^the forge did not take it in 5 attempts: .*502"):
        pipeline.write()
    assert pipeline.comments == []
    assert pipeline.slept == [2, 4, 8, 16]


def test_a_comment_that_is_wrong_is_not_sent_again(
    on_gitlab: Pipeline, gitlab: GitLabServer
) -> None:
    gitlab.faults["POST"] = 400
    with pytest.raises(NotWrittenError, match=r"^the forge did not take it: "):
        on_gitlab.write()
    assert on_gitlab.slept == []


def test_a_comment_that_was_written_although_the_answer_was_lost_is_not_written_twice(
    on_gitlab: Pipeline, gitlab: GitLabServer
) -> None:
    gitlab.lost = 1
    assert on_gitlab.write() == "edited"
    assert on_gitlab.comments == [TEXT]


SECONDARY = (
    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
)
PRIMARY = "API rate limit exceeded for installation ID 1."


def test_a_rate_limit_is_waited_for_and_is_no_missing_permission(on_github: Pipeline) -> None:
    on_github.troubles += [
        (403, SECONDARY, {}),
        (403, SECONDARY, {"Retry-After": "6"}),
        (403, "Forbidden", {"Retry-After": "5"}),
        (403, PRIMARY, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1"}),
    ]
    assert on_github.write() == "added"
    assert on_github.slept == [60, 6, 5, 60]


@pytest.mark.parametrize(("message", "seconds"), [(PRIMARY, 1200), (SECONDARY, 600)])
def test_a_rate_limit_that_lasts_is_not_waited_for(
    on_github: Pipeline, message: str, seconds: int
) -> None:
    on_github.troubles += [(403, message, {"Retry-After": str(seconds)})] * 100
    with pytest.raises(NotWrittenError) as raised:
        on_github.write()
    said = str(raised.value)
    assert said.startswith(f"the forge limits requests and asks to wait {seconds} s: ")
    assert "the token" not in said
    assert on_github.slept == []


def test_a_line_break_at_the_end_of_a_token_is_no_part_of_it(on_gitlab: Pipeline) -> None:
    assert on_gitlab.write(GITOPS_DSF_COMMENT_TOKEN=f"\ufeff{TOKEN}\r\n") == "added"


def test_a_redirect_takes_the_token_nowhere(on_gitlab: Pipeline, gitlab: GitLabServer) -> None:
    gitlab.faults["GET"] = 302
    with pytest.raises(NotWrittenError, match="302"):
        on_gitlab.write()
    assert on_gitlab.slept == []
