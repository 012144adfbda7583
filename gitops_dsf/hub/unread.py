"""A part of a hub that could not be read, and the reason."""

from dataclasses import dataclass
from enum import StrEnum


class Why(StrEnum):
    """The reason why a part could not be read."""

    FORBIDDEN = "Forbidden"
    NOT_INSTALLED = "NotInstalled"
    FAILED = "Failed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Unread:
    """A part of a hub that could not be read."""

    what: str
    """Resource, group and namespace, such as `applicationsets.argoproj.io in namespace argocd`."""
    why: Why
    verb: str = "list"
    detail: str = ""
    """The server's message, unless a permission or the kind is missing."""
    refused: bool = False
    """The hub has it, and did not give it: a right is missing, or the request failed."""

    def __str__(self) -> str:
        if self.why is Why.FORBIDDEN:
            return f"needs the right to {self.verb} {self.what}"
        if self.why is Why.NOT_INSTALLED:
            return f"the hub does not serve {self.what}"
        return f"{self.verb} {self.what}: {self.detail}"
