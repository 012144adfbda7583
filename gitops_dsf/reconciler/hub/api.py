"""The client of the hub's API server. It sends no write without a claim on the Lease.

The claim is looked at right before the bytes are sent, because every await before that may take
minutes: a process can be frozen (SIGSTOP, a paused virtual machine, a node without CPU) after any
check.

Not guaranteed: that a write arrives while the claim holds. A request can be delayed on its way.
Only a write that names the version that it changes is safe against that.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Mapping
from http import HTTPStatus
from typing import Any, Final, TypeVar

import msgspec

from dsf_runtime.access import Access
from dsf_runtime.apiserver import ApiError, ApiServer
from dsf_runtime.backoff import Backoff
from gitops_dsf.hub.objects import ManagedClusterSet, ManagedClusterSetBinding
from gitops_dsf.hub.resources import BINDINGS, CLUSTER_SETS

MANAGER: Final = "gitops-dsf-reconciler"
DELETION_SECONDS: Final = 4.0
"""Time limit of one attempt at a deletion, from the connection to the answer."""
MARGIN_SECONDS: Final = 1.0
"""The time that must remain of the claim after the time limit of the request."""
REFUSAL_BACKOFF: Final = Backoff(first=10.0, ceiling=300.0, jitter=0)
"""Pauses after the hub refused writes of one object.

Such as the status of a scorer, or the items of moves of one cluster.
"""

LOG = logging.getLogger(__name__)

T = TypeVar("T")


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
            admit=self._check_claim,
            wall=wall,
        )
        self._left = left
        self.on_conflict: Callable[[str], None] = lambda _resource: None
        """Called with the plural name of a resource after a conflict about an object."""
        self._beside = set[asyncio.Task[None]]()

    def beside(self, work: Coroutine[Any, Any, None], *, name: str) -> asyncio.Task[None]:
        """Runs requests beside the caller.

        They end with the connections: one that outlived them would leave its socket open.
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
            # A POST is answered 409 when the object exists, which is not a conflict about a
            # version.
            if error.status == HTTPStatus.CONFLICT and method != "POST":
                LOG.info("another writer changed the object first; it is read again: %s", error)
                self.on_conflict(_resource_of(path))
            raise

    async def merge(self, path: str, change: Mapping[str, Any], *, manager: str = MANAGER) -> bytes:
        return await super().merge(path, change, manager=manager)

    async def listed(self, path: str, read: Callable[[msgspec.Raw], T], **selector: str) -> list[T]:
        """Every object of a list. `selector` is fieldSelector or labelSelector. Raises ApiError."""
        objects = list[T]()
        await self.list(path, lambda raw: objects.append(read(raw)), **selector)
        return objects

    async def find(self, path: str) -> bytes | None:
        """The object at this path; None if there is none. Raises ApiError."""
        try:
            return await self.get(path)
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise

    async def one(self, path: str, name: str, kind: type[T]) -> T | None:
        """The object of this name, by a list: there is no right to get. Raises ApiError."""
        read = msgspec.json.Decoder(kind).decode
        objects = await self.listed(path, read, fieldSelector=f"metadata.name={name}")
        return objects[0] if objects else None

    async def cluster_sets(self) -> list[ManagedClusterSet]:
        """All ManagedClusterSets. Raises ApiError."""
        read = msgspec.json.Decoder(ManagedClusterSet).decode
        return await self.listed(CLUSTER_SETS.path, read)

    async def bound_sets(self, namespace: str) -> list[str]:
        """The ManagedClusterSets that a namespace has a binding for. Raises ApiError."""
        read = msgspec.json.Decoder(ManagedClusterSetBinding).decode
        bindings = await self.listed(BINDINGS.within(namespace).path, read)
        # OCM's webhook (v1.2.1) refuses a binding with another name than that of its set.
        return [binding.metadata.name for binding in bindings]

    async def delete(self, path: str, *, uid: str, resource_version: str) -> None:
        """Deletes one object of this UID and version.

        The UID protects a new object of the same name, and the version an object that changed after
        it was judged. Raises ApiError: 404 if it is gone, 409 if it changed.
        """
        conditions = {"uid": uid, "resourceVersion": resource_version}
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": conditions}
        await self.request("DELETE", path, body=body, seconds=DELETION_SECONDS)

    def check_leads(self) -> None:
        """Raises ApiError if no write may be sent now.

        For writes to other servers, such as a push.
        """
        self._check_claim("PUSH", "")

    def _check_claim(self, method: str, path: str) -> None:
        """Raises ApiError when too little is left of the claim for this request.

        A deletion needs room for its whole time limit, because it cannot be undone.
        """
        seconds_left = self._left()
        is_short = method == "DELETE" and seconds_left < DELETION_SECONDS + MARGIN_SECONDS
        if seconds_left <= 0 or is_short:
            msg = f"{method} {path}: not sent: another replica may lead before the hub answers"
            raise ApiError(msg)


def _resource_of(path: str) -> str:
    """The plural name of the resource of a path, such as managedclusters."""
    words = path.strip("/").split("/")
    # The core group has no name in its paths: /api/v1 in place of /apis/GROUP/VERSION.
    words = words[2:] if words[0] == "api" else words[3:]
    return words[2] if words[0] == "namespaces" and len(words) > 2 else words[0]
