"""Exceptions of the scorer SDK.

DefinitionError: a scorer cannot work as it is written. It is raised on import, never while serving.
RefusedError: a request is answered with a 4xx or 503 and a reason. UsageError: the command line is wrong.
ScorerError is the base of all.
"""

from collections.abc import Mapping


class ScorerError(Exception):
    """Base of the SDK's exceptions."""


class DefinitionError(ScorerError):
    """The scorer cannot work as it is written."""


class UsageError(ScorerError):
    """The arguments of a command are invalid."""


class RefusedError(ScorerError):
    """The request is wrong, not the scorer. Authors may raise it, too: ``raise RefusedError("arguments.prices
    is empty")`` answers 422 with this text, which the agent logs.
    """

    def __init__(self, message: str, *, status: int = 422, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})
