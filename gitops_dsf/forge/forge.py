"""What all forges have in common: one pull request for a branch, and one comment that is edited.

Answers are untrusted: senders limit their size and time, and follow no redirects.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from http import HTTPStatus
from typing import Any, ClassVar, Final, Literal, NamedTuple, Protocol, TypeVar
from urllib.parse import parse_qsl, quote, urlencode

import msgspec

from dsf_wire.text import printable
from gitops_dsf.errors import GitopsDsfError

T = TypeVar("T")

MAX_BODY: Final = 60_000
"""Characters at most in the text of a request. GitHub accepts 65,536."""
MAX_QUOTED: Final = 300
"""Characters of an error answer that a message repeats at most."""
PAGE: Final = 100
_PAGES: Final = 100
"""Of comments that are read at most."""

CLOSED_BY_US: Final = "<!-- gitops-dsf: closed by the reconciler -->"
"""Marks requests that the reconciler closed itself. Others were closed, and so refused, by people.
"""

Sign = Callable[[str], Mapping[str, str]]
"""The headers of a request with this token."""


class ForgeError(GitopsDsfError):
    """The forge did not do what was asked. The message holds no secret."""

    def __init__(self, message: str, *, status: int = 0, wait: float = 0.0) -> None:
        super().__init__(message)
        self.status = status
        """Of the answer; 0 if there was none."""
        self.wait = wait
        """Seconds that the forge asks to wait; 0 when the usual pause is enough."""

    @property
    def refused(self) -> bool:
        """Whether the token may not do it."""
        refusals = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND}
        return not self.wait and self.status in refusals

    @property
    def is_temporary(self) -> bool:
        """Whether the same request may be answered later.

        There was no answer, the forge has trouble, or it limits requests.
        """
        retried = {0, HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS}
        return (
            self.wait > 0
            or self.status in retried
            or self.status >= HTTPStatus.INTERNAL_SERVER_ERROR
        )


class ForgeAnswer(NamedTuple):
    status: int
    content: bytes
    """Without the token, if the status says that something is wrong."""
    wait: float = 0.0


class Send(Protocol):
    """How a program sends requests: with which token, certificates and limits."""

    async def __call__(
        self, method: str, url: str, *, sign: Sign, body: bytes | None
    ) -> ForgeAnswer:
        """Raises ForgeError if there is no answer."""


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
        return self.state in {"open", "opened", "locked"}

    @property
    def merged(self) -> bool:
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


class User(msgspec.Struct, frozen=True):
    """Who writes, as far as forges say it."""

    id: int = 0
    type: str = ""


class _Comment(msgspec.Struct, frozen=True):
    id: int
    body: str | None = None
    user: User | None = None
    author: User | None = None


class Forge:
    """Pull requests into one branch, asked one at a time, as GitHub wants of programs.

    Methods raise ForgeError.
    """

    NAME: ClassVar[str]
    TO_PROPOSE: ClassVar[str]
    """What a token needs for pull requests."""
    TO_COMMENT: ClassVar[str]
    HOME: ClassVar[str]
    """Path of the repository, with its place as it is or quoted."""
    REQUESTS: ClassVar[str] = "pulls"
    """Path of its requests, below the repository."""
    SHAPE: ClassVar[type[PullRequest]]
    NEWEST: ClassVar[str]
    """Query for the newest requests of a branch of this repository."""
    HEAD: ClassVar[str] = "head"
    BASE: ClassVar[str] = "base"
    BODY: ClassVar[str] = "body"
    CLOSED: ClassVar[tuple[str, str]] = ("state", "closed")
    THREAD: ClassVar[str]
    """Path of a request's comments, below the repository."""
    COMMENT: ClassVar[str]
    EDITS: ClassVar[str] = "PATCH"
    PAGED: ClassVar[bool] = True
    SIGNED: ClassVar[Mapping[str, str]]
    """The headers of a request."""
    BOTS: ClassVar[bool] = False
    """Whether the token of a workflow belongs to a bot, and may not ask who it is."""

    def __init__(self, *, api: str, place: str, send: Send, base: str = "") -> None:
        """`place` is owner/name of the repository, and `base` the branch that requests are for."""
        self._api, self._place, self._base, self._send = api, place, base, send
        self._home = api + self.HOME.format(place=place, quoted=quote(place, safe=""))

    async def latest(self, branch: str) -> PullRequest | None:
        """The newest request from a branch of this repository, open or not."""
        known = {"owner": self._place.partition("/")[0], "branch": branch, "base": self._base}
        query = {name: value.format(**known) for name, value in parse_qsl(self.NEWEST)}
        found = await self._call("GET", self.REQUESTS, list[self.SHAPE], query=query)  # type: ignore[name-defined]
        # Do not rely on the filter.
        return next((each for each in found if each.is_from(self._place, branch)), None)

    async def open(self, *, branch: str, title: str, body: str) -> PullRequest:
        """Opens a request, or returns the open one, which somebody else was faster to open."""
        text = body if len(body) <= MAX_BODY else f"{body[:MAX_BODY]}\n\n(cut off)"
        try:
            asked = {self.HEAD: branch, self.BASE: self._base, "title": title, self.BODY: text}
            return await self._call("POST", self.REQUESTS, self.SHAPE, body=asked)
        except ForgeError as error:
            if error.status not in {HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY}:
                raise
            found = await self.latest(branch)
            if found is None or not found.is_open:
                raise
            return found

    async def close(self, request: PullRequest, *, why: str) -> None:
        """Says why and closes it in one step: a crash in between would look like a refusal."""
        name, closed = self.CLOSED
        text = f"{(request.body or '')[:MAX_BODY]}\n\n{why}\n{CLOSED_BY_US}"
        path = f"{self.REQUESTS}/{request.number}"
        await self._call(self.EDITS, path, body={name: closed, self.BODY: text})

    async def comment(self, number: int, text: str, *, marker: str) -> str:
        """Writes the comment that begins with the marker, and returns `edited` or `added`.

        It edits the own one, and never one that somebody else wrote.
        """
        thread = self.THREAD.format(number=number)
        me: User | None = None
        for page in range(1, _PAGES + 1 if self.PAGED else 2):
            query = {"per_page": str(PAGE), "page": str(page), "sort": "asc"} if self.PAGED else {}
            found = await self._call(
                "GET", thread, list[_Comment], query=query, needs=self.TO_COMMENT
            )
            for one in found:
                writer = one.user or one.author
                if writer is None or not (one.body or "").startswith(marker):
                    continue
                me = me or await self._me()
                # Without an id only what kind of user this is.
                if writer.id == me.id if me.id else writer.type == me.type:
                    path = self.COMMENT.format(number=number, comment=one.id)
                    await self._call(self.EDITS, path, body={"body": text}, needs=self.TO_COMMENT)
                    return "edited"
            if len(found) < PAGE:
                break
        await self._call("POST", thread, body={"body": text}, needs=self.TO_COMMENT)
        return "added"

    async def _me(self) -> User:
        try:
            return await self._call("GET", "/user", User, needs=self.TO_COMMENT)
        except ForgeError as error:
            if self.BOTS and error.refused:
                return User(type="Bot")
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
        """`path` is below the repository, or with a slash below the API.

        `needs` is what the token needs.
        """
        what = f"{method} {self._place} {path}"
        url = f"{self._api}{path}" if path.startswith("/") else f"{self._home}/{path}"
        try:
            answer = await self._send(
                method,
                f"{url}?{urlencode(query)}" if query else url,
                sign=self._sign,
                body=None if body is None else msgspec.json.encode(body),
            )
        except ForgeError as error:
            raise ForgeError(f"{what}: {error}") from error
        if not HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES:
            words = printable(answer.content.decode(errors="replace").strip(), most=MAX_QUOTED)
            hint = "" if answer.wait else _hint(answer.status, needs or self.TO_PROPOSE)
            raise ForgeError(
                f"{what}: {answer.status} {words}{hint}", status=answer.status, wait=answer.wait
            )
        try:
            return msgspec.json.decode(answer.content, type=kind)
        except (msgspec.DecodeError, RecursionError) as error:
            message = f"{what}: the answer is not what {self.NAME} documents: {error}"
            raise ForgeError(message) from error


def _hint(status: int, needs: str) -> str:
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return f"; the token needs: {needs}"
    if status == HTTPStatus.NOT_FOUND:
        return "; there is no such repository, or the token may not see it"
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        return "; the repository has moved: write its new address as git.url"
    return ""
