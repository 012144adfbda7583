"""The client of the hub's API server. It sends no write without a claim on the Lease.

The claim is looked at right before the bytes are sent, because every await before that may take minutes: a
process can be frozen (SIGSTOP, a paused virtual machine, a node without CPU) after any check.

ConfigMaps are read by name and not watched, because that would need more rights than to get one object.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Mapping
from http import HTTPStatus
from typing import Any, Final, Generic, TypeVar

import msgspec

from dsf_runtime.access import Access
from dsf_runtime.apiserver import ApiError, ApiServer
from dsf_runtime.backoff import Backoff
from dsf_runtime.clock import monotonic
from dsf_runtime.informer import STALE_SECONDS
from dsf_wire.constants import MANAGED_BY_LABEL
from gitops_dsf.hub.objects import ManagedClusterSet, ManagedClusterSetBinding
from gitops_dsf.hub.resources import BINDINGS, CLUSTER_SETS

LOG = logging.getLogger(__name__)
T = TypeVar("T")
MANAGER: Final = "gitops-dsf-reconciler"
DELETION_SECONDS: Final = 4.0
"""Time limit of one attempt at a deletion, from the connection to the answer."""
MARGIN_SECONDS: Final = 1.0
"""What must be left of the claim after the time limit."""
POLL_SECONDS: Final = 30.0
"""Between two reads of a rendered ConfigMap."""
REFUSED: Final = Backoff(first=10.0, ceiling=300.0, jitter=0)
"""Pauses after the hub refused writes of one object, such as the status of a scorer or the items of moves of
one cluster.
"""


class HubApi(ApiServer):
    """`left` says for how many seconds the claim on the Lease may be trusted."""

    def __init__(
        self,
        *,
        load: Callable[[], Access],
        left: Callable[[], float] = lambda: float("inf"),
        timeout_seconds: float = 15.0,
        wall: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(
            load=load,
            user_agent=MANAGER,
            timeout_seconds=timeout_seconds,
            admit=self._ask,
            wall=wall,
        )
        self._left = left
        self.on_conflict: Callable[[str], None] = lambda _resource: None
        """Called with the plural name of a resource when somebody else wrote an object meanwhile."""
        self._beside = set[asyncio.Task[None]]()

    def beside(self, work: Coroutine[Any, Any, None], *, name: str) -> asyncio.Task[None]:
        """Runs requests beside the caller. They end with the connections: one that outlived them would leave
        its socket open.
        """
        task = asyncio.create_task(work, name=name)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)
        return task

    async def close(self) -> None:
        """Ends what runs beside its callers, and closes all connections."""
        tasks = list(self._beside)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await super().close()

    async def request(self, method: str, path: str, **how: Any) -> bytes:  # noqa: ANN401 - as the base class
        try:
            return await super().request(method, path, **how)
        except ApiError as error:
            # A POST is answered 409 when the object exists, which is not a conflict about a version.
            if error.status == HTTPStatus.CONFLICT and method != "POST":
                LOG.info("another writer was faster; it is read again: %s", error)
                self.on_conflict(_resource_of(path))
            raise

    async def merge(self, path: str, change: Mapping[str, Any], *, manager: str = MANAGER) -> bytes:
        return await super().merge(path, change, manager=manager)

    async def listed(self, path: str, read: Callable[[msgspec.Raw], T], **selector: str) -> list[T]:
        """Every object of a list. `selector` is fieldSelector or labelSelector. Raises ApiError."""
        found = list[T]()
        await self.list(path, lambda raw: found.append(read(raw)), **selector)
        return found

    async def one(self, path: str, name: str, kind: type[T]) -> T | None:
        """The object of this name, by a list: there is no right to get. Raises ApiError."""
        read = msgspec.json.Decoder(kind).decode
        found = await self.listed(path, read, fieldSelector=f"metadata.name={name}")
        return found[0] if found else None

    async def sets_and_bindings(self, namespace: str) -> tuple[list[ManagedClusterSet], list[str]]:
        """All ManagedClusterSets, and the names of the bindings of a namespace. Raises ApiError."""
        sets = await self.listed(CLUSTER_SETS.path, msgspec.json.Decoder(ManagedClusterSet).decode)
        path, binding = (
            BINDINGS.within(namespace).path,
            msgspec.json.Decoder(ManagedClusterSetBinding),
        )
        return sets, [each.metadata.name for each in await self.listed(path, binding.decode)]

    async def delete(self, path: str, *, uid: str, resource_version: str) -> None:
        """Deletes one object of this UID and version. Raises ApiError: 404 if it is gone, 409 if changed."""
        conditions = {"uid": uid, "resourceVersion": resource_version}
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": conditions}
        await self.request("DELETE", path, body=body, seconds=DELETION_SECONDS)

    def check_leads(self) -> None:
        """Raises ApiError if no write may be sent now. For writes to other servers, such as a push."""
        self._ask("PUSH", "")

    def _ask(self, method: str, path: str) -> None:
        """Raises ApiError when too little is left of the claim for this request."""
        left = self._left()
        if left <= 0 or (method == "DELETE" and left < DELETION_SECONDS + MARGIN_SECONDS):
            msg = f"{method} {path}: not sent: another replica may lead before the hub answers"
            raise ApiError(msg)


def _resource_of(path: str) -> str:
    """The plural name of the resource of a path, such as managedclusters."""
    words = path.strip("/").split("/")
    words = words[2:] if words[0] == "api" else words[3:]
    return words[2] if words[0] == "namespaces" and len(words) > 2 else words[0]


class ConfigMapPoll(Generic[T]):
    """A rendered ConfigMap. `current` is None while there is none, or it could not be read yet."""

    def __init__(
        self,
        *,
        api: HubApi,
        namespace: str,
        name: str,
        key: str,
        read: Callable[[object], T | None],
    ) -> None:
        """`read` takes the data of the ConfigMap, and raises msgspec.DecodeError."""
        self._api, self.name, self._key, self._read = api, name, key, read
        self._path = f"/api/v1/namespaces/{namespace}/configmaps/{name}"
        self._last_warning = ""
        self.current: T | None = None
        """The same object until the content changes."""
        self.synced = asyncio.Event()
        """Set after the first read, even when it failed."""
        self._read_at: float | None = None
        """When the ConfigMap was read last, or was known not to exist."""

    @property
    def trusted(self) -> bool:
        """Whether it was read, or did not exist, a short time ago. Like an informer it becomes outdated: what
        nobody could read for so long may have changed.
        """
        return self._read_at is not None and monotonic() - self._read_at <= STALE_SECONDS

    async def refresh(self) -> None:
        """Reads the ConfigMap once. When it cannot be read or is invalid, the content stays as it is."""
        try:
            item = msgspec.json.decode(await self._api.get(self._path), type=dict[str, Any])
            found = self._read(item.get("data"))
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                self.current, self._read_at = None, monotonic()
            self._warn(str(error))
        except msgspec.DecodeError as error:
            self._warn(f"ConfigMap {self.name}, key {self._key}: {error}")
        else:
            self._last_warning, self._read_at = "", monotonic()
            if found != self.current:
                self.current = found
        self.synced.set()

    async def run(self) -> None:
        while True:
            await self.refresh()
            await asyncio.sleep(POLL_SECONDS)

    def _warn(self, words: str) -> None:
        if words != self._last_warning:
            LOG.warning("%s is not updated: %s", self._key, words)
        self._last_warning = words


class OwnConfigMap:
    """A ConfigMap of the reconciler. What others wrote after it was read is never overwritten."""

    def __init__(self, *, api: HubApi, namespace: str, name: str) -> None:
        self._api, self._namespace, self._name = api, namespace, name
        self._path = f"/api/v1/namespaces/{namespace}/configmaps"

    async def read(self) -> dict[str, Any] | None:
        """The object; None when it does not exist. Raises ApiError."""
        try:
            found: dict[str, Any] = msgspec.json.decode(
                await self._api.get(f"{self._path}/{self._name}")
            )
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise
        return found

    async def write(self, before: dict[str, Any] | None, data: Mapping[str, str]) -> dict[str, Any]:
        """Writes these keys. Raises ApiError, with 409 when somebody wrote it after it was read."""
        item = before or {"metadata": {"name": self._name, "namespace": self._namespace}}
        metadata = item["metadata"]
        item = {
            **item,
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                **metadata,
                "labels": {**(metadata.get("labels") or {}), MANAGED_BY_LABEL: MANAGER},
            },
            "data": {**(item.get("data") or {}), **data},
        }
        if before is None:
            answer = await self._api.create(self._path, item)
        else:
            answer = await self._api.replace(f"{self._path}/{self._name}", item)
        found: dict[str, Any] = msgspec.json.decode(answer)
        return found
