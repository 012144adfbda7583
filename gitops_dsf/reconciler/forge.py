"""Pull requests on GitHub, by its REST API (docs.github.com/rest/pulls), version 2022-11-28."""

import asyncio
import re
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Literal

import httpx
import msgspec

from dsf_runtime import answers, heads
from dsf_runtime.calls import CallFault, as_call_faults, hide, retry_after
from dsf_wire.text import printable
from gitops_dsf.reconciler.git.credentials import Credentials, GitError

VERSION: Final = "2022-11-28"
MOST_BODY: Final = 60_000
"""Characters at most. GitHub accepts 65,536."""
SECONDS: Final = 60.0
"""Time limit of a call."""
ANSWER_BYTES: Final = 4 << 20
"""Size of an answer at most: 10 pull requests with the longest text that GitHub accepts have 2.6 MB."""
MOST_QUOTED: Final = 300
"""Characters of an error answer that a message repeats at most."""

CLOSED_BY_US: Final = "<!-- gitops-dsf: closed by the reconciler -->"
"""Marks a request that the reconciler closed itself. A request without it was closed by people, which means
that they refused it.
"""


class _Repository(msgspec.Struct, frozen=True):
    full_name: str


class _Head(msgspec.Struct, frozen=True):
    ref: str
    repo: _Repository | None = None


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A pull request."""

    number: int
    state: Literal["open", "closed"]
    html_url: str
    head: _Head
    body: str | None = None
    merged_at: datetime | None = None

    @property
    def is_open(self) -> bool:
        """Whether people may still decide."""
        return self.state == "open"

    @property
    def refused(self) -> bool:
        """Whether people closed it without merging it."""
        return not self.is_open and self.merged_at is None and CLOSED_BY_US not in (self.body or "")


_PLACE: Final = re.compile(
    r"(\w+://)?([^@/]*@)?(?P<host>[^/:]+)(:[0-9]+(?=/))?[:/]/?(?P<place>[\w.-]+/[\w.-]+?)(\.git)?/?"
)


def place_of(url: str) -> tuple[str, str]:
    """Host, and owner/name, of the https, ssh or scp-like URL of a repository. Raises GitError."""
    found = _PLACE.fullmatch(url)
    if found is None:
        msg = f"git.url: {url} names no owner and repository"
        raise GitError(msg)
    return found["host"].lower(), found["place"]


def github_api(host: str) -> str:
    """The address of the REST API of github.com, or of a GitHub Enterprise Server."""
    return "https://api.github.com" if host in {"github.com", "ssh.github.com"} else f"https://{host}/api/v3"


class GitHub:
    """Pull requests into one branch. Sends one request at a time, as GitHub asks of programs. Every method
    raises GitError.
    """

    def __init__(self, *, api: str, place: str, base: str, credentials: Credentials) -> None:
        """`place` is owner/name of the repository, and `base` the branch."""
        self._place, self._base, self._credentials, self._api = place, base, credentials, api

    async def latest(self, branch: str) -> Request | None:
        """The newest pull request from a branch of this repository, open or not."""
        parameters = {
            "state": "all",
            "head": f"{self._place.partition('/')[0]}:{branch}",
            "base": self._base,
            "sort": "created",
            "direction": "desc",
            "per_page": "10",
        }
        found = _decoded(await self._send("GET", "pulls", parameters=parameters), list[Request])
        own = self._place.lower()
        # Do not rely on the filter. A fork may have a branch of the same name.
        return next(
            (
                each
                for each in found
                if each.head.ref == branch
                and each.head.repo is not None
                and each.head.repo.full_name.lower() == own
            ),
            None,
        )

    async def open(self, *, branch: str, title: str, body: str) -> Request:
        """Opens a pull request."""
        text = body if len(body) <= MOST_BODY else f"{body[:MOST_BODY]}\n\n(cut off)"
        asked = {"title": title, "head": branch, "base": self._base, "body": text}
        return _decoded(await self._send("POST", "pulls", body=asked), Request)  # type: ignore[no-any-return]

    async def close(self, request: Request, *, why: str) -> None:
        """Says why and closes it in one step, so that a crash in between does not look like a refusal by
        people.
        """
        body = f"{(request.body or '')[:MOST_BODY]}\n\n{why}\n{CLOSED_BY_US}"
        await self._send("PATCH", f"pulls/{request.number}", body={"state": "closed", "body": body})

    async def _send(
        self,
        method: str,
        path: str,
        *,
        parameters: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> bytes:
        what = f"{method} {self._place} {path}"
        url = f"{self._api}/repos/{self._place}/{path}"
        token = self._credentials.token()
        client = self._client(token)
        try:
            with as_call_faults(url=url, seconds=SECONDS):
                async with (
                    asyncio.timeout(SECONDS),
                    client,
                    client.stream(method, url, params=parameters, json=body) as response,
                ):
                    answer = bytes(await answers.read(response, limit=ANSWER_BYTES))
        except CallFault as error:
            words = self._credentials.cleaned(hide(str(error), token))
            msg = f"{what}: {words}"
            raise GitError(msg) from error
        if not response.is_success:
            # The Secret may hold another token by now. Clean before cutting: a part of a token would not be
            # recognised.
            words = self._credentials.cleaned(hide(answer.decode(errors="replace"), token))
            raise _refused(f"{what}: {response.status_code} {printable(words, most=MOST_QUOTED)}", response)
        return answer

    def _client(self, token: str) -> httpx.AsyncClient:
        """It trusts the certificates that the Secret has now: they may be rotated at any time."""
        trust = httpx.create_ssl_context()
        if self._credentials.trust is not None:
            try:
                trust.load_verify_locations(cafile=self._credentials.trust)
            except OSError as error:  # ssl.SSLError is one
                msg = f"{self._credentials.trust} holds no certificates: {error}"
                raise GitError(msg) from error
        headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {token}",
            "X-GitHub-Api-Version": VERSION,
            "User-Agent": "gitops-dsf-reconciler",
            **answers.IDENTITY,
        }
        return heads.limited(
            httpx.AsyncClient(verify=trust, timeout=SECONDS, follow_redirects=False, headers=headers)
        )


def _refused(message: str, response: httpx.Response) -> GitError:
    status = response.status_code
    wait = retry_after(response.headers, now=time.time()) if status in {403, 429} else None
    if wait is not None:
        return GitError(message, wait=wait)
    if status in {401, 403}:
        hint = "; the token needs: Contents and Pull requests, read and write"
    elif status == 404:
        hint = "; there is no such repository, or the token may not see it"
    elif response.is_redirect:
        hint = "; the repository has moved: write its new address as git.url"
    else:
        hint = ""
    return GitError(f"{message.rstrip()}{hint}")


def _decoded(answer: bytes, kind: Any) -> Any:  # noqa: ANN401 - what `kind` says
    try:
        return msgspec.json.decode(answer, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        msg = f"the answer is not what GitHub documents: {error}"
        raise GitError(msg) from error
