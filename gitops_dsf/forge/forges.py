"""The forges GitHub, Gitea, Forgejo and GitLab, by their REST APIs.

GitHub's is docs.github.com/rest/pulls, version 2022-11-28. That of Gitea and Forgejo
(docs.gitea.com/api) has the shapes of GitHub's, but cannot search for the pull requests of a
branch. GitLab's is docs.gitlab.com/api/merge_requests and /notes, version 4.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import ClassVar, Final
from urllib.parse import quote

import msgspec

from gitops_dsf.forge.address import ForgeKind
from gitops_dsf.forge.forge import Forge
from gitops_dsf.forge.pullrequest import PullRequest
from gitops_dsf.forge.sending import ForgeError

_GITEA_PAGE: Final = "50"
"""Pull requests of a page. Servers limit it to MAX_RESPONSE_ITEMS, which is 50."""
_MAX_GITEA_PAGES: Final = 40
"""Upper limit of the pages of pull requests that are read."""


class _HeadRepository(msgspec.Struct, frozen=True):
    full_name: str


class _Head(msgspec.Struct, frozen=True):
    """The branch that a pull request offers."""

    ref: str
    label: str | None = None
    repo: _HeadRepository | None = None
    """None once the fork is deleted."""


class GitHubPull(PullRequest, frozen=True, kw_only=True):
    """A pull request of GitHub, Gitea or Forgejo."""

    url: str = msgspec.field(name="html_url")
    head: _Head

    def is_from(self, place: str, branch: str) -> bool:
        """Once the branch is deleted, only `label` has its name in Gitea.

        Those of GitHub hold the owner.
        """
        repository = self.head.repo
        if repository is None or repository.full_name.lower() != place.lower():
            return False
        return branch in {self.head.ref, self.head.label}


class _MergeRequest(PullRequest, frozen=True, kw_only=True):
    """A merge request of GitLab."""

    number: int = msgspec.field(name="iid")
    url: str = msgspec.field(name="web_url")
    body: str | None = msgspec.field(name="description", default=None)
    source_branch: str
    source_project_id: int | None
    """Null once the fork is deleted."""
    target_project_id: int

    def is_from(self, place: str, branch: str) -> bool:  # noqa: ARG002
        # The API is asked for one project, so the answers are of that.
        return self.source_branch == branch and self.source_project_id == self.target_project_id


class GitHub(Forge):
    """github.com, or a GitHub Enterprise Server."""

    NAME: ClassVar[str] = "GitHub"
    TO_PROPOSE: ClassVar[str] = "Contents and Pull requests, read and write"
    TO_COMMENT: ClassVar[str] = (
        "Pull requests, read and write (in a workflow: `pull-requests: write`)"
    )
    HOME: ClassVar[str] = "/repos/{place}"
    SHAPE: ClassVar[type[PullRequest]] = GitHubPull
    NEWEST: ClassVar[str] = (
        "state=all&head={owner}:{branch}&base={base}&sort=created&direction=desc&per_page=10"
    )
    # The thread of a pull request is that of the issue of its number.
    THREAD: ClassVar[str] = "issues/{number}/comments"
    COMMENT: ClassVar[str] = "issues/comments/{comment}"
    SIGNED: ClassVar[Mapping[str, str]] = {
        "Accept": "application/vnd.github+json",
        "Authorization": "Bearer {token}",
        "X-GitHub-Api-Version": "2022-11-28",
    }
    BOTS: ClassVar[bool] = True


class Gitea(GitHub):
    """A Gitea or a Forgejo."""

    NAME: ClassVar[str] = "Gitea"
    TO_PROPOSE: ClassVar[str] = (
        "the scope write:repository, and a user who may write to the repository"
    )
    TO_COMMENT: ClassVar[str] = "the scopes write:issue and read:user"
    PAGED: ClassVar[bool] = False
    SIGNED: ClassVar[Mapping[str, str]] = {
        "Accept": "application/json",
        "Authorization": "token {token}",
    }
    BOTS: ClassVar[bool] = False

    async def latest(self, branch: str) -> PullRequest | None:
        path = f"pulls/{quote(self._base, safe='')}/{quote(branch, safe='')}"
        try:
            some = await self._call("GET", path, GitHubPull)
        except ForgeError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            # There is no such pull request or no such repository, which this call distinguishes.
            await self._call("GET", "pulls", list[GitHubPull], query={"limit": "1"})
            return None
        # That is one of them, and not always the newest. Pages begin with the newest.
        query = {"state": "all", "base_branch": self._base, "limit": _GITEA_PAGE}
        for page in range(1, _MAX_GITEA_PAGES + 1):
            query["page"] = str(page)
            pulls = await self._call("GET", "pulls", list[GitHubPull], query=query)
            for pull in pulls:
                if pull.is_from(self._place, branch):
                    return pull
            # The following ones are older than the one that is known.
            if not pulls or pulls[-1].number <= some.number:
                break
        return some


class GitLab(Forge):
    """gitlab.com, or a server of one's own."""

    NAME: ClassVar[str] = "GitLab"
    TO_PROPOSE: ClassVar[str] = "the scope api, and the role Developer"
    TO_COMMENT: ClassVar[str] = "the scope api, and the role Reporter; no job token may write notes"
    HOME: ClassVar[str] = "/projects/{quoted}"
    PULL_REQUESTS: ClassVar[str] = "merge_requests"
    SHAPE: ClassVar[type[PullRequest]] = _MergeRequest
    NEWEST: ClassVar[str] = (
        "state=all&source_branch={branch}&target_branch={base}"
        "&order_by=created_at&sort=desc&per_page=10"
    )
    HEAD: ClassVar[str] = "source_branch"
    BASE: ClassVar[str] = "target_branch"
    BODY: ClassVar[str] = "description"
    CLOSED: ClassVar[tuple[str, str]] = ("state_event", "close")
    THREAD: ClassVar[str] = "merge_requests/{number}/notes"
    COMMENT: ClassVar[str] = "merge_requests/{number}/notes/{comment}"
    EDITS: ClassVar[str] = "PUT"
    SIGNED: ClassVar[Mapping[str, str]] = {"Accept": "application/json", "PRIVATE-TOKEN": "{token}"}


FORGES: Final[dict[ForgeKind, type[Forge]]] = {"GitHub": GitHub, "GitLab": GitLab, "Gitea": Gitea}
