"""Clusters, sets, bindings, scores and decisions of a hub, read through the kubeconfig; nothing is written to the hub."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import msgspec

from gitops_dsf.errors import HubError
from gitops_dsf.hub.collect import JsonDocument, collect
from gitops_dsf.hub.snapshot import Snapshot

try:
    from dsf_runtime.access import AccessError, Kubeconfig
    from dsf_runtime.apiserver import JSON, ApiError, ApiServer, Pages
    from dsf_runtime.calls import Kind
except ImportError as error:
    msg = f"{error.name} is not installed; asking a hub needs: pip install 'gitops-dsf[live]'"
    raise HubError(msg) from error

__all__ = ["JSON", "ApiError", "Hub", "More", "Page", "observe"]

T = TypeVar("T")
GROUP = "cluster.open-cluster-management.io"
RESOURCES = (
    ("ManagedCluster", "v1", "managedclusters"),
    ("ManagedClusterSet", "v1beta2", "managedclustersets"),
    ("ManagedClusterSetBinding", "v1beta2", "managedclustersetbindings"),
    ("PlacementDecision", "v1beta1", "placementdecisions"),
    ("AddOnPlacementScore", "v1alpha1", "addonplacementscores"),
)
TIMEOUT_SECONDS: Final = 30.0
_HINTS = {
    401: "; log in again",
    403: "; reading needs the verb list on it, in every namespace",
    404: "; this cluster is no OCM hub",
    410: "; the list changed while it was read: try again",
}


class More(msgspec.Struct, frozen=True, rename={"token": "continue", "remaining": "remainingItemCount"}):
    """Of a page: where the next one begins, and how many objects come after it."""

    token: str = ""
    remaining: int | None = None


class Page(msgspec.Struct, frozen=True):
    """Of a list; its items stay undecoded."""

    items: list[msgspec.Raw] | None = None
    metadata: More = More()


class Hub:
    """One hub, asked by code without an event loop; a context manager. Refusals are ApiError, a hub that does not answer HubError."""

    def __init__(self, *, context: str, kubeconfig: Path | None = None) -> None:
        """Raises HubError when the kubeconfig cannot be used."""
        self.context = context
        source = Kubeconfig(path=kubeconfig, context=context)
        try:
            read = [source.load()]
        except AccessError as error:
            raise HubError(str(error)) from error
        # An exec plug-in is not asked twice at the start.
        self._server = ApiServer(
            load=lambda: read.pop() if read else source.load(), user_agent="gitops-dsf", timeout_seconds=TIMEOUT_SECONDS
        )
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection."""
        self._runner.run(self._server.close())
        self._runner.close()

    @property
    def clock_offset(self) -> float | None:
        """Seconds by which the hub's clock is ahead of this machine's; None before the first answer that has a Date."""
        return self._server.clock.offset

    def now(self) -> datetime:
        """The hub's clock; this machine's where the hub does not say."""
        return datetime.fromtimestamp(self._server.now(), tz=UTC)

    def get(self, path: str, *, accept: str = JSON, **params: str) -> bytes:
        """One answer. Raises ApiError and HubError."""
        return self._run(lambda: self._server.request("GET", path, params=params, accept=accept)).body

    def pages(self, path: str, *, accept: str = JSON, **selector: str) -> Pages:
        """A list, for `next_page`."""
        return self._server.pages(path, accept=accept, **selector)

    def next_page(self, pages: Pages) -> bytes | None:
        """The next page; None after the last. Raises ApiError and HubError."""
        return self._run(pages.next)

    def raw_items(self, path: str, *, optional: bool = False) -> Iterator[msgspec.Raw]:
        """Every object of a resource, undecoded, page by page; none where an optional one is not installed. Raises HubError."""
        pages = self.pages(path)
        try:
            while (content := self.next_page(pages)) is not None:
                page = self.decode(path, content, Page)
                yield from page.items or ()
                pages.taken(count=len(page.items or ()), more=page.metadata.token)
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND and optional:
                return
            raise self._told(error) from error

    def decode(self, path: str, content: bytes, kind: type[T]) -> T:
        """An answer. Raises HubError when it is something else."""
        try:
            return msgspec.json.decode(content, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            msg = f"context {self.context}: GET {path}: the answer is not what an API server says: {error}"
            raise HubError(msg) from error

    def _run(self, ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
        for last in (False, True):
            try:
                return self._runner.run(ask())
            except ApiError as error:
                # A connection that was kept between two requests may break at the very moment of the second.
                if error.kind is Kind.CONNECTION_LOST and not last:
                    continue
                if error.status and error.status != HTTPStatus.UNAUTHORIZED:
                    raise
                if error.status:
                    raise HubError(f"context {self.context}: {error}{_HINTS[error.status]}") from error
                if error.kind is Kind.CREDENTIALS:
                    raise HubError(str(error)) from error
                msg = f"context {self.context}: the hub does not answer: {error.__cause__ or error}"
                raise HubError(msg) from error
        raise AssertionError

    def _told(self, error: ApiError) -> HubError:
        """A refusal, for people."""
        return HubError(f"context {self.context}: {error}{_HINTS.get(error.status, '')}")


def observe(*, context: str, kubeconfig: Path | None = None, resources: frozenset[str] | None = None) -> Snapshot:
    """What a hub holds now; of scores only those of these names.

    Raises HubError when the kubeconfig, the hub or the rights do not allow it.
    """
    origin, observed_at = f"context {context}", datetime.now(UTC)
    with Hub(context=context, kubeconfig=kubeconfig) as hub:
        found = iter(_documents(hub))
        first = next(found, None)
        if first is None:
            return Snapshot(origin=origin, observed_at=observed_at)
        return collect(chain((first,), found), origin=origin, observed_at=observed_at, resources=resources)


def _documents(hub: Hub) -> Iterator[JsonDocument]:
    """Every object, page by page; the API server leaves the kind out of the items of a list."""
    for kind, version, plural in RESOURCES:
        place = f"{hub.context}: {kind}"
        for item in hub.raw_items(f"/apis/{GROUP}/{version}/{plural}"):
            yield JsonDocument(place=place, kind=kind, text=item)
