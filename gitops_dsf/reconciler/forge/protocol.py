"""What proposals need of a forge, and the errors it raises."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from gitops_dsf.errors import GitopsDsfError

CLOSED_BY_US: Final = "<!-- gitops-dsf: closed by the reconciler -->"
"""Marks a request that the reconciler closed itself. A request without it was closed by people, which means
that they refused it.
"""


class RequestState(StrEnum):
    """State of a pull request."""

    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"
    """Closed without being merged."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """A pull request (a merge request, on some forges) from a branch of the fleet repository itself."""

    number: int
    branch: str
    state: RequestState
    body: str
    url: str
    """For people."""

    @property
    def refused(self) -> bool:
        """Whether people closed it."""
        return self.state is RequestState.CLOSED and CLOSED_BY_US not in self.body


class ForgeCause(StrEnum):
    """What a caller decides by."""

    DENIED = "Denied"
    """The token is missing, wrong, or has no right to do it."""
    LIMITED = "Limited"
    """Too many requests. `ForgeError.wait` says how long to wait."""
    UNREACHABLE = "Unreachable"
    """The forge cannot be reached, or fails."""
    REFUSED = "Refused"
    """The forge refuses this request from everybody."""


class ForgeError(GitopsDsfError):
    """The forge did not do what was asked. The message holds no secret."""

    def __init__(self, cause: ForgeCause, message: str, *, wait: float = 0.0) -> None:
        super().__init__(message)
        self.cause = cause
        self.wait = wait
        """Seconds to wait before the next request; 0 when the usual pause is enough."""


class Forge(Protocol):
    """Pull requests into the protected branch. Every method raises ForgeError."""

    async def opened(self) -> list[Request]:
        """Every open request from a branch of this repository, whoever opened it."""

    async def latest(self, branch: str) -> Request | None:
        """The newest request from a branch, open or not."""

    async def open(self, *, branch: str, title: str, body: str) -> Request:
        """Opens a request, or returns the open request from this branch."""

    async def close(self, request: Request, *, why: str) -> None:
        """Closes it without merging, marks it with CLOSED_BY_US, and adds a comment."""
