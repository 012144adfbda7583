"""Writes to a hub: server-side apply and deletions, also as a dry run of the API server."""

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import msgspec

from dsf_wire.constants import GENERATOR_MANAGER
from gitops_dsf.errors import HubError
from gitops_dsf.hubreader.hub import QUIET_SECONDS, silence, tell

try:
    from dsf_runtime.access import AccessError
    from dsf_runtime.apiserver import APPLY, MERGE, ApiError, ApiServer
    from dsf_runtime.calls import FailureKind
    from dsf_runtime.clock import Clock, SystemClock
    from gitops_dsf.hubreader.kubeconfig import Kubeconfig
except ImportError as error:
    msg = f"{error.name} is not installed; writing to a hub needs: pip install 'gitops-dsf[live]'"
    raise HubError(msg) from error

Object = dict[str, Any]
T = TypeVar("T")
TIMEOUT_SECONDS: Final = 30.0
DRY_RUN: Final = {"dryRun": "All"}


class _NotFoundError(HubError):
    """The object does not exist."""


class Change(StrEnum):
    """What an apply did to an object."""

    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "unchanged"


class _Resource(msgspec.Struct, frozen=True):
    name: str
    kind: str
    namespaced: bool


class _Resources(msgspec.Struct, frozen=True):
    resources: list[_Resource] = []


class _Version(msgspec.Struct, frozen=True):
    version: str


class _Group(msgspec.Struct, frozen=True):
    name: str
    versions: list[_Version]


class _Groups(msgspec.Struct, frozen=True):
    groups: list[_Group] = []


@dataclass(frozen=True, kw_only=True, slots=True)
class Served:
    """A kind that the hub serves."""

    base: str
    """Such as `/apis/apps/v1`."""
    plural: str
    namespaced: bool

    def path(self, *, namespace: str = "", name: str = "") -> str:
        """The path of an object, or of all of them in a namespace or in the hub."""
        inside = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return f"{self.base}{inside}/{self.plural}" + (f"/{name}" if name else "")


