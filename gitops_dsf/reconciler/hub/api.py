"""The client of the hub's API server. It sends no write without a claim on the Lease, and awaits every
deletion.
"""

import asyncio
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final, TypeVar

import msgspec

from dsf_runtime.access import Access
from dsf_runtime.apiserver import ApiError, ApiServer
from dsf_runtime.clock import Clock
from gitops_dsf.reconciler.hub.fence import DELETION_SECONDS, Fence, Refusal

T = TypeVar("T")
MANAGER: Final = "gitops-dsf-reconciler"


class NotSentError(ApiError):
    """The write was not sent, or not completely, so the hub cannot have acted on it."""

    def __init__(self, message: str, *, refusal: Refusal) -> None:
        super().__init__(message)
        self.refusal = refusal


class HubApi(ApiServer):
    """`fence` is asked before every write. Without a fence (for the Lease itself) nothing can be deleted, and
    other writes are sent.
    """

    def __init__(
        self,
        *,
        load: Callable[[], Access],
        fence: Fence | None = None,
        timeout_seconds: float = 15.0,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(
            load=load, user_agent=MANAGER, timeout_seconds=timeout_seconds, clock=clock, admit=self._ask
        )
        self._fence = fence
        self._deletions: set[asyncio.Task[None]] = set()

    async def merge(self, path: str, change: Mapping[str, Any], *, manager: str = MANAGER) -> bytes:
        """A JSON merge patch. Raises ApiError."""
        return await super().merge(path, change, manager=manager)

    async def listed(self, path: str, read: Callable[[msgspec.Raw], T], **selector: str) -> list[T]:
        """Every object of a list, as `read` returns it. `selector` is fieldSelector or labelSelector. Raises
        ApiError.
        """
        found = list[T]()
        await self.list(path, lambda raw: found.append(read(raw)), **selector)
        return found

    async def one(self, path: str, name: str, read: Callable[[msgspec.Raw], T]) -> T | None:
        """The object of this name, by a list that selects it: the reconciler has the right to list, and needs
        no right to get. Raises ApiError.
        """
        found = await self.listed(path, read, fieldSelector=f"metadata.name={name}")
        return found[0] if found else None

    async def delete(self, path: str, *, uid: str, resource_version: str = "") -> None:
        """Deletes one object, if it still has this UID and resourceVersion.

        Raises ApiError: 404 when it does not exist, 409 when it is another one; NotSentError when this
        replica may not delete now. When the caller is cancelled the request continues, so that its result is
        known before the Lease is given back (`settled`).
        """
        task = asyncio.create_task(self._delete(path, uid=uid, resource_version=resource_version))
        self._deletions.add(task)
        task.add_done_callback(self._ended)
        await asyncio.shield(task)

    def no_deletion(self) -> Refusal | None:
        """What forbids any deletion now. It is asked again when one is sent."""
        return _NO_FENCE if self._fence is None else self._fence.deletion()

    def check_leads(self) -> None:
        """Raises NotSentError if no write may be sent to the hub now. For writes to other servers, such as a
        push.
        """
        self._ask("PUSH", "")

    async def settled(self) -> bool:
        """Waits for the end of all deletions. False when one of them had no answer and may still
        take effect.
        """
        await asyncio.gather(*self._deletions, return_exceptions=True)
        return self._fence is None or self._fence.clean

    async def _delete(self, path: str, *, uid: str, resource_version: str) -> None:
        conditions = {"uid": uid, **({"resourceVersion": resource_version} if resource_version else {})}
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": conditions}
        try:
            await self.request("DELETE", path, body=body, seconds=DELETION_SECONDS)
        except NotSentError:
            raise
        except ApiError as error:
            # Without an answer, or after a server error, the deletion may still take effect.
            if self._fence is not None and (
                not error.status or error.status >= HTTPStatus.INTERNAL_SERVER_ERROR
            ):
                self._fence.unanswered()
            raise

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._deletions.discard(task)
        if not task.cancelled():
            task.exception()  # the caller may have been cancelled

    def _ask(self, method: str, path: str) -> None:
        """Raises NotSentError when the fence forbids this request now."""
        if method == "DELETE":
            refusal = self.no_deletion()
        elif self._fence is None:
            return
        else:
            refusal = self._fence.write()
        if refusal is not None:
            msg = f"{method} {path}: not sent: {refusal.message}"
            raise NotSentError(msg, refusal=refusal)


_NO_FENCE: Final = Refusal(
    reason="LeaseNotHeld", message="this connection is for the Lease only", seconds=1.0
)
