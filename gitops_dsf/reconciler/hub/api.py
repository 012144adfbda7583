"""The client of the hub's API server. It sends no write without a claim on the Lease.

The claim is looked at right before the bytes are sent, because every await before that may take minutes: a
process can be frozen (SIGSTOP, a paused virtual machine, a node without CPU) after any check.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from dsf_runtime.access import Access
from dsf_runtime.apiserver import ApiError, ApiServer
from gitops_dsf.hub.objects import ManagedClusterSet, ManagedClusterSetBinding
from gitops_dsf.hub.resources import BINDINGS, CLUSTER_SETS

T = TypeVar("T")
MANAGER: Final = "gitops-dsf-reconciler"
DELETION_SECONDS: Final = 4.0
"""Time limit of one attempt at a deletion, from the connection to the answer."""
MARGIN_SECONDS: Final = 1.0
"""What must be left of the claim after the time limit."""


class HubApi(ApiServer):
    """`left` says for how many seconds the claim on the Lease may be trusted."""

    def __init__(
        self,
        *,
        load: Callable[[], Access],
        left: Callable[[], float] = lambda: float("inf"),
        timeout_seconds: float = 15.0,
    ) -> None:
        super().__init__(load=load, user_agent=MANAGER, timeout_seconds=timeout_seconds, admit=self._ask)
        self._left = left

    async def merge(self, path: str, change: Mapping[str, Any], *, manager: str = MANAGER) -> bytes:
        """A JSON merge patch. Raises ApiError."""
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
        path, binding = BINDINGS.within(namespace).path, msgspec.json.Decoder(ManagedClusterSetBinding)
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
