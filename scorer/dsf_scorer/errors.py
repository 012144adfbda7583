"""Exceptions of the scorer SDK.

* ScorerError
  x DefinitionError   the scorer cannot work as its author wrote it; raised on import, never while serving
  x RefusedError      a request is answered with a 4xx or 503 and a reason
"""

from collections.abc import Mapping


class ScorerError(Exception):
    """Base of the SDK's exceptions."""


class DefinitionError(ScorerError):
    """The scorer cannot work as its author wrote it."""


class RefusedError(ScorerError):
    """The request is at fault, not the scorer.

    Authors may raise it too: ``raise RefusedError("arguments.prices is empty")`` answers 422 with that text,
    which the agent logs.
    """

    def __init__(self, message: str, *, status: int = 422, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})
