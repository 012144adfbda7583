"""Finds the forge that runs the pipeline by the variables of the environment."""

from collections.abc import Mapping

from gitops_dsf.ci.actions import actions_run
from gitops_dsf.ci.gitlab import gitlab_run
from gitops_dsf.ci.run import PipelineRun


def pipeline_run(variables: Mapping[str, str]) -> PipelineRun:
    """Reads the variables of the forge. Without them this is a person's machine.

    Raises PipelineError if everybody can read a token that may push.
    """
    if variables.get("GITHUB_ACTIONS") == "true":
        return actions_run(variables)
    if variables.get("GITLAB_CI") == "true":
        return gitlab_run(variables)
    return PipelineRun()
