"""The failures that a worker recovers from, with their reasons.

A reason is a label of metrics and a word on /readyz, so there are few of them. Other exceptions are
bugs of the agent. SettingsError is for the start alone.
"""

from typing import Final

from dsf_runtime.calls import FailureKind
from dsf_wire.scored import Reason, ScoredReason, Stage, scored_reason

_KINDS: Final = {FailureKind.UNKNOWN_HOST: Reason.UNREACHABLE, FailureKind.CERTIFICATE: Reason.TLS}
"""Other kinds have reasons with the same name."""
_STATUSES: Final = {
    401: Reason.UNAUTHORIZED,
    403: Reason.FORBIDDEN,
    404: Reason.NOT_FOUND,
    409: Reason.CONFLICT,
    413: Reason.TOO_LARGE,
    429: Reason.THROTTLED,
}


def kind_reason(kind: FailureKind) -> Reason:
    """The reason for a call without an answer."""
    return _KINDS.get(kind) or Reason(kind.value)


def status_reason(status: int) -> Reason:
    """The reason for a status that is not 2xx."""
    # Redirects are not followed: the peer could send our credentials to any host.
    if 300 <= status < 400:
        return Reason.REDIRECTED
    return Reason.SERVER_ERROR if status >= 500 else _STATUSES.get(status, Reason.HTTP_ERROR)


class SettingsError(ValueError):
    """An invalid flag or environment variable. The message says what to write instead."""


class AgentError(Exception):
    """A failure with its reason and stage.

    ``retry_after``: seconds that the peer asked us to wait.
    """

    def __init__(
        self,
        message: str,
        *,
        reason: Reason,
        retry_after: float | None = None,
        stage: Stage = "score",
        scored: ScoredReason | None = None,
    ) -> None:
        """Takes the text and the reason.

        ``scored`` is for failures whose reason and stage alone are ambiguous.
        """
        super().__init__(message)
        self.reason = reason
        self._scored = scored
        self.retry_after = retry_after
        self.stage = stage

    @property
    def scored(self) -> ScoredReason:
        """The reason of the condition `Scored` on the hub."""
        return self._scored or scored_reason(self.reason, stage=self.stage)

    def without_traceback(self, message: str = "", *, stage: Stage | None = None) -> "AgentError":
        """The same failure without its traceback.

        The traceback would keep all that its functions had in memory, such as answers. Raise none
        that a variable of the same function holds: it would hold the function.
        """
        return AgentError(
            message or str(self),
            reason=self.reason,
            retry_after=self.retry_after,
            stage=stage or self.stage,
            scored=self._scored,
        )
