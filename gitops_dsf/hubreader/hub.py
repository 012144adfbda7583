"""Requests to the API server of a hub, through a kubeconfig. Nothing is written.

Guaranteed: objects are handed on while their page arrives, so the memory does not grow with the
size of the hub. Not guaranteed: that all pages show the same moment.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import msgspec

from dsf_wire.text import printable
from gitops_dsf.errors import HubError
from gitops_dsf.hub.metadata import problem_of
from gitops_dsf.hub.resources import Resource
from gitops_dsf.hub.unread import Unread, Why

try:
    from dsf_runtime.access import AccessError
    from dsf_runtime.apiserver import JSON, ApiError
    from dsf_runtime.blocking import BlockingApiServer
    from dsf_runtime.calls import FailureKind
    from dsf_runtime.paging import ListPage
    from gitops_dsf.hubreader.kubeconfig import Kubeconfig
    from gitops_dsf.hubreader.kubeconfig import current_context as _current_context
except ImportError as error:
    raise HubError(
        f"{error.name} is not installed; asking a hub needs the extra live (docs/start/install.md)"
    ) from error

T = TypeVar("T")
JsonObject = dict[str, Any]
"""An object as the API server sends it."""
Page = ListPage
"""A page of a list; a reader of objects has one of its own."""
METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
"""With this media type, the API server answers with metadata only, without a Secret's data."""
TIMEOUT_SECONDS: Final = 30.0
QUIET_SECONDS: Final = 3.0
"""The time for which the API server may be silent before the command reports that it waits."""
_WHY: Final[dict[int, Why]] = {
    HTTPStatus.FORBIDDEN: Why.FORBIDDEN,
    HTTPStatus.NOT_FOUND: Why.NOT_INSTALLED,
}


