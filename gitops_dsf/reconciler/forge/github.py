"""Pull requests on GitHub, by its REST API (docs.github.com/rest/pulls, rest/issues/comments), version
2022-11-28.
"""

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Self
from urllib.parse import urlsplit

import httpx
import msgspec

from dsf_runtime.calls import hide
from dsf_wire.text import printable
from gitops_dsf.reconciler.forge.address import Address
from gitops_dsf.reconciler.forge.protocol import CLOSED_BY_US, ForgeCause, ForgeError, Request, RequestState
from gitops_dsf.reconciler.forge.ratelimit import wait_of
from gitops_dsf.reconciler.git.credentials import Credentials
from gitops_dsf.reconciler.git.errors import GitError

VERSION: Final = "2022-11-28"
PER_PAGE: Final = 100
MAX_PAGES: Final = 20
"""Pages of open pull requests at most: 2,000 requests."""
MAX_BODY: Final = 60_000
"""Characters at most. GitHub accepts 65,536."""
SECONDS: Final = 20.0
"""Time limit of each step of a call: connecting, sending, receiving the next bytes."""
ANSWER_SECONDS: Final = 60.0
"""Time limit of a whole call."""
ANSWER_BYTES: Final = 32 << 20
"""Size of an answer at most: 100 pull requests with the longest text that GitHub accepts have 26 MB."""
MAX_QUOTED: Final = 300
"""Characters of an error answer that a message repeats at most."""


class _Repository(msgspec.Struct, frozen=True):
    full_name: str


class _Head(msgspec.Struct, frozen=True):
    ref: str
    repo: _Repository | None = None


class _Pull(msgspec.Struct, frozen=True):
    number: int
    state: Literal["open", "closed"]
    html_url: str
    head: _Head
    base: _Head
    body: str | None = None
    merged_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Reply:
    """A complete answer."""

    response: httpx.Response
    body: bytes


