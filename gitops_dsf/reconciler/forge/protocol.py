"""What proposals need of a forge, and what can go wrong there."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from gitops_dsf.errors import GitopsDsfError

CLOSED_BY_US: Final = "<!-- gitops-dsf: closed by the reconciler -->"
"""In the text of a request that the reconciler closed itself. One that people closed has none: it was
refused.
"""


class RequestState(StrEnum):
    """Of a pull request."""

    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"
    """Not merged."""


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
    """Too many requests; `ForgeError.wait` says how long to stay away."""
    AWAY = "Away"
    """The forge cannot be reached, or fails."""
    REFUSED = "Refused"
    """It does not do this, whoever asks."""


class ForgeError(GitopsDsfError):
    """The forge did not do what was asked. The message holds no secret."""

    def __init__(self, cause: ForgeCause, message: str, *, wait: float = 0.0) -> None:
        super().__init__(message)
        self.cause = cause
        self.wait = wait
        """Seconds before the forge may be asked again; 0: no more than after any fault."""


class Forge(Protocol):
    """Requests into the protected branch. Every method raises ForgeError."""

    async def opened(self) -> list[Request]:
        """Every open one from a branch of this repository, whoever opened it."""

    async def latest(self, branch: str) -> Request | None:
        """The newest one from a branch, open or not."""

    async def open(self, *, branch: str, title: str, body: str) -> Request:
        """A new one; the open one from this branch where there is one already."""

    async def close(self, request: Request, *, why: str) -> None:
        """Closes it without merging: marked as closed by us, with a comment for people."""
