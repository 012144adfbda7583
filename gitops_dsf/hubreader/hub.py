"""Reads a hub through the kubeconfig, and writes nothing to it."""

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
from gitops_dsf.hub.resources import CLUSTER_SETS, CLUSTERS, SCORERS, SCORING_CONFIGS, Resource
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
    msg = (
        f"{error.name} is not installed; asking a hub needs the extra live (docs/start/install.md)"
    )
    raise HubError(msg) from error

T = TypeVar("T")
JsonObject = dict[str, Any]
Page = ListPage
"""A page of a list; a reader of objects has one of its own."""
METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
"""With this media type, the API server answers with metadata only, without a Secret's data."""
IMPORTED: Final = (
    ("ManagedCluster", CLUSTERS, False),
    ("ManagedClusterSet", CLUSTER_SETS, False),
    ("DynamicScorer", SCORERS, True),
    ("DynamicScoringConfig", SCORING_CONFIGS, True),
)
"""What `import` takes: kind, resource, and whether a hub may lack it, as our CRDs before the first
sync.
"""
TIMEOUT_SECONDS: Final = 30.0
QUIET_SECONDS: Final = 3.0
"""How long the API server may be silent before people are told that the command waits."""


def tell(line: str) -> None:
    print(printable(line), file=sys.stderr, flush=True)


def current_context(kubeconfig: Path | None = None) -> str | None:
    """The current context of the kubeconfig; None without one.

    Raises HubError if it cannot be read.
    """
    try:
        return _current_context(kubeconfig)
    except AccessError as error:
        raise HubError(str(error)) from error


_WHY: dict[int, Why] = {
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
        say: Callable[[str], None] = tell,
    ) -> None:
        """Raises HubError. Says when the hub is silent for longer than `quiet_seconds`."""
        self.context = context
        load = Kubeconfig(path=kubeconfig, context=context).load
        try:
            self._server = BlockingApiServer(
                load=load,
                user_agent="gitops-dsf",
                timeout_seconds=TIMEOUT_SECONDS,
                quiet_seconds=quiet_seconds,
                on_silence=lambda: say(
                    f"the API server of context {context} is silent: waiting for up to"
                    f" {TIMEOUT_SECONDS:.0f} s"
                ),
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
        found = self._server.pages(path, accept=accept, **selector)
        while True:
            with self._asking():
                page = next(found, None)
            if page is None:
                return
            try:
                listed = msgspec.json.decode(page, type=of)
            except (msgspec.DecodeError, UnicodeDecodeError):
                listed = self.decode(path, page, ListPage)
            yield from listed.items or ()

    def lacks(self, part: Unread) -> str:
        """Says that nothing can be shown without a part."""
        if part.why is Why.NOT_INSTALLED:
            return f"context {self.context}: {part}; this cluster is not an OCM hub"
        return f"context {self.context}: {part}"

    def decode(self, path: str, content: bytes | bytearray, kind: type[T]) -> T:
        """Decodes an answer. Raises HubError if it has another shape."""
        try:
            return msgspec.json.decode(content, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            msg = f"context {self.context}: GET {path}: the answer is not that of an API server: {error}"
            raise HubError(msg) from error

    def read(
        self,
        resource: Resource,
        project: Callable[[Any], T],
        **query: Any,  # noqa: ANN401 - those of `take`
    ) -> tuple[T, ...] | Unread:
        """Every object, each reduced by `project` while its page is read. Raises HubError."""
        return self.take(resource, lambda found: tuple(map(project, found)), **query)

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
        """What `take` makes of `items`, which arrive while it runs. Raises HubError."""
        query = {
            **({"labelSelector": labels} if labels else {}),
            **({"fieldSelector": f"metadata.name={name}"} if name else {}),
        }
        accept = METADATA_ONLY if metadata_only else JSON
        try:
            return take(self.items(resource.path, of, accept=accept, **query))
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
            content = self.get(resource.path, accept=METADATA_ONLY, limit="1")
        except ApiError:
            return None
        page = self.decode(resource.path, content, ListPage)
        rest = page.metadata.remaining
        return None if page.metadata.more and rest is None else len(page.items or ()) + (rest or 0)

    def find(self, resource: Resource, name: str) -> JsonObject | Unread | None:
        """Returns one object; None if it does not exist.

        Raises HubError when the hub does not answer.
        """
        try:
            found: JsonObject = self.decode(
                resource.path, self.get(f"{resource.path}/{name}"), dict[str, Any]
            )
        except ApiError as error:
            missing = error.status == HTTPStatus.NOT_FOUND
            return None if missing else self._unread(resource, error, verb="get", name=name)
        return found

    def groups(self) -> dict[str, tuple[str, ...]] | Unread:
        """The API groups of the hub, with their versions.

        Raises HubError when the hub does not answer.
        """
        try:
            content: JsonObject = self.decode("/apis", self.get("/apis"), dict[str, Any])
        except ApiError as error:
            return self._unread(Resource(plural="/apis"), error, verb="get")
        return {
            item["name"]: tuple(one["version"] for one in item.get("versions") or ())
            for item in content.get("groups") or ()
        }

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Raises ApiError for a request that is refused, and HubError if the hub does not answer it."""
        try:
            yield
        except ApiError as error:
            if error.status == HTTPStatus.UNAUTHORIZED:
                msg = f"context {self.context}: {error}; log in again"
            elif error.status:
                raise
            elif error.kind is FailureKind.CREDENTIALS:
                msg = str(error)
            else:
                msg = f"context {self.context}: the hub does not answer: {error.__cause__ or error}"
            raise HubError(msg) from error

    def _unread(self, resource: Resource, error: ApiError, *, verb: str, name: str = "") -> Unread:
        why = _WHY.get(error.status, Why.FAILED)
        phrase = HTTPStatus(error.status).phrase if error.status in set(HTTPStatus) else ""
        return Unread(
            what=resource.describe(name),
            why=why,
            verb=verb,
            detail=f"{error.status} {phrase}".rstrip(),
            refused=why is not Why.NOT_INSTALLED,
        )


def as_type(model: type[T]) -> Callable[[msgspec.Raw], T]:
    return lambda raw: msgspec.json.decode(raw, type=model)


def whole(raw: msgspec.Raw) -> JsonObject:
    found: JsonObject = msgspec.json.decode(raw)
    return found


def inventory(*, context: str, kubeconfig: Path | None = None) -> list[dict[str, Any]]:
    """Reads every object of IMPORTED, in all namespaces. Raises HubError."""
    found = list[dict[str, Any]]()
    with HubClient(context=context, kubeconfig=kubeconfig) as hub:
        for kind, resource, optional in IMPORTED:
            items = hub.read(resource, whole)
            if not isinstance(items, Unread):
                # In a typed list, the API server omits both from each item.
                found += [
                    {"apiVersion": resource.api_version, "kind": kind, **item} for item in items
                ]
            elif not optional or items.why is not Why.NOT_INSTALLED:
                raise HubError(hub.lacks(items))
    return found
