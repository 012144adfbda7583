"""Reads one hub part by part. A part that may not be read or is not installed becomes a value, so that the
rest can still be shown.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

import msgspec

from gitops_dsf.errors import HubError
from gitops_dsf.hub.metadata import problem_of
from gitops_dsf.hub.unread import Unread, Why
from gitops_dsf.hubreader.hub import JSON, ApiError, Hub, More, Page

T = TypeVar("T")
S = TypeVar("S")
Taken_contra = TypeVar("Taken_contra", contravariant=True)
Object = dict[str, Any]
METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
"""With this media type, the API server answers with metadata only, without a Secret's data."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Resource:
    """A resource of the API, in one namespace or in all."""

    plural: str
    group: str = ""
    version: str = "v1"
    namespace: str | None = None

    @property
    def path(self) -> str:
        """The path of the collection."""
        base = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        return (
            f"{base}/namespaces/{self.namespace}/{self.plural}" if self.namespace else f"{base}/{self.plural}"
        )

    def describe(self, name: str = "") -> str:
        """A description for people."""
        kind = f"{self.plural}.{self.group}" if self.group else self.plural
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{kind} {name}{where}" if name else f"{kind}{where}"


_WHY: dict[int, Why] = {HTTPStatus.FORBIDDEN: Why.FORBIDDEN, HTTPStatus.NOT_FOUND: Why.NOT_INSTALLED}


class _Typed(msgspec.Struct, Generic[S], frozen=True):
    items: list[S] | None = None
    metadata: More = More()


class Sink(Protocol[Taken_contra]):
    """Receives objects while their pages are read."""

    def begin(self) -> None:
        """A list starts, or starts again: discard what was received before."""

    def take(self, items: "Sequence[Taken_contra]") -> None:
        """Receives some objects."""

    def broken(self, raw: msgspec.Raw) -> None:
        """Receives an object that cannot be decoded."""


