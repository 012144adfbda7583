"""Clusters, sets, bindings, scores and decisions of a hub, read through the kubeconfig; nothing is written to
the hub.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

import msgspec

from gitops_dsf.errors import HubError
from gitops_dsf.hub.collect import JsonDocument, collect
from gitops_dsf.hub.snapshot import Snapshot

try:
    from dsf_runtime.access import AccessError, Kubeconfig
    from dsf_runtime.apiserver import JSON, ApiError
    from dsf_runtime.blocking import BlockingApiServer
    from dsf_runtime.blocking import Page as RawPage
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
    """One hub; a context manager. What it refuses is ApiError, one that does not answer, or not to us,
    HubError.
    """

    def __init__(self, *, context: str, kubeconfig: Path | None = None) -> None:
        """Raises HubError when the kubeconfig cannot be used."""
        self.context = context
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
        """Ends the connection."""
        self._server.close()

    @property
    def clock_offset(self) -> float | None:
        """Seconds by which the hub's clock is ahead of this machine's; None before the first answer that has
        a Date.
        """
        return self._server.clock.offset

    def now(self) -> datetime:
        """The hub's clock; this machine's where the hub does not say."""
        return datetime.fromtimestamp(self._server.clock.wall(), tz=UTC)

    def get(self, path: str, *, accept: str = JSON, **params: str) -> bytes:
        """One answer. Raises ApiError and HubError."""
        with self._asking():
            return self._server.get(path, accept=accept, **params)

    def pages(self, path: str, *, accept: str = JSON, **selector: str) -> Iterator[RawPage]:
        """A list, page by page. Raises ApiError and HubError."""
        with self._asking():
            yield from self._server.pages(path, accept=accept, **selector)

    def raw_items(self, path: str, *, optional: bool = False) -> Iterator[msgspec.Raw]:
        """Every object of a resource, undecoded, page by page; none where an optional one is not installed.
        Raises HubError.
        """
        try:
            for raw in self.pages(path):
                page = self.decode(path, raw.content, Page)
                yield from page.items or ()
                raw.taken(count=len(page.items or ()), more=page.metadata.token)
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND and optional:
                return
            msg = f"context {self.context}: {error}{_HINTS.get(error.status, '')}"
            raise HubError(msg) from error

    def decode(self, path: str, content: bytes, kind: type[T]) -> T:
        """An answer. Raises HubError when it is something else."""
        try:
            return msgspec.json.decode(content, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            msg = f"context {self.context}: GET {path}: the answer is not what an API server says: {error}"
            raise HubError(msg) from error

    @contextmanager
    def _asking(self) -> Iterator[None]:
        try:
            yield
        except ApiError as error:
            if error.status == HTTPStatus.UNAUTHORIZED:
                msg = f"context {self.context}: {error}{_HINTS[error.status]}"
            elif error.status:
                raise
            elif error.kind is Kind.CREDENTIALS:
                msg = str(error)
            else:
                msg = f"context {self.context}: the hub does not answer: {error.__cause__ or error}"
            raise HubError(msg) from error


def observe(
    *, context: str, kubeconfig: Path | None = None, resources: frozenset[str] | None = None
) -> Snapshot:
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
