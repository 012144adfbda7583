"""The variables and the event of an Actions runner: GitHub, Gitea and Forgejo."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from gitops_dsf.ci.run import PipelineError, PipelineRun, secret_variable
from gitops_dsf.ci.sender import Sender
from gitops_dsf.forge.address import ForgeKind
from gitops_dsf.forge.forge import Forge
from gitops_dsf.forge.forges import FORGES


class _Repository(msgspec.Struct, frozen=True):
    full_name: str = ""


class _PullSide(msgspec.Struct, frozen=True):
    sha: str = ""
    repo: _Repository | None = None


class _Pull(msgspec.Struct, frozen=True):
    number: int
    base: _PullSide
    head: _PullSide


class _MergeGroup(msgspec.Struct, frozen=True):
    """An entry of GitHub's merge queue."""

    base_sha: str = ""
    """The commit that the queue merges into: the branch, or the entry before this one."""


class _Event(msgspec.Struct, frozen=True):
    """The event that started the run."""

    pull_request: _Pull | None = None
    merge_group: _MergeGroup | None = None


def actions_run(variables: Mapping[str, str]) -> PipelineRun:
    """Reads the variables. Raises PipelineError for an event or a token that cannot be read."""
    # Gitea and Forgejo set the variables of GitHub, and say who they are in one of their own.
    is_gitea = "true" in (variables.get("GITEA_ACTIONS"), variables.get("FORGEJO_ACTIONS"))
    forge: ForgeKind = "Gitea" if is_gitea else "GitHub"
    event = _event(variables.get("GITHUB_EVENT_PATH", ""))
    summary = None
    if not is_gitea and variables.get("GITHUB_STEP_SUMMARY"):
        # Only GitHub shows this page.
        summary = Path(variables["GITHUB_STEP_SUMMARY"])
    token = secret_variable(variables, "GITHUB_TOKEN")
    silence = _why_no_comment(event, variables, has_token=bool(token), summary=summary)
    pull = event.pull_request
    comment_on: tuple[Forge, int] | None = None
    if pull is not None and not silence:
        api = variables.get("GITHUB_API_URL", "https://api.github.com")
        repository = variables.get("GITHUB_REPOSITORY", "")
        client = FORGES[forge](api=api, place=repository, send=Sender(token=token))
        comment_on = (client, pull.number)
    return PipelineRun(
        forge=forge,
        base=_base(event),
        base_branch="" if pull is None else variables.get("GITHUB_BASE_REF", ""),
        merge=_merge(event, variables),
        branch=_branch(variables),
        summary=summary,
        pull=comment_on,
        artifacts=_artifacts(variables),
        silence=silence,
    )


def _artifacts(variables: Mapping[str, str]) -> str:
    """The page of the run. GitHub, Gitea and Forgejo list its artifacts there."""
    server = variables.get("GITHUB_SERVER_URL", "")
    repository = variables.get("GITHUB_REPOSITORY", "")
    # In the URLs of Gitea a run has the number that counts the runs of its repository.
    is_gitea = "true" in (variables.get("GITEA_ACTIONS"), variables.get("FORGEJO_ACTIONS"))
    run = variables.get("GITHUB_RUN_NUMBER" if is_gitea else "GITHUB_RUN_ID", "")
    if not (server and repository and run):
        return ""
    page = f"{server}/{repository}/actions/runs/{run}"
    # GitHub's page of a run is long; Gitea has no such anchor.
    return page if is_gitea else f"{page}#artifacts"


def _event(path: str) -> _Event:
    if not path:
        return _Event()
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=_Event)
    except (OSError, msgspec.DecodeError) as error:
        raise PipelineError(
            f"GITHUB_EVENT_PATH: {path} cannot be read as an event of the forge: {error}"
        ) from error


def _why_no_comment(
    event: _Event, variables: Mapping[str, str], *, has_token: bool, summary: Path | None
) -> str:
    """The reason why nothing can be written to the pull request; empty if it can."""
    pull = event.pull_request
    if pull is None:
        return "this run belongs to no pull request"
    repository = variables.get("GITHUB_REPOSITORY", "")
    # Forges give workflows of forks a token that can only read. `repo` is null once the fork is
    # deleted.
    is_fork = pull.head.repo is None or pull.head.repo.full_name != repository
    if is_fork and summary is not None:
        return (
            "the token of a pull request from a fork may not write: the preview is in the summary"
            " of this run"
        )
    if is_fork:
        return (
            "the token of a pull request from a fork may not write: the preview is in the log of"
            " this run"
        )
    if not has_token:
        return "GITHUB_TOKEN is not set: pass ${{ github.token }} to this step"
    return ""


def _base(event: _Event) -> str:
    if event.pull_request is not None:
        return event.pull_request.base.sha
    return "" if event.merge_group is None else event.merge_group.base_sha


def _merge(event: _Event, variables: Mapping[str, str]) -> str:
    """The commit that merges the pull request.

    Gitea and Forgejo run the pipeline for the head instead: GITHUB_REF is refs/pull/N/head.
    """
    is_merge = variables.get("GITHUB_REF", "").endswith("/merge")
    if event.pull_request is None or not is_merge:
        return ""
    return variables.get("GITHUB_SHA", "")


def _branch(variables: Mapping[str, str]) -> str:
    """The branch that was pushed to; empty for a tag."""
    if variables.get("GITHUB_REF_TYPE", "branch") != "branch":
        return ""
    return variables.get("GITHUB_REF_NAME", "")
