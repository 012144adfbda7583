"""What could not be read of a hub, and why: a view with a hole in it is still a view, if the hole
is named.
"""

from dataclasses import dataclass
from enum import StrEnum


class Why(StrEnum):
    """Why something is not known."""

    FORBIDDEN = "Forbidden"
    NOT_INSTALLED = "NotInstalled"
    FAILED = "Failed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Unread:
    """One part of a hub that is not known."""

    what: str
    """Resource, group and namespace, such as `applicationsets.argoproj.io in namespace argocd`."""
    why: Why
    verb: str = "list"
    """The verb that was tried."""
    detail: str = ""
    """What the server said, where it is neither a missing right nor a missing kind."""

    def __str__(self) -> str:
        if self.why is Why.FORBIDDEN:
            return f"needs the right to {self.verb} {self.what}"
        if self.why is Why.NOT_INSTALLED:
            return f"the hub does not serve {self.what}"
        return f"{self.verb} {self.what}: {self.detail}"
