"""Requests to a forge: the function that sends them, and their errors."""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import NamedTuple, Protocol

from gitops_dsf.errors import GitopsDsfError

Sign = Callable[[str], Mapping[str, str]]
"""The headers of a request with this token."""


class ForgeError(GitopsDsfError):
    """The forge did not do what was asked. The message holds no secret."""

    def __init__(self, message: str, *, status: int = 0, wait: float = 0.0) -> None:
        super().__init__(message)
        self.status = status
        """The status of the answer; 0 if there was none."""
        self.wait = wait
        """Seconds that the forge asks to wait; 0 when the usual pause is enough."""

    @property
    def refused(self) -> bool:
        """Whether the token may not do it. A forge does not say that a hidden repository exists."""
        refusals = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND}
        return not self.wait and self.status in refusals

    @property
    def is_temporary(self) -> bool:
        """Whether the same request may be answered later.

        There was no answer, the forge has trouble, or it limits requests.
        """
        if self.wait > 0 or self.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return True
        return self.status in {0, HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS}


class ForgeAnswer(NamedTuple):
    """The answer of a forge. It is untrusted."""

    status: int
    content: bytes
    """The content, without the token if the status is an error."""
    wait: float = 0.0
    """Seconds that the forge asks to wait."""


class Send(Protocol):
    """The way a program sends requests: with its token, certificates and limits.

    It limits the size and the time of an answer, and follows no redirects.
    """

    async def __call__(
        self, method: str, url: str, *, sign: Sign, body: bytes | None
    ) -> ForgeAnswer:
        """Raises ForgeError if there is no answer."""
