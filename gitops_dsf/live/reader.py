"""One hub, read part by part: what may not be read, or is not installed, is a value and not the end of the program."""

import email.utils
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

import msgspec

from gitops_dsf.errors import HubError
from gitops_dsf.hub.metadata import problem_of
from gitops_dsf.hub.unread import Unread, Why
from gitops_dsf.live.hub import PAGE, Answer, ask, connect, refusal

T = TypeVar("T")
S = TypeVar("S")
Taken_contra = TypeVar("Taken_contra", contravariant=True)
Object = dict[str, Any]
METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
"""The API server answers with metadata and leaves the rest, such as a Secret's data, where it is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Resource:
    """A collection of the API, in one namespace or in all."""

    plural: str
    group: str = ""
    version: str = "v1"
    namespace: str | None = None

    @property
    def path(self) -> str:
        """Of the collection."""
        base = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        return f"{base}/namespaces/{self.namespace}/{self.plural}" if self.namespace else f"{base}/{self.plural}"

    def describe(self, name: str = "") -> str:
        """For people."""
        kind = f"{self.plural}.{self.group}" if self.group else self.plural
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{kind} {name}{where}" if name else f"{kind}{where}"


_WHY: dict[int, Why] = {HTTPStatus.FORBIDDEN: Why.FORBIDDEN, HTTPStatus.NOT_FOUND: Why.NOT_INSTALLED}


class _More(msgspec.Struct, frozen=True, rename={"token": "continue", "remaining": "remainingItemCount"}):
    token: str = ""
    remaining: int | None = None


class _Page(msgspec.Struct, frozen=True):
    items: list[msgspec.Raw] | None = None
    metadata: _More = _More()


class _Typed(msgspec.Struct, Generic[S], frozen=True):
    items: list[S] | None = None
    metadata: _More = _More()


class Sink(Protocol[Taken_contra]):
    """Takes objects while their pages are read."""

    def begin(self) -> None:
        """The list begins, or begins anew: what was taken before does not count."""

    def take(self, items: "Sequence[Taken_contra]") -> None:
        """Some objects."""

    def broken(self, raw: msgspec.Raw) -> None:
        """One that is not what it should be."""


class Reader:
    """Owns a connection to one hub; a context manager. Knows how far the hub's clock is ahead of this machine's."""

    def __init__(self, *, context: str, kubeconfig: Path | None = None) -> None:
        self.context = context
        self._client = connect(context, kubeconfig)
        self._best = float("inf")
        self.clock_offset: float | None = None
        """Seconds; None before the first answer that has a Date. Exact to about a second and half the time of a request."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection."""
        close: Callable[[], None] = self._client.close
        close()

    def now(self) -> datetime:
        """The hub's clock; this machine's where the hub does not say."""
        return datetime.now(UTC) + timedelta(seconds=self.clock_offset or 0.0)

    def read(
        self, resource: Resource, project: Callable[[msgspec.Raw], T], *, labels: str = "", name: str = "", metadata_only: bool = False
    ) -> tuple[T, ...] | Unread:
        """Every object, each reduced by `project` while its page is read. Raises HubError when the hub does not answer."""
        query = [("labelSelector", labels)] if labels else []
        if name:
            query.append(("fieldSelector", f"metadata.name={name}"))
        accept = METADATA_ONLY if metadata_only else "application/json"
        found = self._read(resource, project, query, accept)
        if isinstance(found, Answer) and found.status == HTTPStatus.GONE:
            # The list changed while it was read: once more, from its beginning.
            found = self._read(resource, project, query, accept)
        return self._unread(resource, found, verb="list") if isinstance(found, Answer) else found

    def stream(self, resource: Resource, model: type[S], sink: Sink[S], *, name: str = "") -> Unread | None:
        """Gives every object to the sink while its page is read, decoded; why there are none. Raises HubError."""
        query = [("fieldSelector", f"metadata.name={name}")] if name else []
        answer = self._stream(resource, model, sink, query)
        if answer is not None and answer.status == HTTPStatus.GONE:
            # The list changed while it was read: once more, from its beginning.
            answer = self._stream(resource, model, sink, query)
        return None if answer is None else self._unread(resource, answer, verb="list")

    def count(self, resource: Resource) -> int | None:
        """How many objects there are, without reading them; None where the hub does not say."""
        answer = self._ask(resource.path, [("limit", 1)], METADATA_ONLY)
        if answer.status != HTTPStatus.OK:
            return None
        page = self._decode(answer, resource.path, _Page)
        rest = page.metadata.remaining
        return None if page.metadata.token and rest is None else len(page.items or ()) + (rest or 0)

    def find(self, resource: Resource, name: str) -> Object | Unread | None:
        """One object; None where it does not exist. Raises HubError when the hub does not answer."""
        answer = self._ask(f"{resource.path}/{name}", [], "application/json")
        if answer.status == HTTPStatus.NOT_FOUND:
            return None
        if answer.status != HTTPStatus.OK:
            return self._unread(resource, answer, verb="get", name=name)
        found: Object = self._decode(answer, resource.path, dict[str, Any])
        return found

    def groups(self) -> dict[str, tuple[str, ...]] | Unread:
        """API groups that the hub serves, with their versions. Raises HubError when the hub does not answer."""
        answer = self._ask("/apis", [], "application/json")
        if answer.status != HTTPStatus.OK:
            return self._unread(Resource(plural="/apis"), answer, verb="get")
        content = self._decode(answer, "/apis", dict[str, Any])
        return {item["name"]: tuple(one["version"] for one in item.get("versions") or ()) for item in content.get("groups") or ()}

    def _stream(self, resource: Resource, model: type[S], sink: Sink[S], query: list[tuple[str, str]]) -> Answer | None:
        """The answer that is no page; None after all of them."""
        token = ""
        decoder: msgspec.json.Decoder[_Typed[S]] = msgspec.json.Decoder(_Typed[model])  # type: ignore[valid-type]
        sink.begin()
        while True:
            more = [("continue", token)] if token else []
            answer = self._ask(resource.path, [("limit", PAGE), *query, *more], "application/json")
            if answer.status != HTTPStatus.OK:
                return answer
            token = self._taken(answer, resource, decoder, sink)
            if not token:
                return None

    def _taken(self, answer: Answer, resource: Resource, decoder: "msgspec.json.Decoder[_Typed[S]]", sink: Sink[S]) -> str:
        """Where the next page begins; empty after the last one."""
        try:
            typed = decoder.decode(answer.body)
        except msgspec.ValidationError:
            # One object of anybody's must not hide the others.
            page = self._decode(answer, resource.path, _Page)
            for raw in page.items or ():
                try:
                    sink.take(decoder.decode(b'{"items":[' + bytes(raw) + b"]}").items or ())
                except msgspec.ValidationError:
                    sink.broken(raw)
            return page.metadata.token
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            msg = f"context {self.context}: GET {resource.path}: the answer is not what an API server says: {error}"
            raise HubError(msg) from error
        sink.take(typed.items or ())
        return typed.metadata.token

    def _read(
        self, resource: Resource, project: Callable[[msgspec.Raw], T], query: list[tuple[str, str]], accept: str
    ) -> tuple[T, ...] | Answer:
        """All pages, or the answer that is none."""
        found: list[T] = []
        token = ""
        while True:
            more = [("continue", token)] if token else []
            answer = self._ask(resource.path, [("limit", PAGE), *query, *more], accept)
            if answer.status != HTTPStatus.OK:
                return answer
            page = self._decode(answer, resource.path, _Page)
            try:
                found += map(project, page.items or ())
            except msgspec.ValidationError as error:
                msg = f"context {self.context}: an object among {resource.describe()} is not what it should be: {problem_of(error)}"
                raise HubError(msg) from error
            token = page.metadata.token
            if not token:
                return tuple(found)

    def _ask(self, path: str, query: list[tuple[str, Any]], accept: str) -> Answer:
        answer = ask(self._client, self.context, path, query, accept=accept)
        self._observe_clock(answer)
        if answer.status == HTTPStatus.UNAUTHORIZED:
            raise refusal(self.context, path, answer)
        return answer

    def _observe_clock(self, answer: Answer) -> None:
        parsed = email.utils.parsedate_tz(answer.date or "")
        took = answer.answered - answer.asked
        if parsed is not None and took < self._best:
            self._best = took
            # The header cuts the fraction of a second off: half a second is what it is wrong by on average.
            self.clock_offset = email.utils.mktime_tz(parsed) + 0.5 - (answer.asked + answer.answered) / 2

    def _decode(self, answer: Answer, path: str, kind: type[T]) -> T:
        try:
            return msgspec.json.decode(answer.body, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            msg = f"context {self.context}: GET {path}: the answer is not what an API server says: {error}"
            raise HubError(msg) from error

    def _unread(self, resource: Resource, answer: Answer, *, verb: str, name: str = "") -> Unread:
        why = _WHY.get(answer.status, Why.FAILED)
        return Unread(what=resource.describe(name), why=why, verb=verb, detail=f"{answer.status} {answer.reason}")


def whole(raw: msgspec.Raw) -> Object:
    """An object as it is."""
    found: Object = msgspec.json.decode(raw)
    return found