class HubClient:
    """A connection to one hub.

    Raises ApiError for a refusal, HubError without an answer or credentials.
    """

    def __init__(
        self,
        *,
        context: str,
        kubeconfig: Path | None = None,
        quiet_seconds: float = QUIET_SECONDS,
        report: Callable[[str], None] | None = None,
    ) -> None:
        """Raises HubError.

        `report` gets a line when the hub is silent for longer than `quiet_seconds`. By default the
        line goes to standard error.
        """
        self.context = context
        self._report = report or report_on_stderr
        load = Kubeconfig(path=kubeconfig, context=context).load
        try:
            self._server = BlockingApiServer(
                load=load,
                user_agent="gitops-dsf",
                timeout_seconds=TIMEOUT_SECONDS,
                quiet_seconds=quiet_seconds,
                on_silence=self._report_silence,
            )
        except AccessError as error:
            raise HubError(str(error)) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._server.close()

    @property
    def clock_offset(self) -> float | None:
        """Seconds by which the hub's clock is ahead of ours; None before the first Date header."""
        return self._server.clock.offset

    def now(self) -> datetime:
        """The time of the hub's clock; of this machine's if the hub has not sent it."""
        return datetime.fromtimestamp(self._server.clock.wall(), tz=UTC)

    def get(self, path: str, *, accept: str = JSON, **params: str) -> bytes:
        """Sends one GET request. Raises ApiError and HubError."""
        with self._asking():
            return self._server.get(path, accept=accept, **params)

    def items(
        self, path: str, of: type[ListPage] = ListPage, /, *, accept: str = JSON, **selector: str
    ) -> Iterator[Any]:
        """Every object: as `of` decodes its page, else not decoded.

        Raises ApiError and HubError.
        """
        pages = self._server.pages(path, accept=accept, **selector)
        while True:
            with self._asking():
                # Only the request: a failure where the objects are used is not one of the hub.
                content = next(pages, None)
            if content is None:
                return
            try:
                page = msgspec.json.decode(content, type=of)
            except (msgspec.DecodeError, UnicodeDecodeError):
                # One object that `of` cannot decode must not hide the others of its page.
                page = self.decode(path, content, ListPage)
            yield from page.items or ()

    def decode(self, path: str, content: bytes | bytearray, model: type[T]) -> T:
        """Decodes an answer. Raises HubError if it has another shape."""
        try:
            return msgspec.json.decode(content, type=model)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise HubError(
                f"context {self.context}: GET {path}: the answer is not that of an API server:"
                f" {error}"
            ) from error

    def read(
        self,
        resource: Resource,
        project: Callable[[Any], T],
        **query: Any,  # noqa: ANN401 - those of `take`
    ) -> tuple[T, ...] | Unread:
        """Every object, each reduced by `project` while its page is read. Raises HubError."""
        return self.take(resource, lambda objects: tuple(map(project, objects)), **query)

    def take(
        self,
        resource: Resource,
        take: Callable[[Iterator[Any]], T],
        *,
        of: type[ListPage] = ListPage,
        labels: str = "",
        name: str = "",
        metadata_only: bool = False,
    ) -> T | Unread:
        """The result of `take` for `items`, which arrive while it runs. Raises HubError."""
        selector: dict[str, str] = {}
        if labels:
            selector["labelSelector"] = labels
        if name:
            selector["fieldSelector"] = f"metadata.name={name}"
        accept = METADATA_ONLY if metadata_only else JSON
        try:
            return take(self.items(resource.path, of, accept=accept, **selector))
        except ApiError as error:
            return self._unread(resource, error, verb="list")
        except msgspec.ValidationError as error:
            raise HubError(
                f"context {self.context}: an object among {resource.describe()} is malformed:"
                f" {problem_of(error)}"
            ) from error

    def count(self, resource: Resource) -> int | None:
        """The number of objects, without reading them; None if the hub does not report it."""
        try:
            # A list of one object says how many remain, if the API server knows: the field
            # remainingItemCount is optional.
            content = self.get(resource.path, accept=METADATA_ONLY, limit="1")
        except ApiError:
            return None
        page = self.decode(resource.path, content, ListPage)
        # A list that fits into one page has no number of what remains.
        remaining = page.metadata.remaining
        if page.metadata.more and remaining is None:
            return None
        return len(page.items or ()) + (remaining or 0)

    def find(self, resource: Resource, name: str) -> JsonObject | Unread | None:
        """One object; None if it does not exist.

        Raises HubError when the hub does not answer.
        """
        try:
            content = self.get(f"{resource.path}/{name}")
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            return self._unread(resource, error, verb="get", name=name)
        return self.decode(resource.path, content, JsonObject)

    def groups(self) -> dict[str, tuple[str, ...]] | Unread:
        """The API groups of the hub, with their versions.

        Raises HubError when the hub does not answer.
        """
        try:
            content = self.decode("/apis", self.get("/apis"), JsonObject)
        except ApiError as error:
            return self._unread(Resource(plural="/apis"), error, verb="get")
        groups: dict[str, tuple[str, ...]] = {}
        for group in content.get("groups") or ():
            versions = group.get("versions") or ()
            groups[group["name"]] = tuple(version["version"] for version in versions)
        return groups

    def lacks(self, part: Unread) -> str:
        """The message that nothing can be shown without a part."""
        if part.why is Why.NOT_INSTALLED:
            return f"context {self.context}: {part}; this cluster is not an OCM hub"
        return f"context {self.context}: {part}"

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Raises ApiError for a request that is refused, and HubError if there is no answer."""
        try:
            yield
        except ApiError as error:
            # Every other request would be refused, too.
            if error.status == HTTPStatus.UNAUTHORIZED:
                raise HubError(f"context {self.context}: {error}; log in again") from error
            if error.status:
                raise
            if error.kind is FailureKind.CREDENTIALS:
                raise HubError(str(error)) from error
            raise HubError(
                f"context {self.context}: the hub does not answer: {error.__cause__ or error}"
            ) from error

    def _report_silence(self) -> None:
        self._report(
            f"the API server of context {self.context} is silent: waiting for up to"
            f" {TIMEOUT_SECONDS:.0f} s"
        )

    def _unread(self, resource: Resource, error: ApiError, *, verb: str, name: str = "") -> Unread:
        status = error.status
        # A proxy may answer with a number that no standard names.
        phrase = HTTPStatus(status).phrase if status in set(HTTPStatus) else ""
        why = _WHY.get(status, Why.FAILED)
        return Unread(
            what=resource.describe(name),
            why=why,
            verb=verb,
            detail=f"{status} {phrase}".rstrip(),
            refused=why is not Why.NOT_INSTALLED,
        )


def current_context(kubeconfig: Path | None = None) -> str | None:
    """The current context of the kubeconfig; None without one.

    Raises HubError if it cannot be read.
    """
    try:
        return _current_context(kubeconfig)
    except AccessError as error:
        raise HubError(str(error)) from error


def as_type(model: type[T]) -> Callable[[msgspec.Raw], T]:
    """A projection for `read` that decodes each object."""
    return lambda raw: msgspec.json.decode(raw, type=model)


def whole(raw: msgspec.Raw) -> JsonObject:
    """A projection for `read` that keeps each object as plain data."""
    content: JsonObject = msgspec.json.decode(raw)
    return content


def report_on_stderr(line: str) -> None:
    """Prints a line to standard error at once, without control characters."""
    print(printable(line), file=sys.stderr, flush=True)
