"""Gitea and Forgejo, by their REST API (docs.gitea.com/api). It has the shapes of GitHub's, but cannot search
for the pull requests of a branch.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import ClassVar, Final
from urllib.parse import quote

from gitops_dsf.forge.forge import ForgeError, Request, User
from gitops_dsf.forge.github import GitHub, Pull

_PULLS: Final = "50"
"""Pull requests of a page. Servers limit it to MAX_RESPONSE_ITEMS, which is 50."""
_PAGES: Final = 40
"""Of pull requests that are read at most."""


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
