"""The common part of all forges: one pull request for a branch, and one comment that is edited.

The subclasses in `forges` have the paths and the shapes of each API. Answers are untrusted: they
are decoded into typed values, and a wrong shape is an error.

Guaranteed: where a forge refuses a second pull request for a branch, `open` returns the one that is
open. `comment` edits only a comment of the token's own user; for the token of a GitHub workflow,
which may not ask who it is, that is any bot.

Not guaranteed: that a request which failed had no effect. Callers look what is there. Nor that the
own comment is found among thousands, because the number of pages is limited; then another one is
added.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, ClassVar, Final, TypeVar
from urllib.parse import parse_qsl, quote, urlencode

import msgspec

from dsf_wire.text import printable
from gitops_dsf.forge.pullrequest import CLOSED_BY_US, ForgeComment, ForgeUser, PullRequest
from gitops_dsf.forge.sending import ForgeError, Send

MAX_BODY: Final = 60_000
"""Characters at most in the text of a pull request. GitHub accepts 65,536."""
MAX_QUOTED: Final = 300
"""Characters of an error answer that a message repeats at most."""
PAGE: Final = 100
"""Comments of a page: the most that GitHub and GitLab give at once."""
_MAX_PAGES: Final = 100
"""Upper limit of the pages of comments that are read."""

T = TypeVar("T")


class Forge:
    """Pull requests into one branch, asked one at a time, as GitHub wants of programs.

    Methods raise ForgeError. Nothing is tried again here.
    """

    NAME: ClassVar[str]
    TO_PROPOSE: ClassVar[str]
    """The right that a token needs for pull requests."""
    TO_COMMENT: ClassVar[str]
    """The right that a token needs for comments."""
    HOME: ClassVar[str]
    """Path of the repository, with its place as it is or quoted."""
    PULL_REQUESTS: ClassVar[str] = "pulls"
    """Path of its pull requests, below the repository."""
    SHAPE: ClassVar[type[PullRequest]]
    """The type of its pull requests."""
    NEWEST: ClassVar[str]
    """Query for the newest pull requests of a branch of this repository."""
    HEAD: ClassVar[str] = "head"
    """Field with the branch that is offered. The next ones are fields of a pull request, too."""
    BASE: ClassVar[str] = "base"
    BODY: ClassVar[str] = "body"
    CLOSED: ClassVar[tuple[str, str]] = ("state", "closed")
    """The field that closes a pull request, and its value."""
    THREAD: ClassVar[str]
    """Path of the comments of a pull request, below the repository."""
    COMMENT: ClassVar[str]
    """Path of one of them."""
    EDITS: ClassVar[str] = "PATCH"
    """The method that changes something."""
    PAGED: ClassVar[bool] = True
    """Whether comments come in pages."""
    SIGNED: ClassVar[Mapping[str, str]]
    """The headers of a request."""
    BOTS: ClassVar[bool] = False
    """Whether the token of a workflow belongs to a bot, and may not ask who it is."""

    def __init__(self, *, api: str, place: str, send: Send, base: str = "") -> None:
        """`place` is owner/name of the repository, `base` the branch that changes are for."""
        self._api = api
        self._place = place
        self._base = base
        self._send = send
        self._home = api + self.HOME.format(place=place, quoted=quote(place, safe=""))

    async def latest(self, branch: str) -> PullRequest | None:
        """The newest pull request from a branch of this repository, open or not."""
        owner = self._place.partition("/")[0]
        names = {"owner": owner, "branch": branch, "base": self._base}
        query = {field: value.format(**names) for field, value in parse_qsl(self.NEWEST)}
        newest: list[PullRequest] = await self._call(
            "GET",
            self.PULL_REQUESTS,
            list[self.SHAPE],  # type: ignore[name-defined]
            query=query,
        )
        for pull_request in newest:
            # A server that ignores a parameter it does not know answers with the pull requests of
            # all branches, and a fork may have a branch of this name.
            if pull_request.is_from(self._place, branch):
                return pull_request
        return None

    async def open(self, *, branch: str, title: str, body: str) -> PullRequest:
        """Opens a pull request, or returns the one that was opened meanwhile."""
        text = body if len(body) <= MAX_BODY else f"{body[:MAX_BODY]}\n\n(cut off)"
        content = {self.HEAD: branch, self.BASE: self._base, "title": title, self.BODY: text}
        try:
            return await self._call("POST", self.PULL_REQUESTS, self.SHAPE, body=content)
        except ForgeError as error:
            # GitLab and Gitea answer 409 where one is open for the branch, GitHub 422. GitHub says
            # 422 of other mistakes, too, so only an open pull request counts as success.
            if error.status not in {HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY}:
                raise
            latest = await self.latest(branch)
            if latest is None or not latest.is_open:
                raise
            return latest

    async def close(self, pull_request: PullRequest, *, why: str) -> None:
        """Says why and closes it in one step: a crash in between would look like a refusal."""
        field, closed = self.CLOSED
        text = f"{(pull_request.body or '')[:MAX_BODY]}\n\n{why}\n{CLOSED_BY_US}"
        path = f"{self.PULL_REQUESTS}/{pull_request.number}"
        await self._call(self.EDITS, path, body={field: closed, self.BODY: text})

    async def comment(self, number: int, text: str, *, marker: str) -> str:
        """Writes the comment that begins with the marker, and returns `edited` or `added`.

        It edits its own comment, and never one of another user: any commenter can write the marker.
        """
        own = await self._own_comment(number, marker)
        if own is not None:
            path = self.COMMENT.format(number=number, comment=own.id)
            await self._call(self.EDITS, path, body={"body": text}, needs=self.TO_COMMENT)
            return "edited"
        thread = self.THREAD.format(number=number)
        await self._call("POST", thread, body={"body": text}, needs=self.TO_COMMENT)
        return "added"

    async def _own_comment(self, number: int, marker: str) -> ForgeComment | None:
        """The comment of the token's user that begins with the marker."""
        thread = self.THREAD.format(number=number)
        me: ForgeUser | None = None
        pages = _MAX_PAGES if self.PAGED else 1
        for page in range(1, pages + 1):
            query: dict[str, str] = {}
            if self.PAGED:
                query = {"per_page": str(PAGE), "page": str(page), "sort": "asc"}
            comments = await self._call(
                "GET", thread, list[ForgeComment], query=query, needs=self.TO_COMMENT
            )
            for comment in comments:
                if comment.writer is None or not (comment.body or "").startswith(marker):
                    continue
                # The token's user is asked for only now: most pull requests have no such comment,
                # and each request counts against the forge's limit.
                me = me or await self._me()
                if _is_same_user(comment.writer, me):
                    return comment
            # GitHub and GitLab fill every page but the last.
            if len(comments) < PAGE:
                break
        return None

    async def _me(self) -> ForgeUser:
        """The user of the token."""
        try:
            return await self._call("GET", "/user", ForgeUser, needs=self.TO_COMMENT)
        except ForgeError as error:
            # GitHub answers 403 to the token of a workflow ("Resource not accessible by
            # integration"), and its comments are written by a user of the type Bot.
            if self.BOTS and error.refused:
                return ForgeUser(type="Bot")
            raise

    def _sign(self, token: str) -> Mapping[str, str]:
        return {name: value.format(token=token) for name, value in self.SIGNED.items()}

    async def _call(
        self,
        method: str,
        path: str,
        kind: type[T] = object,  # type: ignore[assignment]
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        needs: str = "",
    ) -> T:
        """Sends a request, and decodes its answer as this type.

        `path` is below the repository, or with a slash below the API. `needs` is what the token
        needs.
        """
        call = f"{method} {self._place} {path}"
        # The user of a token is not below a repository.
        url = f"{self._api}{path}" if path.startswith("/") else f"{self._home}/{path}"
        if query:
            url = f"{url}?{urlencode(query)}"
        content = None if body is None else msgspec.json.encode(body)
        try:
            answer = await self._send(method, url, sign=self._sign, body=content)
        except ForgeError as error:
            raise ForgeError(f"{call}: {error}") from error
        if not HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES:
            quoted = printable(
                answer.content.decode(errors="replace").strip(), max_characters=MAX_QUOTED
            )
            # At a limit the token is not to blame.
            hint = "" if answer.wait else _hint(answer.status, needs or self.TO_PROPOSE)
            raise ForgeError(
                f"{call}: {answer.status} {quoted}{hint}", status=answer.status, wait=answer.wait
            )
        try:
            return msgspec.json.decode(answer.content, type=kind)
        except (msgspec.DecodeError, RecursionError) as error:
            raise ForgeError(
                f"{call}: the answer is not what {self.NAME} documents: {error}"
            ) from error


def _is_same_user(writer: ForgeUser, me: ForgeUser) -> bool:
    # The bot of a workflow has no id here: then only what kind of user it is counts.
    if me.id:
        return writer.id == me.id
    return writer.type == me.type


def _hint(status: int, needs: str) -> str:
    """The hint about a refusal, which is written behind it."""
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return f"; the token needs: {needs}"
    if status == HTTPStatus.NOT_FOUND:
        return "; there is no such repository, or the token may not see it"
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        return "; the repository has moved: write its new address as git.url"
    return ""
