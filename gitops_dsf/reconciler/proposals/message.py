"""What people read of a proposal: the commit's message and the text of its pull request."""

import re
from string import Formatter
from typing import Final

from gitops_dsf.errors import UsageError
from gitops_dsf.reconciler.proposals.proposal import Kind, Proposal

TEMPLATE: Final = "{subject}\n\n{body}"
MOST: Final = 200
"""Changes that are listed; the commit itself shows all."""

_SKIP_CI: Final = re.compile(r"\[([^\[\]]*\b(?:ci|skip|actions)\b[^\[\]]*)\]", re.IGNORECASE)
"""Such as [skip ci], [ci skip], [no ci], [skip actions]: in a commit's message GitHub, GitLab and others then
run no checks.
"""
_ISSUE: Final = re.compile(r"#(?=[0-9])")
"""In `fixes #12`: merging such a commit closes the issue."""

_REASONS: Final = {
    Kind.LOCKS: (
        "The scorer's /config page no longer says what its lock says. Nothing changes on any cluster before"
        " this is merged."
    ),
    Kind.INVENTORY: (
        "The hub's ManagedClusters differ from clusters/. Labels and claims are those that gitops-dsf import"
        " takes."
    ),
}


def commit_message(proposal: Proposal, *, template: str) -> str:
    """By the template, or the built-in one where it is empty."""
    body = f"{_REASONS[proposal.subject.kind]}\n\n" + "\n".join(
        f"- {_without_commands(line)}" for line in _listed(proposal)
    )
    return (template or TEMPLATE).format(subject=proposal.title, body=body)


def check_template(template: str) -> None:
    """Raises UsageError for one that cannot be filled in."""
    try:
        names = {name for _, name, _, _ in Formatter().parse(template) if name is not None}
    except ValueError as error:
        msg = (
            f"--message-template: a brace has no partner ({error}); write {{{{ and }}}} for braces that stand"
            " for themselves"
        )
        raise UsageError(msg) from error
    if names - {"subject", "body"}:
        msg = (
            f"--message-template: {{{min(names - {'subject', 'body'})}}} is not known; write {{subject}} and"
            " {body}"
        )
        raise UsageError(msg)


def request_body(proposal: Proposal) -> str:
    """Markdown. Texts of strangers stand in a code block, where they mention nobody and link nowhere."""
    listed = "\n".join(_listed(proposal))
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", listed)), default=0))
    return (
        f"{_REASONS[proposal.subject.kind]}\n\n{fence}text\n{listed}\n{fence}\n\nMerge it to accept. Close it"
        " to refuse: the same content is not proposed again. Once it is outdated it is closed by itself,"
        " unless somebody else has pushed to its branch.\n"
    )


def _without_commands(line: str) -> str:
    """A text of strangers that no CI and no forge obeys: pages and cluster claims are not written by people
    of the repository.
    """
    line = _SKIP_CI.sub(lambda found: f"({found[1]})", line)
    return _ISSUE.sub("# ", line)


def _listed(proposal: Proposal) -> list[str]:
    lines = list(proposal.details[:MOST])
    rest = len(proposal.details) - len(lines)
    return [*lines, f"and {rest} more"] if rest else lines
