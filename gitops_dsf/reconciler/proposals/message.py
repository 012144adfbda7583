"""The texts of a proposal: the message of its commit, and the body of its pull request."""

import re
from typing import Final

from gitops_dsf.reconciler.proposals.change import Change, Kind

MOST: Final = 200
"""Changes that a text lists at most. The commit shows all of them."""

_SKIP_CI: Final = re.compile(r"\[([^\[\]]*\b(?:ci|skip|actions)\b[^\[\]]*)\]", re.IGNORECASE)
"""For example [skip ci], [ci skip], [no ci] or [skip actions], which make GitHub, GitLab and others skip the
checks of a commit.
"""
_REFERENCES: Final = (
    re.compile(r"(#)(?=\w)"),
    re.compile(r"\b(GH-)(?=[0-9])", re.IGNORECASE),
    re.compile(r"(/(?:issues|pull|work_items|merge_requests)/)(?=[0-9])"),
    re.compile(r"(?<![\w!])([!&])(?=[0-9])"),
    re.compile(r"(?<![\w@])(@)(?=\w)"),
)
"""What forges turn into links: `#12`, `GH-12`, `.../issues/12`, `!12`, `&12`, `@name`, and `#close` of smart
commits. `fixes #12` in a merged commit closes the issue, and `@name` notifies the person. A space after the
match prevents both.
"""

_REASONS: Final = {
    Kind.LOCKS: (
        "/config pages no longer say what their locks say. Nothing changes on any cluster before this is"
        " merged."
    ),
    Kind.INVENTORY: (
        "The hub's ManagedClusters differ from clusters/. Labels and claims are those that gitops-dsf import"
        " takes."
    ),
}


def commit_message(kind: Kind, change: Change) -> str:
    """Title, reason, and what changes."""
    listed = "\n".join(f"- {line}" for line in _listed(change))
    return f"{title(change)}\n\n{_REASONS[kind]}\n\n{listed}"


def title(change: Change) -> str:
    """The title of the commit and of its pull request."""
    return _without_commands(change.title)


def request_body(kind: Kind, change: Change) -> str:
    """The body in Markdown. Texts from /config pages and clusters stand in a code block, so that they mention
    nobody and link nowhere. A squashed commit repeats them as plain text, so commands are removed from them
    as well.
    """
    listed = "\n".join(_listed(change))
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", listed)), default=0))
    return (
        f"{_REASONS[kind]}\n\n{fence}text\n{listed}\n{fence}\n\nMerge it to accept. Close it"
        " to refuse: the same content is not proposed again. Once it is outdated it is closed by itself,"
        " unless somebody else has pushed to its branch.\n"
    )


def _without_commands(text: str) -> str:
    """The text without commands to CI and forges: it may come from a /config page or a cluster claim."""
    text = _SKIP_CI.sub(lambda found: f"({found[1]})", text)
    for pattern in _REFERENCES:
        text = pattern.sub(r"\1 ", text)
    return text


def _listed(change: Change) -> list[str]:
    lines = [_without_commands(line) for line in change.details[:MOST]]
    rest = len(change.details) - len(lines)
    return [*lines, f"and {rest} more"] if rest else lines
