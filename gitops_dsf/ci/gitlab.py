"""The variables of GitLab CI, and whether its tokens are safe."""

from collections.abc import Mapping

from gitops_dsf.ci.run import (
    COMMENT_TOKEN,
    PUSH_TOKEN,
    PipelineError,
    PipelineRun,
    secret_variable,
)
from gitops_dsf.ci.sender import Sender
from gitops_dsf.forge.forge import Forge
from gitops_dsf.forge.forges import FORGES


def gitlab_run(variables: Mapping[str, str]) -> PipelineRun:
    """Reads the variables. Raises PipelineError if everybody can read a token that may push."""
    _check_protection(variables)
    request = variables.get("CI_MERGE_REQUEST_IID", "")
    token = secret_variable(variables, COMMENT_TOKEN)
    silence = _why_no_comment(request, has_token=bool(token))
    comment_on: tuple[Forge, int] | None = None
    if not silence:
        project = variables.get("CI_MERGE_REQUEST_PROJECT_ID") or variables["CI_PROJECT_ID"]
        api = variables["CI_API_V4_URL"]
        comment_on = (
            FORGES["GitLab"](api=api, place=project, send=Sender(token=token)),
            int(request),
        )
    return PipelineRun(
        forge="GitLab",
        # GitLab sets the first variable only in pipelines for merged results. In others the merge
        # base is what the branch is compared with.
        base=(
            variables.get("CI_MERGE_REQUEST_TARGET_BRANCH_SHA", "")
            or variables.get("CI_MERGE_REQUEST_DIFF_BASE_SHA", "")
        ),
        merge=_merge(variables),
        branch=variables.get("CI_COMMIT_BRANCH", ""),
        pull=comment_on,
        artifacts=_artifacts(variables),
        silence=silence,
        push_url=_push_url(variables),
    )


def _artifacts(variables: Mapping[str, str]) -> str:
    """The page that lists the files of the job."""
    job = variables.get("CI_JOB_URL", "")
    return f"{job}/artifacts/browse" if job else ""


def _why_no_comment(request: str, *, has_token: bool) -> str:
    """The reason why nothing can be written to the merge request; empty if it can."""
    if not request:
        return "this pipeline belongs to no merge request"
    if not has_token:
        return (
            f"{COMMENT_TOKEN} is not set, and a job token may not write notes (gitops-dsf ci check"
            " --help)"
        )
    return ""


def _merge(variables: Mapping[str, str]) -> str:
    """The commit of a pipeline for merged results, or of a merge train."""
    if variables.get("CI_MERGE_REQUEST_EVENT_TYPE") in {"merged_result", "merge_train"}:
        return variables.get("CI_COMMIT_SHA", "")
    return ""


def _push_url(variables: Mapping[str, str]) -> str:
    if not secret_variable(variables, PUSH_TOKEN):
        return ""
    return f"{variables['CI_SERVER_URL']}/{variables['CI_PROJECT_PATH']}.git"


def _check_protection(variables: Mapping[str, str]) -> None:
    """Refuses a token that may push in a pipeline of a branch that is not protected.

    A pipeline runs the file of its branch, so every developer can print an unprotected variable.
    """
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
