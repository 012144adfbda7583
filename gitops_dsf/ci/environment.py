"""What the variables of a forge say about the pipeline that runs.

Without them this is somebody's machine.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from dsf_wire.secrettext import SecretFault, header_secret
from gitops_dsf.ci.sender import Sender
from gitops_dsf.errors import GitopsDsfError
from gitops_dsf.forge.address import ForgeKind
from gitops_dsf.forge.forge import Forge
from gitops_dsf.forge.forges import FORGES

PUSH_TOKEN: Final = "GITOPS_DSF_PUSH_TOKEN"  # noqa: S105 - the name of a variable
COMMENT_TOKEN: Final = "GITOPS_DSF_COMMENT_TOKEN"  # noqa: S105 - the name of a variable


class PipelineError(GitopsDsfError):
    """The pipeline is not set up as it must be. The message says what to change."""


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """The pipeline that runs, or somebody's machine, where everything is empty."""

    forge: ForgeKind | None = None
    base: str = ""
    """A commit of the branch that a pull request is for: of GitHub an old one, when that branch
    moved on. In a merge queue what the entry is merged into.
    """
    base_branch: str = ""
    """The branch that a pull request is for, if the forge does not say which commit of it counts.
    """
    merge: str = ""
    """The commit that the forge made by merging the pull request, if it runs the pipeline for that.
    """
    branch: str = ""
    """The branch that was pushed to."""
    summary: Path | None = None
    """Where a page of the run can be written to."""
    pull: tuple[Forge, int] | None = None
    """The pull request that gets the comment, by its number."""
    silence: str = ""
    """Why there is no comment."""
    push_url: str = ""
    """Where commits are pushed to with PUSH_TOKEN; empty for the origin with its own credentials.
    """


class _Repository(msgspec.Struct, frozen=True):
    full_name: str = ""


class _Side(msgspec.Struct, frozen=True):
    sha: str = ""
    repo: _Repository | None = None


class _Pull(msgspec.Struct, frozen=True):
    number: int
    base: _Side
    head: _Side


class _MergeGroup(msgspec.Struct, frozen=True):
    """An entry of GitHub's merge queue."""

    base_sha: str = ""
    """What the queue merges into: the branch, or the entry before this one."""


class _Event(msgspec.Struct, frozen=True):
    pull_request: _Pull | None = None
    merge_group: _MergeGroup | None = None


def secret_variable(variables: Mapping[str, str], name: str) -> str:
    """The secret in a variable; empty if there is none.

    A forge sets a secret that does not exist to an empty text. Raises PipelineError if it cannot be
    sent.

    A forge sets a secret that does not exist to an empty text. Raises PipelineError if it cannot be
    sent.
    """
    text = variables.get(name, "")
    if not text:
        return ""
    try:
        return header_secret(text)
    except SecretFault as fault:
        raise PipelineError(f"{name} {fault}; write one token into it, on one line") from None


def pipeline_of(variables: Mapping[str, str]) -> Pipeline:
    """Reads the variables of the forge.

    Raises PipelineError if everybody can read a token that may push.
    """
    if variables.get("GITHUB_ACTIONS") == "true":
        return _actions(variables)
    if variables.get("GITLAB_CI") == "true":
        return _gitlab(variables)
    return Pipeline()


