"""Failures that a worker expects and recovers from.

AgentError
  + FetchError     the metric source
  + ScoreError     the scoring API
  + PublishError   the hub or the publish directory
  + CallError      one HTTP call, before its stage is known

SettingsError is separate: the process cannot start with these flags.
"""

from typing import Literal

from dsf_agent.reasons import Reason

Stage = Literal["fetch", "score", "publish"]


class SettingsError(ValueError):
    """An invalid flag or environment variable. The message says what to write instead."""


class AgentError(Exception):
    """A failure with its reason. ``retry_after`` is the number of seconds that the peer asked us to wait, or
    None.
    """

    def __init__(self, message: str, *, reason: Reason, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.retry_after = retry_after


class CallError(AgentError):
    """An HTTP call gave no usable answer."""


class FetchError(AgentError):
    """The metric source gave no series."""


class ScoreError(AgentError):
    """The scoring API gave no scores."""


class PublishError(AgentError):
    """A call of an API server, or of the publish directory, failed."""
