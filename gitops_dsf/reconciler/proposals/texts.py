"""The texts of a proposal: of its commit and its pull request.

They quote /config pages and claims of clusters, which other people control. So these quotes are
kept from being commands to a forge or to CI.
"""

import re
from typing import Final

from gitops_dsf.reconciler.proposals.workload import Change, ProposalKind

MAX_LISTED: Final = 200
"""Changes that a text lists at most. The commit shows all of them."""


_COMMANDS: Final = re.compile(
    r"#(?=\w)|\bGH-(?=[0-9])|/(?:issues|pull|work_items|merge_requests)/(?=[0-9])|(?<![\w!])[!&](?=[0-9])"
    r"|(?<![\w@])@(?=\w)|\[(?=[^\[\]]*\b(?:ci|skip|actions)\b)",
    re.IGNORECASE,
)
"""Commands of CI and forges: `fixes #12` in a merged commit closes the issue, `@name` notifies the
person, and `[skip ci]` skips the checks. A space after the match prevents that.
"""


_REASONS: Final = {
    ProposalKind.LOCKS: (
        "/config pages no longer say what their locks say. Nothing changes on any cluster before"
        " this is merged."
    ),
    ProposalKind.INVENTORY: (
        "The hub's ManagedClusters differ from clusters/. Labels and claims are those that"
        " gitops-dsf import takes."
    ),
}


def commit_message(kind: ProposalKind, change: Change) -> str:
    listed = "\n".join(f"- {line}" for line in _listed(change))
    return f"{title(change)}\n\n{_REASONS[kind]}\n\n{listed}"


def title(change: Change) -> str:
    return _without_commands(change.title)


def request_body(kind: ProposalKind, change: Change) -> str:
    """The body in Markdown.

    Texts from /config pages and clusters are in a code block, so that they notify nobody and link
    nowhere. A squashed commit repeats them as plain text, so commands are removed from them as
    well.
    """
    listed = "\n".join(_listed(change))
    # A fence ends at the first run of backticks that is as long, so this one is longer than all.
    longest = max(map(len, re.findall("`+", listed)), default=0)
    fence = "`" * max(3, longest + 1)
    return (
        f"{_REASONS[kind]}\n\n{fence}text\n{listed}\n{fence}\n\nMerge it to accept. Close it"
        " to refuse: the same content is not proposed again. When it is outdated it is closed"
        " automatically, unless somebody else has pushed to its branch.\n"
    )


def _without_commands(text: str) -> str:
    """The text without commands to CI and forges.

    It may come from a /config page or a claim of a cluster.
    """
    return _COMMANDS.sub(r"\g<0> ", text)


def _listed(change: Change) -> list[str]:
    lines = [_without_commands(line) for line in change.details[:MAX_LISTED]]
    rest = len(change.details) - len(lines)
    return [*lines, f"and {rest} more"] if rest else lines
