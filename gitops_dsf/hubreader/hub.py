"""Reads clusters, sets, bindings, scores and decisions of a hub through the kubeconfig. Writes nothing to the
hub.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import chain
from pathlib import Path
from threading import Timer
from types import TracebackType
from typing import Final, Self, TypeVar

import msgspec

from gitops_dsf.errors import HubError
from gitops_dsf.hub.collect import JsonDocument, collect
from gitops_dsf.hub.resources import BINDINGS, CLUSTER_SETS, CLUSTERS, DECISIONS, SCORES
from gitops_dsf.hub.snapshot import Snapshot

try:
    from dsf_runtime.access import AccessError
    from dsf_runtime.apianswers import ListMetadata, ListPage
    from dsf_runtime.apiserver import JSON, ApiError
    from dsf_runtime.blocking import BlockingApiServer, Page
    from dsf_runtime.calls import FailureKind
    from dsf_runtime.kubeconfig import Kubeconfig
    from dsf_runtime.kubeconfig import current_context as _current_context
except ImportError as error:
    msg = f"{error.name} is not installed; asking a hub needs: pip install 'gitops-dsf[live]'"
    raise HubError(msg) from error

__all__ = ["JSON", "ApiError", "Hub", "ListMetadata", "ListPage", "current_context", "observe"]

T = TypeVar("T")
RESOURCES = (
    ("ManagedCluster", CLUSTERS),
    ("ManagedClusterSet", CLUSTER_SETS),
    ("ManagedClusterSetBinding", BINDINGS),
    ("PlacementDecision", DECISIONS),
    ("AddOnPlacementScore", SCORES),
)
TIMEOUT_SECONDS: Final = 30.0
QUIET_SECONDS: Final = 3.0
"""How long the API server may be silent before people are told that the command waits."""
_HINTS = {
    401: "; log in again",
    403: "; reading needs the verb list on it, in every namespace",
    404: "; this cluster is not an OCM hub",
    410: "; the list changed while it was read: try again",
}


def silence(context: str) -> str:
    """What is told while the API server does not answer."""
    return f"the API server of context {context} is silent: waiting for up to {TIMEOUT_SECONDS:.0f} s"


def tell(line: str) -> None:
    """Writes a line for people beside the output."""
    print(line, file=sys.stderr, flush=True)


def current_context(kubeconfig: Path | None = None) -> str | None:
    """The current context of the kubeconfig; None if there is none. Raises HubError when it cannot be
    read.
    """
    try:
        return _current_context(kubeconfig)
    except AccessError as error:
        raise HubError(str(error)) from error


class Hub:
    """A connection to one hub; a context manager. Raises ApiError when the hub refuses a request, and
    HubError when it does not answer or rejects the credentials.
    """

    def __init__(
        self,
        *,
        context: str,
        kubeconfig: Path | None = None,
        quiet_seconds: float = QUIET_SECONDS,
        say: Callable[[str], None] = tell,
    ) -> None:
        """Raises HubError when the kubeconfig cannot be used. Says so when the hub is silent for longer than
        `quiet_seconds`.
        """
        self.context = context
        self._quiet_seconds, self._say, self._told = quiet_seconds, say, False
        load = Kubeconfig(path=kubeconfig, context=context).load
        try:
            self._server = BlockingApiServer(
                load=load, user_agent="gitops-dsf", timeout_seconds=TIMEOUT_SECONDS
            )
        except AccessError as error:
            raise HubError(str(error)) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection."""
        self._server.close()

    @property
    def clock_offset(self) -> float | None:
        """Seconds by which the hub's clock is ahead of this machine's; None before the first answer with a
        Date header.
        """
        return self._server.clock.offset

    def now(self) -> datetime:
        """The time of the hub's clock; of this machine's if the hub has not sent it."""
        return datetime.fromtimestamp(self._server.clock.wall(), tz=UTC)

    def get(self, path: str, *, accept: str = JSON, **params: str) -> bytes:
        """Sends one GET request. Raises ApiError and HubError."""
        with self._asking(), self._patience():
            return self._server.get(path, accept=accept, **params)

    def pages(self, path: str, *, accept: str = JSON, **selector: str) -> Iterator[Page]:
        """Yields a list, page by page. Raises ApiError and HubError."""
        with self._asking():
            found = self._server.pages(path, accept=accept, **selector)
            while True:
                with self._patience():
                    page = next(found, None)
                if page is None:
                    return
                yield page

    def raw_items(self, path: str, *, optional: bool = False) -> Iterator[msgspec.Raw]:
        """Yields every object of a resource, not decoded, page by page; nothing if an optional resource is
        not installed. Raises HubError.
        """
        try:
            for page in self.pages(path):
                listed = self.decode(path, page.content, ListPage)
                yield from listed.items or ()
                page.taken(count=len(listed.items or ()), more=listed.metadata.more)
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND and optional:
                return
            msg = f"context {self.context}: {error}{_HINTS.get(error.status, '')}"
            raise HubError(msg) from error

    def decode(self, path: str, content: bytes, kind: type[T]) -> T:
        """Decodes an answer. Raises HubError if it has another shape."""
        try:
            return msgspec.json.decode(content, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            msg = f"context {self.context}: GET {path}: the answer is not that of an API server: {error}"
            raise HubError(msg) from error

    @contextmanager
    def _patience(self) -> Iterator[None]:
        """Says once that the hub is silent, if it does not answer soon."""
        waiting = Timer(self._quiet_seconds, self._tell_silence)
        waiting.daemon = True
        waiting.start()
        try:
            yield
        finally:
            waiting.cancel()

    def _tell_silence(self) -> None:
        if not self._told:
            self._told = True
            self._say(silence(self.context))

    @contextmanager
    def _asking(self) -> Iterator[None]:
        try:
            yield
        except ApiError as error:
            if error.status == HTTPStatus.UNAUTHORIZED:
                msg = f"context {self.context}: {error}{_HINTS[error.status]}"
            elif error.status:
                raise
            elif error.kind is FailureKind.CREDENTIALS:
                msg = str(error)
            else:
                msg = f"context {self.context}: the hub does not answer: {error.__cause__ or error}"
            raise HubError(msg) from error


def observe(
    *, context: str, kubeconfig: Path | None = None, resources: frozenset[str] | None = None
) -> Snapshot:
    """Reads the current state of a hub. If `resources` is given, reads only scores with these names.

    Raises HubError when the kubeconfig, the hub or the permissions do not allow it.
    """
    origin, observed_at = f"context {context}", datetime.now(UTC)
    with Hub(context=context, kubeconfig=kubeconfig) as hub:
        found = iter(_documents(hub))
        first = next(found, None)
        if first is None:
            return Snapshot(origin=origin, observed_at=observed_at)
        return collect(chain((first,), found), origin=origin, observed_at=observed_at, resources=resources)


def _documents(hub: Hub) -> Iterator[JsonDocument]:
    """Yields every object, page by page. The API server omits the kind of the items of a list."""
    for kind, resource in RESOURCES:
        place = f"{hub.context}: {kind}"
        for item in hub.raw_items(resource.path):
            yield JsonDocument(place=place, kind=kind, text=item)
