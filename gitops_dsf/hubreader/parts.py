"""The parts of a hub that could be read, and those that could not."""

from gitops_dsf.hub.unread import Unread
from gitops_dsf.hubreader.hub import T
from gitops_dsf.views.status.inputs import HubPart


class PartReader:
    """Takes what was read of each part, and remembers which parts could not be read."""

    def __init__(self) -> None:
        self.unread: dict[HubPart, Unread] = {}

    def take(self, part: HubPart, content: tuple[T, ...] | Unread) -> tuple[T, ...]:
        """The objects of a part; none if it could not be read."""
        if isinstance(content, Unread):
            self.unread[part] = content
            return ()
        return content
