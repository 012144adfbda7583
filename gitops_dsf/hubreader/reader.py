"""Reads one hub part by part. A part that may not be read or is not installed becomes a value, so that the
rest can still be shown.
"""

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from gitops_dsf.errors import HubError
from gitops_dsf.hub.metadata import problem_of
from gitops_dsf.hub.resources import Resource
from gitops_dsf.hub.unread import Unread, Why
from gitops_dsf.hubreader.hub import JSON, ApiError, Hub, ListMetadata, ListPage

T = TypeVar("T")
S = TypeVar("S")
Taken_contra = TypeVar("Taken_contra", contravariant=True)
Object = dict[str, Any]
METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
"""With this media type, the API server answers with metadata only, without a Secret's data."""


_WHY: dict[int, Why] = {HTTPStatus.FORBIDDEN: Why.FORBIDDEN, HTTPStatus.NOT_FOUND: Why.NOT_INSTALLED}


class _Typed(msgspec.Struct, Generic[S], frozen=True):
    metadata: ListMetadata
    items: list[S] | None = None


class Sink(Protocol[Taken_contra]):
    """Receives objects while their pages are read."""

    def begin(self) -> None:
        """A list starts, or starts again: discard what was received before."""

    def take(self, items: "Sequence[Taken_contra]") -> None:
        """Receives some objects."""

    def broken(self, raw: msgspec.Raw) -> None:
        """Receives an object that cannot be decoded."""


class Reader(Hub):
    """A connection to one hub, which reads it part by part."""

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
            content = self.get(resource.path, accept=METADATA_ONLY, limit="1")
        except ApiError:
            return None
        page = self.decode(resource.path, content, ListPage)
        rest = page.metadata.remaining
        return None if page.metadata.more and rest is None else len(page.items or ()) + (rest or 0)

    def find(self, resource: Resource, name: str) -> Object | Unread | None:
        """Returns one object; None if it does not exist. Raises HubError when the hub does not answer."""
        try:
            found: Object = self.decode(resource.path, self.get(f"{resource.path}/{name}"), dict[str, Any])
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
            content: Object = self.decode("/apis", self.get("/apis"), dict[str, Any])
        except ApiError as error:
            return self._unread(Resource(plural="/apis"), error, verb="get")
        return {
            item["name"]: tuple(one["version"] for one in item.get("versions") or ())
            for item in content.get("groups") or ()
        }

    def _stream(self, resource: Resource, model: type[S], sink: Sink[S], query: Mapping[str, str]) -> None:
        decoder: msgspec.json.Decoder[_Typed[S]] = msgspec.json.Decoder(_Typed[model])  # type: ignore[valid-type]
        sink.begin()
        for page in self.pages(resource.path, **query):
            try:
                typed = decoder.decode(page.content)
            except (msgspec.DecodeError, UnicodeDecodeError):
                metadata, count = self._one_by_one(resource, page.content, model, sink)
            else:
                sink.take(typed.items or ())
                metadata, count = typed.metadata, len(typed.items or ())
            page.taken(count=count, more=metadata.more)

    def _one_by_one(
        self, resource: Resource, content: bytes, model: type[S], sink: Sink[S]
    ) -> tuple[ListMetadata, int]:
        """Decodes each object of a page alone: a malformed one must not hide the others. Returns the metadata
        of the page, and its number of objects.
        """
        page = self.decode(resource.path, content, ListPage)
        for raw in page.items or ():
            try:
                sink.take((msgspec.json.decode(raw, type=model),))
            except msgspec.ValidationError:
                sink.broken(raw)
        return page.metadata, len(page.items or ())

    def _read(
        self, resource: Resource, project: Callable[[msgspec.Raw], T], query: Mapping[str, str], accept: str
    ) -> tuple[T, ...]:
        found: list[T] = []
        for page in self.pages(resource.path, accept=accept, **query):
            listed = self.decode(resource.path, page.content, ListPage)
            try:
                found += map(project, listed.items or ())
            except msgspec.ValidationError as error:
                msg = (
                    f"context {self.context}: an object among {resource.describe()} is malformed:"
                    f" {problem_of(error)}"
                )
                raise HubError(msg) from error
            page.taken(count=len(listed.items or ()), more=listed.metadata.more)
        return tuple(found)

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