def _actions(variables: Mapping[str, str]) -> Pipeline:
    """Gitea and Forgejo set the variables of GitHub, and say who they are."""
    gitea = "true" in (variables.get("GITEA_ACTIONS"), variables.get("FORGEJO_ACTIONS"))
    forge: ForgeKind = "Gitea" if gitea else "GitHub"
    event = _event(variables.get("GITHUB_EVENT_PATH", ""))
    pull, queued = event.pull_request, event.merge_group
    # Only GitHub shows it.
    summary = variables.get("GITHUB_STEP_SUMMARY") if forge == "GitHub" else None
    repository = variables.get("GITHUB_REPOSITORY", "")
    token = secret_variable(variables, "GITHUB_TOKEN")
    commented, silence = None, "this run belongs to no pull request"
    if pull is not None and (pull.head.repo is None or pull.head.repo.full_name != repository):
        silence = (
            "the token of a pull request from a fork may not write: the preview is in the"
            f" {'summary' if summary else 'log'} of this run"
        )
    elif pull is not None and not token:
        silence = "GITHUB_TOKEN is not set: pass ${{ github.token }} to this step"
    elif pull is not None:
        api = variables.get("GITHUB_API_URL", "https://api.github.com")
        body = FORGES[forge](api=api, place=repository, send=Sender(token=token))
        commented = body, pull.number
    # Gitea and Forgejo run it for the head: refs/pull/N/head.
    is_merge = pull is not None and variables.get("GITHUB_REF", "").endswith("/merge")
    return Pipeline(
        forge=forge,
        base=pull.base.sha if pull is not None else queued.base_sha if queued is not None else "",
        base_branch=variables.get("GITHUB_BASE_REF", "") if pull is not None else "",
        merge=variables.get("GITHUB_SHA", "") if is_merge else "",
        branch=variables.get("GITHUB_REF_NAME", "")
        if variables.get("GITHUB_REF_TYPE", "branch") == "branch"
        else "",
        summary=Path(summary) if summary else None,
        pull=commented,
        silence=silence,
    )


def _event(path: str) -> _Event:
    if not path:
        return _Event()
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=_Event)
    except (OSError, msgspec.DecodeError) as error:
        raise PipelineError(
            f"GITHUB_EVENT_PATH: {path} cannot be read as an event of the forge: {error}"
        ) from error


def _gitlab(variables: Mapping[str, str]) -> Pipeline:
    _check_protection(variables)
    request, token = (
        variables.get("CI_MERGE_REQUEST_IID", ""),
        secret_variable(variables, COMMENT_TOKEN),
    )
    commented, silence = None, "this pipeline belongs to no merge request"
    if request and not token:
        silence = (
            f"{COMMENT_TOKEN} is not set, and a job token may not write notes (gitops-dsf ci check"
            " --help)"
        )
    elif request:
        project = variables.get("CI_MERGE_REQUEST_PROJECT_ID") or variables["CI_PROJECT_ID"]
        gitlab = FORGES["GitLab"](
            api=variables["CI_API_V4_URL"], place=project, send=Sender(token=token)
        )
        commented = gitlab, int(request)
    pushes = bool(secret_variable(variables, PUSH_TOKEN))
    is_merge = variables.get("CI_MERGE_REQUEST_EVENT_TYPE") in {"merged_result", "merge_train"}
    return Pipeline(
        forge="GitLab",
        base=variables.get("CI_MERGE_REQUEST_TARGET_BRANCH_SHA", "")
        or variables.get("CI_MERGE_REQUEST_DIFF_BASE_SHA", ""),
        merge=variables.get("CI_COMMIT_SHA", "") if is_merge else "",
        branch=variables.get("CI_COMMIT_BRANCH", ""),
        pull=commented,
        silence=silence,
        push_url=f"{variables['CI_SERVER_URL']}/{variables['CI_PROJECT_PATH']}.git"
        if pushes
        else "",
    )


def _check_protection(variables: Mapping[str, str]) -> None:
    """Every developer can print an unprotected variable: a pipeline runs the file of its branch."""
    if variables.get("CI_COMMIT_REF_PROTECTED") == "true":
        return
    if variables.get(PUSH_TOKEN):
        raise PipelineError(
            f"{PUSH_TOKEN} is readable in a pipeline of a branch that is not protected: every"
            " developer can print it. Settings > CI/CD > Variables: mark it Protected, then"
            " replace the token, which counts as known"
        )
    branch = variables.get("CI_COMMIT_BRANCH", "")
    if branch and branch == variables.get("CI_DEFAULT_BRANCH", "main"):
        raise PipelineError(
            f"{branch} is not a protected branch, so that everybody who may push to it decides"
            " what Argo CD applies. Settings > Repository > Protected branches: protect it."
            " Protected variables are then readable there, and nowhere else"
        )
