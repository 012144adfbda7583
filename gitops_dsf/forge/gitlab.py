"""GitLab, by its REST API (docs.gitlab.com/api/merge_requests and /notes), version 4."""

from collections.abc import Mapping
from typing import ClassVar, Literal
from urllib.parse import quote

import msgspec

from gitops_dsf.forge.forge import Forge, Request


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
        asked = {
            "source_branch": branch,
            "target_branch": self._base,
            "title": title,
            "description": body,
        }
        return (await self._call("POST", "merge_requests", _MergeRequest, body=asked)).request

    async def _close(self, number: int, *, body: str) -> None:
        asked = {"state_event": "close", "description": body}
        await self._call("PUT", f"merge_requests/{number}", body=asked)

    def _thread(self, number: int) -> str:
        return f"merge_requests/{number}/notes"

    def _comment_path(self, number: int, comment: int) -> str:
        return f"{self._thread(number)}/{comment}"

    def _sign(self, token: str) -> Mapping[str, str]:
        return {"Accept": "application/json", "PRIVATE-TOKEN": token}

    @property
    def _home(self) -> str:
        return f"{self._api}/projects/{quote(self._place, safe='')}"
