"""Pull requests, comments and users: the fields that the answers of all forges have."""

from datetime import datetime
from typing import Final, Literal

import msgspec

CLOSED_BY_US: Final = "<!-- gitops-dsf: closed by the reconciler -->"
"""Marks pull requests that the reconciler closed itself.

Others were closed, and so refused, by people. The mark is in the text of the pull request, because
a new leader knows nothing of what an earlier one did.
"""


class PullRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A pull request, or merge request."""

    number: int
    url: str
    state: Literal["open", "opened", "locked", "closed", "merged"]
    """GitLab locks it while it is being merged."""
    body: str | None = None
    merged_at: datetime | None = None

    @property
    def is_open(self) -> bool:
        """Whether it can still be merged."""
        return self.state in {"open", "opened", "locked"}

    @property
    def merged(self) -> bool:
        """Whether it was merged. GitHub and Gitea call a merged one closed as well."""
        return self.state == "merged" or self.merged_at is not None

    @property
    def refused(self) -> bool:
        """Whether people closed it without merging it."""
        return not self.is_open and not self.merged and CLOSED_BY_US not in (self.body or "")

    def is_from(self, place: str, branch: str) -> bool:
        """Whether it offers this branch of this repository.

        A fork may have a branch of the same name.
        """
        raise NotImplementedError  # each forge's struct says it: structs have no abstract methods


class ForgeUser(msgspec.Struct, frozen=True):
    """The author of a comment or a pull request, as far as forges name it."""

    id: int = 0
    type: str = ""


class ForgeComment(msgspec.Struct, frozen=True):
    """A comment of a pull request. GitLab calls its writer author."""

    id: int
    body: str | None = None
    user: ForgeUser | None = None
    author: ForgeUser | None = None

    @property
    def writer(self) -> ForgeUser | None:
        """The author."""
        return self.user or self.author
