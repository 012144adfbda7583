"""Exceptions of the scorer SDK."""

from collections.abc import Mapping


class ScorerError(Exception):
    """Base of the SDK's exceptions."""


class DefinitionError(ScorerError):
    """The scorer cannot work as it is written. It is raised on import, never while serving."""


class UsageError(ScorerError):
    """The arguments of a command are invalid."""


class RefusedError(ScorerError):
    """The request is wrong, not the scorer.

    Authors may raise it, too: ``raise RefusedError("arguments.prices is empty")`` answers 422 with
    this text, which the agent logs.
    """

    def __init__(
        self, message: str, *, status: int = 422, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})