class GitHub:
    """An asynchronous context manager. Sends one request at a time, as GitHub asks of programs."""

    def __init__(
        self,
        *,
        api: str,
        place: Address,
        base: str,
        credentials: Credentials,
        seconds: float = SECONDS,
    ) -> None:
        self._place, self._base, self._credentials, self._api = place, base, credentials, api
        self._seconds = seconds
        self._trusted: bytes | None = None
        self._client: httpx.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._client is not None:
            await self._client.aclose()

    async def _connected(self) -> httpx.AsyncClient:
        """A client that trusts the certificates that the Secret has now: they may be rotated at any time."""
        file = self._credentials.trust
        trusted = file.read_bytes() if file is not None else None
        if self._client is None or trusted != self._trusted:
            client = httpx.AsyncClient(verify=_trust(file), timeout=self._seconds, follow_redirects=False)
            if self._client is not None:
                await self._client.aclose()
            self._client, self._trusted = client, trusted
        return self._client

    async def opened(self) -> list[Request]:
        """Every open pull request into the protected branch from a branch of this repository."""
        found: list[Request] = []
        parameters = {
            "state": "open",
            "base": self._base,
            "sort": "created",
            "direction": "asc",
            "per_page": str(PER_PAGE),
        }
        for page in range(1, MAX_PAGES + 1):
            reply = await self._send("GET", "pulls", parameters={**parameters, "page": str(page)})
            found += self._requests(reply)
            if "next" not in reply.response.links:
                return found
        raise ForgeError(
            ForgeCause.REFUSED, f"{self._place} has more than {MAX_PAGES * PER_PAGE} open pull requests"
        )

    async def latest(self, branch: str) -> Request | None:
        """The newest pull request from a branch, open or not."""
        head = f"{self._place.owner}:{branch}"
        parameters = {
            "state": "all",
            "head": head,
            "base": self._base,
            "sort": "created",
            "direction": "desc",
            "per_page": "10",
        }
        found = self._requests(await self._send("GET", "pulls", parameters=parameters))
        # Do not rely on the filter: if GitHub ignored it, it would list every branch.
        return next((each for each in found if each.branch == branch), None)

    async def open(self, *, branch: str, title: str, body: str) -> Request:
        """Opens a pull request, or returns the open one of this branch (GitHub then answers 422)."""
        text = body if len(body) <= MAX_BODY else f"{body[:MAX_BODY]}\n\n(cut off)"
        try:
            reply = await self._send(
                "POST", "pulls", body={"title": title, "head": branch, "base": self._base, "body": text}
            )
        except ForgeError as error:
            known = await self.latest(branch) if error.cause is ForgeCause.REFUSED else None
            if known is None or known.state is not RequestState.OPEN:
                raise
            return known
        return _request(_decoded(reply, _Pull))

    async def close(self, request: Request, *, why: str) -> None:
        """Marks and closes the request in one step, so that a crash in between does not look like a refusal
        by people. Then adds a comment with the reason.
        """
        body = f"{request.body[:MAX_BODY]}\n\n{why}\n{CLOSED_BY_US}"
        await self._send("PATCH", f"pulls/{request.number}", body={"state": "closed", "body": body})
        await self._send("POST", f"issues/{request.number}/comments", body={"body": why})

    def _requests(self, reply: _Reply) -> list[Request]:
        own = str(self._place).lower()
        pulls = _decoded(reply, list[_Pull])
        # A fork may have a branch with the same name.
        return [
            _request(pull)
            for pull in pulls
            if pull.head.repo is not None and pull.head.repo.full_name.lower() == own
        ]

    async def _send(
        self,
        method: str,
        path: str,
        *,
        parameters: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> _Reply:
        what = f"{method} {self._place} {path}"
        try:
            token = self._credentials.token()
        except GitError as error:
            raise ForgeError(ForgeCause.DENIED, str(error)) from error
        headers = {
            "Accept": "application/vnd.github+json",
            # A compressed answer could expand to any size at once.
            "Accept-Encoding": "identity",
            "Authorization": f"Bearer {token}",
            "X-GitHub-Api-Version": VERSION,
            "User-Agent": "gitops-dsf-reconciler",
        }
        url = f"{self._api}/repos/{self._place}/{path}"
        try:
            client = await self._connected()
            async with (
                asyncio.timeout(ANSWER_SECONDS),
                client.stream(method, url, params=parameters, json=body, headers=headers) as response,
            ):
                reply = _Reply(response=response, body=await _body(response, what))
        except UnicodeError:
            # The text of the error would hold a part of the token.
            msg = (
                f"{what}: the token holds characters other than ASCII; write the token into the Secret as"
                " plain ASCII"
            )
            raise ForgeError(ForgeCause.DENIED, msg) from None
        except TimeoutError as error:
            msg = f"{what}: the answer is not complete after {ANSWER_SECONDS:g} s"
            raise ForgeError(ForgeCause.UNREACHABLE, msg) from error
        except (httpx.HTTPError, OSError) as error:
            words = self._credentials.cleaned(hide(str(error), token)) or type(error).__name__
            raise ForgeError(
                ForgeCause.UNREACHABLE, f"{what}: {urlsplit(url).netloc} does not answer: {words}"
            ) from error
        if not response.is_success:
            raise self._refused(what, reply, token)
        return reply

    def _refused(self, what: str, reply: _Reply, token: str) -> ForgeError:
        response, status = reply.response, reply.response.status_code
        # The Secret may hold another token by now than the one that was sent. Clean before cutting: a part of
        # a token would not be recognised.
        quoted = printable(self._credentials.cleaned(hide(_error_text(reply.body), token)), most=MAX_QUOTED)
        message = f"{what}: {status} {quoted}".rstrip()
        wait = wait_of(response, quoted)
        if wait:
            return ForgeError(ForgeCause.LIMITED, f"{message}; next try in {wait:.0f} s", wait=wait)
        if status in {401, 403}:
            return ForgeError(
                ForgeCause.DENIED, f"{message}; the token needs: Contents and Pull requests, read and write"
            )
        if status == 404:
            return ForgeError(
                ForgeCause.DENIED, f"{message}; there is no such repository, or the token may not see it"
            )
        if response.is_redirect:
            return ForgeError(
                ForgeCause.REFUSED, f"{message}; the repository has moved: write its new address as git.url"
            )
        return ForgeError(ForgeCause.UNREACHABLE if status >= 500 else ForgeCause.REFUSED, message)


def _request(pull: _Pull) -> Request:
    state = RequestState.MERGED if pull.merged_at is not None else RequestState(pull.state)
    return Request(
        number=pull.number, branch=pull.head.ref, state=state, body=pull.body or "", url=pull.html_url
    )


async def _body(response: httpx.Response, what: str) -> bytes:
    """The answer's bytes. Raises ForgeError for more than ANSWER_BYTES, and for a compressed answer."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"", "identity"}:
        msg = f"{what}: the answer is compressed ({encoding[:40]!r}), although the request forbids it"
        raise ForgeError(ForgeCause.UNREACHABLE, msg)
    pieces, size = list[bytes](), 0
    async for piece in response.aiter_raw():
        size += len(piece)
        if size > ANSWER_BYTES:
            raise ForgeError(ForgeCause.UNREACHABLE, f"{what}: the answer has more than {ANSWER_BYTES} bytes")
        pieces.append(piece)
    return b"".join(pieces)


def _decoded(reply: _Reply, kind: Any) -> Any:  # noqa: ANN401 - what `kind` says
    try:
        return msgspec.json.decode(reply.body, type=kind)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
        request = reply.response.request
        msg = f"{request.method} {request.url.path}: the answer is not what GitHub documents: {error}"
        raise ForgeError(ForgeCause.UNREACHABLE, msg) from error


class _Detail(msgspec.Struct, frozen=True):
    message: str = ""
    field: str = ""
    code: str = ""


class _Problem(msgspec.Struct, frozen=True):
    message: str = ""
    errors: list[Any] = []


def _error_text(body: bytes) -> str:
    """The messages of an error answer (schemas basic-error and validation-error)."""
    try:
        problem = msgspec.json.decode(body, type=_Problem)
        details = [msgspec.convert(each, _Detail) for each in problem.errors if isinstance(each, dict)]
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError):
        return ""
    words = [problem.message, *(each.message or f"{each.field} {each.code}".strip() for each in details)]
    return "; ".join(word for word in words if word)


def _trust(file: Path | None) -> ssl.SSLContext:
    context = httpx.create_ssl_context()
    if file is not None:
        try:
            context.load_verify_locations(cafile=file)
        except OSError as error:  # ssl.SSLError is one
            raise ForgeError(ForgeCause.DENIED, f"{file} holds no certificates: {error}") from error
    return context
