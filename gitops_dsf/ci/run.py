"""The run of a pipeline: compared revisions, the place of the preview, and the push of commits."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dsf_wire.secrettext import SecretFault, header_secret
from gitops_dsf.errors import GitopsDsfError
from gitops_dsf.forge.address import ForgeKind
from gitops_dsf.forge.forge import Forge

PUSH_TOKEN: Final = "GITOPS_DSF_PUSH_TOKEN"  # noqa: S105 - the name of a variable
COMMENT_TOKEN: Final = "GITOPS_DSF_COMMENT_TOKEN"  # noqa: S105 - the name of a variable


class PipelineError(GitopsDsfError):
    """The pipeline is not set up as it must be. The message says what to change."""


@dataclass(frozen=True, kw_only=True)
class PipelineRun:
    """The run of a pipeline. On a person's machine everything is empty."""

    forge: ForgeKind | None = None
    base: str = ""
    """A commit of the branch that a pull request is for.

    GitHub names an old one when that branch moved on. In a merge queue it is what the entry is
    merged into.
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
    """The file to which a page of the run can be written."""
    pull: tuple[Forge, int] | None = None
    """The pull request that gets the comment, by its number."""
    artifacts: str = ""
    """The page of the forge that lists the files which this run keeps; empty if it is not known."""
    silence: str = ""
    """The reason why there is no comment."""
    push_url: str = ""
    """The URL to which commits are pushed with PUSH_TOKEN; empty for the origin with its own
    credentials.
    """


def secret_variable(variables: Mapping[str, str], name: str) -> str:
    """The secret in a variable; empty if there is none. Raises PipelineError if it cannot be sent.

    A forge sets a secret that does not exist to an empty text.
    """
    text = variables.get(name, "")
    if not text:
        return ""
    try:
        return header_secret(text)
    except SecretFault as fault:
        # Without the cause, which may hold the secret.
        raise PipelineError(f"{name} {fault}; write one token into it, on one line") from None