class Reader:
    """A connection to one hub; a context manager. It also compares the hub's clock with this machine's."""

    def __init__(self, *, context: str, kubeconfig: Path | None = None) -> None:
        self.context = context
        self._hub = Hub(context=context, kubeconfig=kubeconfig)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection."""
        self._hub.close()

    @property
    def clock_offset(self) -> float | None:
        """Seconds by which the hub's clock is ahead of this machine's; None before the first answer with a
        Date header.
        """
        return self._hub.clock_offset

    def now(self) -> datetime:
        """The time of the hub's clock; of this machine's if the hub has not sent it."""
        return self._hub.now()

    def read(
        self,
        resource: Resource,
        project: Callable[[msgspec.Raw], T],
        *,
        labels: str = "",
        name: str = "",
        metadata_only: bool = False,
    ) -> tuple[T, ...] | Unread:
        """Returns every object, each reduced by `project` while its page is read. Raises HubError when the
        hub does not answer.
        """
        query = _selector(labels=labels, name=name)
        accept = METADATA_ONLY if metadata_only else JSON
        try:
            return _again_when_gone(lambda: self._read(resource, project, query, accept))
        except ApiError as error:
            return self._unread(resource, error, verb="list")

    def stream(self, resource: Resource, model: type[S], sink: Sink[S], *, name: str = "") -> Unread | None:
        """Decodes every object and hands it to the sink. Returns why the list could not be read. Raises
        HubError.
        """
        try:
            _again_when_gone(lambda: self._stream(resource, model, sink, _selector(name=name)))
        except ApiError as error:
            return self._unread(resource, error, verb="list")
        return None

    def count(self, resource: Resource) -> int | None:
        """The number of objects, without reading them; None if the hub does not report it."""
        try:
            page = self._hub.decode(
                resource.path, self._hub.get(resource.path, accept=METADATA_ONLY, limit="1"), Page
            )
        except ApiError:
            return None
        rest = page.metadata.remaining
        return None if page.metadata.token and rest is None else len(page.items or ()) + (rest or 0)

    def find(self, resource: Resource, name: str) -> Object | Unread | None:
        """Returns one object; None if it does not exist. Raises HubError when the hub does not answer."""
        try:
            found: Object = self._hub.decode(
                resource.path, self._hub.get(f"{resource.path}/{name}"), dict[str, Any]
            )
        except ApiError as error:
            return (
                None
                if error.status == HTTPStatus.NOT_FOUND
                else self._unread(resource, error, verb="get", name=name)
            )
        return found

    def groups(self) -> dict[str, tuple[str, ...]] | Unread:
        """The API groups of the hub, with their versions. Raises HubError when the hub does not answer."""
        try:
            content: Object = self._hub.decode("/apis", self._hub.get("/apis"), dict[str, Any])
        except ApiError as error:
            return self._unread(Resource(plural="/apis"), error, verb="get")
        return {
            item["name"]: tuple(one["version"] for one in item.get("versions") or ())
            for item in content.get("groups") or ()
        }

    def _stream(self, resource: Resource, model: type[S], sink: Sink[S], query: Mapping[str, str]) -> None:
        decoder: msgspec.json.Decoder[_Typed[S]] = msgspec.json.Decoder(_Typed[model])  # type: ignore[valid-type]
        sink.begin()
        for page in self._hub.pages(resource.path, **query):
            count, more = self._taken(page.content, resource, decoder, sink)
            page.taken(count=count, more=more)

    def _taken(
        self, content: bytes, resource: Resource, decoder: "msgspec.json.Decoder[_Typed[S]]", sink: Sink[S]
    ) -> tuple[int, str]:
        """The number of objects of a page, and where the next page starts."""
        try:
            typed = decoder.decode(content)
        except msgspec.ValidationError:
            # One malformed object must not hide the others.
            page = self._hub.decode(resource.path, content, Page)
            for raw in page.items or ():
                try:
                    sink.take(decoder.decode(b'{"items":[' + bytes(raw) + b"]}").items or ())
                except msgspec.ValidationError:
                    sink.broken(raw)
            return len(page.items or ()), page.metadata.token
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            msg = (
                f"context {self.context}: GET {resource.path}: the answer is not that of an API server:"
                f" {error}"
            )
            raise HubError(msg) from error
        sink.take(typed.items or ())
        return len(typed.items or ()), typed.metadata.token

    def _read(
        self, resource: Resource, project: Callable[[msgspec.Raw], T], query: Mapping[str, str], accept: str
    ) -> tuple[T, ...]:
        found: list[T] = []
        for raw in self._hub.pages(resource.path, accept=accept, **query):
            page = self._hub.decode(resource.path, raw.content, Page)
            try:
                found += map(project, page.items or ())
            except msgspec.ValidationError as error:
                msg = (
                    f"context {self.context}: an object among {resource.describe()} is malformed:"
                    f" {problem_of(error)}"
                )
                raise HubError(msg) from error
            raw.taken(count=len(page.items or ()), more=page.metadata.token)
        return tuple(found)

    def _unread(self, resource: Resource, error: ApiError, *, verb: str, name: str = "") -> Unread:
        why = _WHY.get(error.status, Why.FAILED)
        phrase = HTTPStatus(error.status).phrase if error.status in set(HTTPStatus) else ""
        return Unread(
            what=resource.describe(name), why=why, verb=verb, detail=f"{error.status} {phrase}".rstrip()
        )


def _selector(*, labels: str = "", name: str = "") -> Mapping[str, str]:
    return {
        **({"labelSelector": labels} if labels else {}),
        **({"fieldSelector": f"metadata.name={name}"} if name else {}),
    }


def _again_when_gone(read: Callable[[], T]) -> T:
    """Reads a list once more from its start if it changed too much meanwhile (410 Gone)."""
    try:
        return read()
    except ApiError as error:
        if error.status != HTTPStatus.GONE:
            raise
    return read()


def whole(raw: msgspec.Raw) -> Object:
    """Returns an object unchanged."""
    found: Object = msgspec.json.decode(raw)
    return found
