"""The one comment of a pull request that holds its preview. It is edited, and never one that somebody else
wrote.

Only the standard library sends requests here, because pipelines install no extra.
"""

import http.client
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Protocol

import msgspec

from gitops_dsf.errors import GitopsDsfError

_SECONDS: Final = 30.0
_BYTES: Final = 32 << 20
_PAGE: Final = 100
_PAGES: Final = 100
"""Of comments that are read at most."""


class CommentError(GitopsDsfError):
    """The forge did not take the comment. `refused`: the token may not write it."""

    def __init__(self, message: str, *, refused: bool) -> None:
        super().__init__(message)
        self.refused = refused


class Comments(Protocol):
    """The comments of one pull request."""

    def write(self, text: str, *, marker: str) -> str:
        """Writes the comment that begins with the marker: edits the own one, or adds one. Returns `edited` or
        `added`. Raises CommentError.
        """


class _User(msgspec.Struct, frozen=True):
    id: int = 0
    type: str = ""


class _Comment(msgspec.Struct, frozen=True):
    id: int
    body: str | None = None
    user: _User | None = None
    author: _User | None = None


@dataclass(frozen=True, kw_only=True)
class GitHubComments:
    """Comments of a pull request on GitHub."""

    api: str
    user: str
    pull: int
    token: str

    def write(self, text: str, *, marker: str) -> str:
        """See Comments."""
        comments = f"{self.api}/issues/{self.pull}/comments"
        me: _User | None = None
        for found in _listed(comments, self._headers, marker):
            me = me or self._me()
            # The token of a workflow cannot ask who it is: it belongs to a bot.
            if found.user is not None and (found.user.id == me.id if me.id else found.user.type == "Bot"):
                _call("PATCH", f"{self.api}/issues/comments/{found.id}", self._headers, {"body": text})
                return "edited"
        _call("POST", comments, self._headers, {"body": text})
        return "added"

    def _me(self) -> _User:
        try:
            return msgspec.json.decode(_call("GET", self.user, self._headers), type=_User)
        except CommentError as error:
            if error.refused:
                return _User()
            raise

    @property
    def _headers(self) -> dict[str, str]:
        return {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {self.token}",
            "X-GitHub-Api-Version": "2022-11-28",
        }


@dataclass(frozen=True, kw_only=True)
class GitLabComments:
    """Notes of a merge request on GitLab."""

    api: str
    user: str
    token: str

    def write(self, text: str, *, marker: str) -> str:
        """See Comments."""
        headers = {"PRIVATE-TOKEN": self.token}
        me = msgspec.json.decode(_call("GET", self.user, headers), type=_User)
        for found in _listed(self.api, headers, marker):
            if found.author is not None and found.author.id == me.id:
                _call("PUT", f"{self.api}/{found.id}", headers, {"body": text})
                return "edited"
        _call("POST", self.api, headers, {"body": text})
        return "added"


def _listed(url: str, headers: dict[str, str], marker: str) -> Iterator[_Comment]:
    """Yields the comments that begin with the marker, oldest first."""
    for number in range(1, _PAGES + 1):
        page = msgspec.json.decode(
            _call("GET", f"{url}?per_page={_PAGE}&page={number}&sort=asc", headers), type=list[_Comment]
        )
        yield from (one for one in page if (one.body or "").startswith(marker))
        if len(page) < _PAGE:
            return


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would take the token to another server."""

    def redirect_request(self, *_: Any) -> None:  # noqa: ANN401 - the signature of the library
        return None


_OPENER: Final = urllib.request.build_opener(_NoRedirects)


def _call(method: str, url: str, headers: dict[str, str], data: Any = None) -> bytes:  # noqa: ANN401
    body = None if data is None else msgspec.json.encode(data)
    described = {"User-Agent": "gitops-dsf", "Content-Type": "application/json", **headers}
    request = urllib.request.Request(url, data=body, headers=described, method=method)  # noqa: S310 - the forge's
    try:
        with _OPENER.open(request, timeout=_SECONDS) as answer:
            return bytes(answer.read(_BYTES))
    except urllib.error.HTTPError as error:
        with error:
            refused = error.code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND}
            raise CommentError(f"{method} {url}: {error.code} {error.reason}", refused=refused) from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise CommentError(f"{method} {url}: {error}", refused=False) from error