@dataclass(kw_only=True)
class WritableHub:
    """A connection to a hub; an async context manager. Every error of the hub becomes a HubError."""

    context: str
    kubeconfig: Path | None = None
    dry_run: bool = False
    """The hub validates every write and stores none."""
    clock: Clock = field(default_factory=SystemClock)
    _served: dict[str, tuple[_Resource, ...]] = field(default_factory=dict, init=False)
    _groups: dict[str, tuple[str, ...]] | None = field(default=None, init=False)
    _told: bool = field(default=False, init=False)

    async def __aenter__(self) -> Self:
        load = Kubeconfig(path=self.kubeconfig, context=self.context).load
        self._server = ApiServer(
            load=load,
            user_agent="gitops-dsf",
            timeout_seconds=TIMEOUT_SECONDS,
            clock=self.clock,
            patient=True,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._server.close()

    def command(self, *words: str) -> str:
        """A command of kubectl or gitops-dsf for this hub, quoted for a shell."""
        file = ("--kubeconfig", str(self.kubeconfig)) if self.kubeconfig is not None else ()
        return shlex.join((*words, *file, "--context", self.context))

    def now(self) -> float:
        """Unix time of the hub's clock."""
        return self._server.now()

    async def apply(self, item: Object, *, force: bool, check: bool = False) -> Change:
        """Applies an object with our field manager. With `force` it takes over fields that other managers
        own. With `check` it is a dry run. Raises HubError.
        """
        metadata = item["metadata"]
        kind = await self.kind(*_group_and_version(item["apiVersion"]), kind=item["kind"])
        if kind is None:
            msg = f"context {self.context}: the hub does not serve {item['kind']} of {item['apiVersion']}"
            raise HubError(msg)
        path = kind.path(namespace=metadata.get("namespace", ""), name=metadata["name"])
        before = await self._find(path)
        params = {"fieldManager": GENERATOR_MANAGER, "force": "true" if force else "false"}
        answer = await self._write(
            "PATCH", path, params=params, body=item, content_type=APPLY, check=check or self.dry_run
        )
        if before is None:
            return Change.CREATED
        return Change.UNCHANGED if _declared(before, item) == _declared(answer, item) else Change.CHANGED

    async def merge(self, path: str, change: Mapping[str, Any]) -> None:
        """Sends a JSON merge patch. Raises HubError."""
        await self._write(
            "PATCH",
            path,
            params={"fieldManager": GENERATOR_MANAGER},
            body=dict(change),
            content_type=MERGE,
            check=self.dry_run,
        )

    async def delete(self, path: str, *, orphan: bool = False) -> bool:
        """Deletes an object. With `orphan` the objects that it owns stay. Returns whether it was there.
        Raises HubError.
        """
        body = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Orphan" if orphan else "Background",
            **({"dryRun": ["All"]} if self.dry_run else {}),
        }
        try:
            await self._ask(lambda: self._server.request("DELETE", path, body=body))
        except _NotFoundError:
            return False
        return True

    async def find(self, path: str) -> Object | None:
        """Returns an object; None if it does not exist. Raises HubError."""
        found = await self._find(path)
        return None if found is None else dict(msgspec.json.decode(found, type=dict[str, Any]))

    async def list(self, path: str, *, labels: str = "") -> list[Object]:
        """Returns the objects of a collection. Raises HubError."""
        found: list[Object] = []

        def take(raw: msgspec.Raw) -> None:
            found.append(msgspec.json.decode(raw, type=dict[str, Any]))

        def read() -> Awaitable[str]:
            found.clear()
            return self._server.list(path, take, **({"labelSelector": labels} if labels else {}))

        await self._ask(read)
        return found

    async def kind(self, group: str, version: str = "", *, kind: str) -> Served | None:
        """Returns how the hub serves a kind, in the given version or the first that has it; None if it does
        not. Raises HubError.
        """
        for candidate in (version,) if version else await self._versions(group):
            base = f"/apis/{group}/{candidate}" if group else f"/api/{candidate}"
            for resource in await self._resources(base):
                if resource.kind == kind and "/" not in resource.name:
                    return Served(base=base, plural=resource.name, namespaced=resource.namespaced)
        return None

    async def _versions(self, group: str) -> tuple[str, ...]:
        if not group:
            return ("v1",)
        if self._groups is None:
            content = await self._ask(lambda: self._server.get("/apis"))
            self._groups = {
                item.name: tuple(one.version for one in item.versions)
                for item in msgspec.json.decode(content, type=_Groups).groups
            }
        return self._groups.get(group, ())

    async def _resources(self, base: str) -> tuple[_Resource, ...]:
        if base not in self._served:
            found = await self._find(base)
            decoded = _Resources() if found is None else msgspec.json.decode(found, type=_Resources)
            self._served[base] = tuple(decoded.resources)
        return self._served[base]

    async def _find(self, path: str) -> bytes | None:
        try:
            return await self._ask(lambda: self._server.get(path))
        except _NotFoundError:
            return None

    async def _write(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str],
        body: Object,
        content_type: str,
        check: bool,
    ) -> bytes:
        reply = await self._ask(
            lambda: self._server.request(
                method,
                path,
                params={**params, **(DRY_RUN if check else {})},
                body=body,
                content_type=content_type,
            )
        )
        return reply.body

    async def _ask(self, call: Callable[[], Awaitable[T]]) -> T:
        """The answer of the hub. Raises HubError."""
        with self._hub_errors(), self._patience():
            return await call()

    @contextmanager
    def _patience(self) -> Iterator[None]:
        """Says once that the hub is silent, if it does not answer soon."""
        waiting = asyncio.get_running_loop().call_later(QUIET_SECONDS, self._tell_silence)
        try:
            yield
        finally:
            waiting.cancel()

    def _tell_silence(self) -> None:
        if not self._told:
            self._told = True
            tell(silence(self.context))

    @contextmanager
    def _hub_errors(self) -> Iterator[None]:
        try:
            yield
        except ApiError as error:
            kind = _NotFoundError if error.status == HTTPStatus.NOT_FOUND else HubError
            where = "" if error.kind is FailureKind.CREDENTIALS else f"context {self.context}: "
            raise kind(f"{where}{error}") from error
        except AccessError as error:
            raise HubError(str(error)) from error


def _group_and_version(api_version: str) -> tuple[str, str]:
    group, _, version = api_version.rpartition("/")
    return group, version


def _declared(text: bytes, item: Object) -> object:
    """What people declare in an object, for comparisons: without what its controller writes at any time.

    Empty values are left out, because Argo CD removes them from an Application when it writes it.
    """
    live: Object = msgspec.json.decode(text, type=dict[str, Any])
    fields = {key: value for key, value in live.items() if key not in {"metadata", "operation", "status"}}
    metadata = live.get("metadata", {})
    for name in ("labels", "annotations"):
        wanted, found = item["metadata"].get(name) or {}, metadata.get(name) or {}
        fields[name] = {key: found.get(key) for key in wanted}
    return _without_empty(fields)


def _without_empty(value: object) -> object:
    if isinstance(value, dict):
        inner = {key: _without_empty(one) for key, one in value.items()}
        return {key: one for key, one in inner.items() if one not in (None, False, "", [], {})}
    if isinstance(value, list):
        return [_without_empty(one) for one in value]
    return value


def object_text(kind: str, item: Mapping[str, Any]) -> str:
    """Formats `Application argocd/portal`. Items of a list do not say their kind."""
    metadata = item["metadata"]
    return f"{kind} {'/'.join(filter(None, (metadata.get('namespace'), metadata['name'])))}"
