"""GitHub, by its REST API (docs.github.com/rest/pulls), version 2022-11-28; Gitea and Forgejo by theirs
(docs.gitea.com/api), which has the shapes of GitHub's, but cannot search for the pull requests of a branch;
GitLab, by its REST API (docs.gitlab.com/api/merge_requests and /notes), version 4.
"""

from collections.abc import Mapping
from datetime import datetime
from http import HTTPStatus
from typing import ClassVar, Final, Literal
from urllib.parse import quote

import msgspec

from gitops_dsf.forge.address import Kind
from gitops_dsf.forge.forge import Forge, ForgeError, Request, User


class _Repository(msgspec.Struct, frozen=True):
    full_name: str


class _Side(msgspec.Struct, frozen=True):
    ref: str
    label: str | None = None
    repo: _Repository | None = None


class Pull(msgspec.Struct, frozen=True, kw_only=True):
    """A pull request, of Gitea too."""

    number: int
    state: Literal["open", "closed"]
    html_url: str
    head: _Side
    body: str | None = None
    merged_at: datetime | None = None

    @property
    def request(self) -> Request:
        """What all forges know of it."""
        return Request(
            number=self.number,
            url=self.html_url,
            is_open=self.state == "open",
            merged=self.merged_at is not None,
            body=self.body or "",
        )

    def is_from(self, place: str) -> bool:
        """Whether its branch is in this repository. A fork may have a branch of the same name."""
        return self.head.repo is not None and self.head.repo.full_name.lower() == place.lower()


class GitHub(Forge):
    """Pull requests on GitHub."""

    NAME: ClassVar[str] = "GitHub"
    TO_PROPOSE: ClassVar[str] = "Contents and Pull requests, read and write"
    TO_COMMENT: ClassVar[str] = "Pull requests, read and write (in a workflow: `pull-requests: write`)"
    HOME: ClassVar[str] = "/repos/{place}"
    THREAD: ClassVar[str] = "issues/{number}/comments"
    COMMENT: ClassVar[str] = "issues/comments/{comment}"

    async def latest(self, branch: str) -> Request | None:
        """The newest pull request from a branch of this repository, open or not."""
        query = {
            "state": "all",
            "head": f"{self._place.partition('/')[0]}:{branch}",
            "base": self._base,
            "sort": "created",
            "direction": "desc",
            "per_page": "10",
        }
        found = await self._call("GET", "pulls", list[Pull], query=query)
        # Do not rely on the filter.
        own = (each for each in found if each.head.ref == branch and each.is_from(self._place))
        return next((each.request for each in own), None)

    async def _open(self, *, branch: str, title: str, body: str) -> Request:
        asked = {"title": title, "head": branch, "base": self._base, "body": body}
        return (await self._call("POST", "pulls", Pull, body=asked)).request

    async def _close(self, number: int, *, body: str) -> None:
        await self._call("PATCH", f"pulls/{number}", body={"state": "closed", "body": body})

    async def _me(self) -> User:
        try:
            return await super()._me()
        except ForgeError as error:
            if error.refused:
                # The token of a workflow may not ask who it is: it belongs to a bot.
                return User(type="Bot")
            raise

    def _sign(self, token: str) -> Mapping[str, str]:
        return {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {token}",
            "X-GitHub-Api-Version": "2022-11-28",
        }


_PULLS: Final = "50"
"""Pull requests of a page. Servers limit it to MAX_RESPONSE_ITEMS, which is 50."""
_PAGES: Final = 40


class Gitea(GitHub):
    """Pull requests on Gitea or Forgejo."""

    NAME: ClassVar[str] = "Gitea"
    TO_PROPOSE: ClassVar[str] = "the scope write:repository, and a user who may write to the repository"
    TO_COMMENT: ClassVar[str] = "the scopes write:issue and read:user"
    PAGED: ClassVar[bool] = False

    async def latest(self, branch: str) -> Request | None:
        """The newest pull request from a branch of this repository, open or not."""
        path = f"pulls/{quote(self._base, safe='')}/{quote(branch, safe='')}"
        try:
            some = await self._call("GET", path, Pull)
        except ForgeError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            # There is no such pull request, or no such repository, which this call tells.
            await self._call("GET", "pulls", list[Pull], query={"limit": "1"})
            return None
        # That is one of them, and not always the newest. Pages begin with the newest.
        for page in range(1, _PAGES + 1):
            query = {"state": "all", "base_branch": self._base, "limit": _PULLS, "page": str(page)}
            found = await self._call("GET", "pulls", list[Pull], query=query)
            for each in found:
                # Once the branch is deleted, only `label` has its name.
                if each.head.label == branch and each.is_from(self._place):
                    return each.request
            if not found or found[-1].number <= some.number:
                break
        return some.request

    async def _me(self) -> User:
        # The token of a workflow may ask who it is.
        return await super(GitHub, self)._me()

    def _sign(self, token: str) -> Mapping[str, str]:
        return {"Accept": "application/json", "Authorization": f"token {token}"}


class _MergeRequest(msgspec.Struct, frozen=True, kw_only=True):
    iid: int
    state: Literal["opened", "closed", "locked", "merged"]
    web_url: str
    source_branch: str
    source_project_id: int | None
    """Null once the fork is deleted."""
    target_project_id: int
    description: str | None = None

    @property
    def request(self) -> Request:
        return Request(
            number=self.iid,
            url=self.web_url,
            # It is locked while it is being merged.
            is_open=self.state in {"opened", "locked"},
            merged=self.state == "merged",
            body=self.description or "",
        )


class GitLab(Forge):
    """Merge requests on GitLab."""

    NAME: ClassVar[str] = "GitLab"
    TO_PROPOSE: ClassVar[str] = "the scope api, and the role Developer"
    TO_COMMENT: ClassVar[str] = "the scope api, and the role Reporter; no job token may write notes"
    HOME: ClassVar[str] = "/projects/{quoted}"
    THREAD: ClassVar[str] = "merge_requests/{number}/notes"
    COMMENT: ClassVar[str] = "merge_requests/{number}/notes/{comment}"
    EDITS: ClassVar[str] = "PUT"

    async def latest(self, branch: str) -> Request | None:
        """The newest merge request from a branch of this project, open or not."""
        query = {
            "state": "all",
            "source_branch": branch,
            "target_branch": self._base,
            "order_by": "created_at",
            "sort": "desc",
            "per_page": "10",
        }
        found = await self._call("GET", "merge_requests", list[_MergeRequest], query=query)
        # A fork may have a branch of the same name.
        own = (
            each
            for each in found
            if each.source_branch == branch and each.source_project_id == each.target_project_id
        )
        return next((each.request for each in own), None)

    async def _open(self, *, branch: str, title: str, body: str) -> Request:
        asked = {"source_branch": branch, "target_branch": self._base, "title": title, "description": body}
        return (await self._call("POST", "merge_requests", _MergeRequest, body=asked)).request

    async def _close(self, number: int, *, body: str) -> None:
        asked = {"state_event": "close", "description": body}
        await self._call("PUT", f"merge_requests/{number}", body=asked)

    def _sign(self, token: str) -> Mapping[str, str]:
        return {"Accept": "application/json", "PRIVATE-TOKEN": token}


FORGES: Final[dict[Kind, type[Forge]]] = {"GitHub": GitHub, "GitLab": GitLab, "Gitea": Gitea}
