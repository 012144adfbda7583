"""Failures that a worker expects and survives.

AgentError
  + FetchError     the metric source
  + ScoreError     the scoring API
  + PublishError   the hub or the publish directory
  + CallError      one HTTP call, before its stage is known

SettingsError stands apart: the process cannot start with these flags.
"""

from typing import Literal

from dsf_agent.reasons import Reason

Stage = Literal["fetch", "score", "publish"]


class SettingsError(ValueError):
    """A flag or environment variable that cannot be used; the message says what to write instead."""


class AgentError(Exception):
    """A failure with its reason. ``retry_after`` is the number of seconds that the peer asked us to wait, if
    it did.
    """

    def __init__(self, message: str, *, reason: Reason, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.retry_after = retry_after


class CallError(AgentError):
    """One HTTP call gave no usable answer."""


class FetchError(AgentError):
    """The metric source gave no series."""


class ScoreError(AgentError):
    """The scoring API gave no scores."""


class PublishError(AgentError):
    """Scores could not be written or read where they are published."""
