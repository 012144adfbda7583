"""Errors of the git program, and their causes by its messages."""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from dsf_wire.text import printable
from gitops_dsf.errors import GitopsDsfError

MAX_SUMMARY: Final = 400
"""Characters of git's messages in an error."""


class Cause(StrEnum):
    """What a caller decides by."""

    DENIED = "Denied"
    """The credentials are missing, wrong, or have no right to do it."""
    UNREACHABLE = "Unreachable"
    """The server cannot be reached, or fails."""
    TIMED_OUT = "TimedOut"
    REJECTED = "Rejected"
    """The branch is not where it was expected, or the server's rules refuse the commit."""
    MISSING = "Missing"
    """No such repository, branch or commit."""
    FAILED = "Failed"
    """Anything else."""


class GitError(GitopsDsfError):
    """A git command failed. The message holds no secret."""

    def __init__(self, cause: Cause, message: str) -> None:
        super().__init__(message)
        self.cause = cause


_WORDS: Final[Mapping[Cause, Sequence[str]]] = {
    Cause.REJECTED: (
        r"\[rejected\]",
        r"\[remote rejected\]",
        "stale info",
        "non-fast-forward",
        "fetch first",
        "cannot lock ref",
    ),
    Cause.DENIED: (
        "authentication failed",
        "could not read (username|password)",
        "terminal prompts disabled",
        "permission denied",
        "access denied",
        r"returned error: 40[13]\b",
        "host key verification failed",
        "no .* host key is known",
    ),
    Cause.UNREACHABLE: (
        "could not resolve host",
        "failed to connect",
        "couldn.t connect",
        "connection (refused|reset|timed out|closed)",
        "network is unreachable",
        "operation (timed out|too slow)",
        r"returned error: (5\d\d|429)\b",
        "ssl (certificate|connect)",
        "early eof",
        "hung up unexpectedly",
        "empty reply",
        "rpc failed",
        "unexpected disconnect",
    ),
    Cause.MISSING: (
        "repository .* not found",
        "does not appear to be a git repository",
        "couldn.t find remote ref",
        r"returned error: 404\b",
        "does not exist",
    ),
}
"""Messages of git 2.39 with LC_ALL=C, of curl and of OpenSSH. The first cause that matches wins."""
_PATTERNS: Final = {cause: re.compile("|".join(words), re.IGNORECASE) for cause, words in _WORDS.items()}


def cause_of(output: str) -> Cause:
    """The cause by standard error or the report of a push."""
    return next((cause for cause, pattern in _PATTERNS.items() if pattern.search(output)), Cause.FAILED)


def summary(output: str) -> str:
    """Git's messages in one line, without hints and decorations."""
    lines = [line.strip() for line in output.splitlines()]
    kept = [
        re.sub(r"^(fatal|error|remote): *", "", line)
        for line in lines
        if line and not line.startswith(("hint:", "To ", "Done"))
    ]
    text = "; ".join(line for line in kept if line)
    return printable(text, most=MAX_SUMMARY)
