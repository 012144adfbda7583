"""Leadership by a Lease (coordination.k8s.io/v1), by the rules of Kubernetes' own leader election.

Clocks of other replicas are not trusted: a Lease is free when it was not renewed for its duration
by the clock of this process. The own claim counts from the moment when a renewal was sent, not from
its answer: others count from its arrival at the hub, which is in between. A process leads once: it
ends when it lost the Lease.

Not guaranteed: that only one process believes to lead. One that was frozen believes it until it
looks at its clock again. So `api` looks at the claim right before each write.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final, NamedTuple

import msgspec

from dsf_runtime.apiserver import ApiError, ApiServer
from dsf_runtime.clock import monotonic
from gitops_dsf.errors import HubError
from gitops_dsf.hub.names import RECONCILER

LEASE_DURATION_SECONDS: Final = 15
"""Seconds from a renewal until another replica may take the Lease."""
RENEW_DEADLINE_SECONDS: Final = 12.0
"""Seconds for which the own claim counts. Others may take the Lease three seconds later."""
RETRY_PERIOD_SECONDS: Final = 2.0
"""Seconds between two renewals."""
CONFLICT_SECONDS: Final = 0.5
"""Pause after a conflict: the next attempt reads what changed."""
RELEASE_ATTEMPTS: Final = 3
"""Attempts to give the Lease back."""

LOG = logging.getLogger(__name__)


class LeaseLost(HubError):  # noqa: N818 - a state, not a mistake
    """Another replica may lead by now."""


class _SeenRenewal(NamedTuple):
    """The holder of a Lease and the time that it wrote. A change of either one is a renewal."""

    holder: str = ""
    renew_time: str = ""


class Leadership:
    """It leads as long as the hub answers within a third of the deadline.

    To take the Lease is a read and a write. To renew it is one write of what the last write
    returned, as in client-go (tools/leaderelection, tryAcquireOrRenew, v0.37.2). The
    resourceVersion makes the hub refuse it if anybody wrote meanwhile. After a failure the Lease is
    read again.
    """

    def __init__(
        self,
        *,
        api: ApiServer,
        namespace: str,
        identity: str,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`wall` gives the times that are written, which people read."""
        self._wall = wall
        self._api = api
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._identity = identity
        self._seen = _SeenRenewal()
        self._seen_at = 0.0
        self._sent_at = 0.0
        self._written: dict[str, Any] | None = None
        """The Lease as the last write left it.

        None after a failure, which may have taken effect.
        """
        self.is_leader = False

    def left(self) -> float:
        """Seconds for which the claim may be trusted. 0 or less when this replica does not lead."""
        return self._left() if self.is_leader else 0.0

    async def acquire(self) -> None:
        """Waits until this replica leads."""
        last_message = ""
        while not self.is_leader:
            has_lease = False
            try:
                has_lease = await self._try()
                message = f"{self._seen.holder} leads; waiting"
            except ApiError as error:
                message = f"the Lease cannot be taken: {error}"
            if has_lease:
                # With a claim that is nearly over, renew it before it is used.
                self.is_leader = self._left() >= RENEW_DEADLINE_SECONDS * 2 / 3
                limit = RENEW_DEADLINE_SECONDS / 3
                message = f"not leading: the hub takes more than {limit:g} s to answer"
                if self.is_leader:
                    message = f"leading as {self._identity}"
            if message != last_message:
                LOG.info("%s", message)
                last_message = message
            if not has_lease:
                await asyncio.sleep(RETRY_PERIOD_SECONDS)

    async def keep(self) -> None:
        """Renews until it is cancelled. Raises LeaseLost when another one leads, or may lead."""
        try:
            while True:
                # Count from the last renewal, not from its answer, which a slow hub delays.
                await asyncio.sleep(max(0.1, self._sent_at + RETRY_PERIOD_SECONDS - monotonic()))
                try:
                    async with asyncio.timeout(max(0.1, self._left())):
                        if not await self._try():
                            msg = f"no longer leading: {self._seen.holder} took the Lease"
                            raise LeaseLost(msg)
                except (ApiError, TimeoutError) as error:
                    if self._left() <= 0:
                        raise LeaseLost(
                            "no longer leading: the Lease was not renewed for"
                            f" {RENEW_DEADLINE_SECONDS:g} s: {error}"
                        ) from error
                    LOG.warning("the Lease is not renewed: %s", error)
                    # A conflict does not say who wrote: another program may have added an
                    # annotation. So the Lease is read again until the deadline, as client-go does
                    # (tools/leaderelection, renew, v0.37.2).
                    pause = CONFLICT_SECONDS if _is_conflict(error) else RETRY_PERIOD_SECONDS
                    await asyncio.sleep(min(pause, self._left()))
        finally:
            self.is_leader = False

    async def release(self) -> None:
        """Lets another replica lead at once. Never raises, because the Lease expires by itself."""
        for attempt in range(1, RELEASE_ATTEMPTS + 1):
            try:
                lease = _lease(await self._api.get(f"{self._path}/{RECONCILER}"))
                if lease["spec"].get("holderIdentity") == self._identity:
                    lease["spec"] |= {
                        "holderIdentity": "",
                        # The Lease has no holder any more, so other replicas need not wait for its
                        # end.
                        "leaseDurationSeconds": 1,
                        "renewTime": self._now(),
                    }
                    await self._api.replace(f"{self._path}/{RECONCILER}", lease)
            except ApiError as error:
                if _is_conflict(error) and attempt < RELEASE_ATTEMPTS:
                    continue
                LOG.info("the Lease is not given back: %s", error)
            return

    def _now(self) -> str:
        return datetime.fromtimestamp(self._wall(), UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def _left(self) -> float:
        return self._sent_at + RENEW_DEADLINE_SECONDS - monotonic()

    async def _try(self) -> bool:
        """Takes or renews the Lease once.

        Returns False if another replica holds it. Raises ApiError, with status 409 if the Lease was
        written after it was read, or was created meanwhile: then it is still unknown who holds it.
        """
        own_lease = self._written
        # Until the answer arrives it is not known whether the write takes effect.
        self._written = None
        if self.is_leader and own_lease is not None:
            own_lease["spec"] = self._spec(own_lease["spec"])
            try:
                await self._write(self._api.replace, f"{self._path}/{RECONCILER}", own_lease)
            except ApiError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise
            else:
                return True
        try:
            lease = _lease(await self._api.get(f"{self._path}/{RECONCILER}"))
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            lease = {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": RECONCILER},
                "spec": self._spec({}),
            }
            await self._write(self._api.create, self._path, lease)
            return True
        spec = lease["spec"]
        holder = str(spec.get("holderIdentity") or "")
        renewal = _SeenRenewal(holder, str(spec.get("renewTime") or ""))
        # The time in `renewTime` is that of another machine's clock, so only its changes count.
        if renewal != self._seen:
            self._seen = renewal
            self._seen_at = monotonic()
        duration = float(spec.get("leaseDurationSeconds") or LEASE_DURATION_SECONDS)
        if holder not in {"", self._identity} and monotonic() < self._seen_at + duration:
            return False
        # The object that was read has its resourceVersion: of two replicas that take it, one gets a
        # conflict.
        lease["spec"] = self._spec(spec)
        await self._write(self._api.replace, f"{self._path}/{RECONCILER}", lease)
        return True

    def _spec(self, before: dict[str, Any]) -> dict[str, Any]:
        is_own = before.get("holderIdentity") == self._identity
        transitions = int(before.get("leaseTransitions") or 0)
        return {
            **before,
            "holderIdentity": self._identity,
            "leaseDurationSeconds": LEASE_DURATION_SECONDS,
            "acquireTime": before.get("acquireTime") if is_own else self._now(),
            "renewTime": self._now(),
            "leaseTransitions": transitions + (not is_own and bool(before)),
        }

    async def _write(
        self,
        send: Callable[[str, dict[str, Any]], Awaitable[bytes]],
        path: str,
        lease: dict[str, Any],
    ) -> None:
        """Raises ApiError. The claim counts from the moment of sending."""
        sent_at = monotonic()
        self._written = _lease(await send(path, lease))
        self._sent_at = sent_at


def _is_conflict(error: Exception) -> bool:
    return isinstance(error, ApiError) and error.status == HTTPStatus.CONFLICT


def _lease(answer: bytes) -> dict[str, Any]:
    """The Lease. Raises ApiError when the answer is something else, such as the page of a proxy."""
    try:
        decoded = msgspec.json.decode(answer, type=dict[str, Any])
        return {**decoded, "spec": msgspec.convert(decoded.get("spec") or {}, dict[str, Any])}
    except msgspec.DecodeError as error:
        msg = f"the answer is not a Lease: {error}"
        raise ApiError(msg) from error
