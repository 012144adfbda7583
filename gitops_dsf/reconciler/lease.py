"""Leadership by a Lease (coordination.k8s.io/v1), by the rules of Kubernetes' own leader election.

Clocks of other replicas are not trusted: a Lease is free when nobody renewed it for its duration by the clock
of this process. The own claim counts from the moment when a renewal was sent, not from its answer: others
count from its arrival at the hub, which is in between. A leader whose predecessor did not release the Lease
deletes nothing for a while (`quiet_left`), because requests of the predecessor may still arrive.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final, Protocol

import msgspec

from dsf_runtime.apiserver import ApiError
from dsf_runtime.clock import monotonic
from gitops_dsf.reconciler.hub.fence import QUIET_SECONDS

LOG = logging.getLogger(__name__)
LEASE: Final = "gitops-dsf-reconciler"
RELEASED_SECONDS: Final = 1
"""leaseDurationSeconds of a Lease that was given back, with nothing to wait for. When people clear the holder
by hand, another number stays.
"""
GONE: Final = frozenset({HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND})
"""The object has changed, or does not exist any more."""


class LeaseLost(Exception):  # noqa: N818 - a state, not a mistake
    """Another replica may lead by now."""


class LeaseStore(Protocol):
    """Reads and writes the Lease: `hub.api.HubApi`."""

    async def get(self, path: str, /) -> bytes:
        """Reads the object. Raises ApiError."""

    async def create(self, path: str, item: Mapping[str, Any], /) -> bytes:
        """Creates an object. Raises ApiError: 409 when it exists."""

    async def replace(self, path: str, item: Mapping[str, Any], /) -> bytes:
        """Replaces the object. Raises ApiError: 409 when it changed since it was read."""


class Leadership:
    """Holds one Lease in the hub namespace. Durations in seconds: `renew` < `deadline` < `duration`.

    It leads as long as the hub answers a renewal within half the deadline.
    """

    def __init__(
        self,
        *,
        api: LeaseStore,
        namespace: str,
        identity: str,
        duration: int = 15,
        deadline: float = 12.0,
        renew: float = 2.0,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._api = api
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._identity = identity
        self._duration, self._deadline, self._renew = duration, deadline, renew
        self._seen: tuple[str, str] = ("", "")
        self._seen_at = self._sent_at = self._quiet_until = 0.0
        self._held: dict[str, Any] | None = None
        """The Lease as the last write of this replica left it, if it is known."""
        self._clock = clock
        self.is_leader = False

    def left(self) -> float:
        """Seconds for which the claim may be trusted. 0 or less when this replica does not lead."""
        return self._left() if self.is_leader else 0.0

    def quiet_left(self) -> float:
        """Seconds for which deletions of the leader before may still take effect. 0 or less when
        they cannot.
        """
        return self._quiet_until - self._clock()

    async def acquire(self) -> None:
        """Waits until this replica leads."""
        last = ""
        self._held = None
        while True:
            taken = False
            try:
                taken = await self._try()
                if taken and self._left() >= self._deadline / 2:
                    self.is_leader = True
                    LOG.info("leading as %s", self._identity)
                    return
                if taken:
                    # The claim is nearly over, so renew it before it is used.
                    most = self._deadline / 2
                    words = f"not leading: the hub takes more than {most:g} s to answer a write of the Lease"
                else:
                    words = f"{self._seen[0]} leads; waiting"
            except ApiError as error:
                words = f"the Lease cannot be taken: {error}"
            if words != last:
                LOG.info("%s", words)
                last = words
            if not taken:
                await asyncio.sleep(self._renew)

    async def keep(self) -> None:
        """Renews until it is cancelled. Raises LeaseLost when another replica took the Lease, or when
        renewals failed for too long.
        """
        try:
            while True:
                # Count from the last renewal, not from its answer, which a slow hub delays.
                await asyncio.sleep(max(0.1, self._sent_at + self._renew - self._clock()))
                try:
                    async with asyncio.timeout(max(0.1, self._left())):
                        if not await self._try():
                            msg = f"{self._seen[0]} took the Lease"
                            raise LeaseLost(msg)
                except (ApiError, TimeoutError) as error:
                    if self._left() <= 0:
                        msg = f"not renewed for {self._deadline:g} s: {error}"
                        raise LeaseLost(msg) from error
                    LOG.warning("Lease not renewed: %s", error)
                    await asyncio.sleep(min(self._renew, self._left()))
        finally:
            self.is_leader = False

    async def release(self, *, clean: bool) -> None:
        """Lets another replica lead at once. `clean`: no deletion of this replica can take effect any more.

        Never raises, because the Lease expires by itself.
        """
        # What this replica had to wait for, the next leader must wait for as well.
        seconds = RELEASED_SECONDS if clean and self.quiet_left() <= 0 else self._duration
        try:
            item = _lease(await self._api.get(f"{self._path}/{LEASE}"))
            if item["spec"].get("holderIdentity") == self._identity:
                item["spec"] |= {"holderIdentity": "", "leaseDurationSeconds": seconds, "renewTime": _now()}
                await self._api.replace(f"{self._path}/{LEASE}", item)
        except ApiError as error:
            LOG.info("Lease not released: %s", error)

    def _left(self) -> float:
        return self._sent_at + self._deadline - self._clock()

    async def _try(self) -> bool:
        """Tries to take or renew the Lease once. False when another replica holds it or was faster. Raises
        ApiError.
        """
        held, self._held = self._held, None
        if held is not None:
            held["spec"] = self._spec(held["spec"])
            if await self._write(lambda: self._api.replace(f"{self._path}/{LEASE}", held), lost=GONE):
                return True
            # Another replica wrote it, or the own last write arrived without an answer.
        return await self._take()

    async def _take(self) -> bool:
        try:
            item = _lease(await self._api.get(f"{self._path}/{LEASE}"))
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            # Somebody deleted the Lease, and nobody knows who held it.
            body = {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": LEASE},
                "spec": self._spec({}),
            }
            return await self._write(lambda: self._api.create(self._path, body), quiet=QUIET_SECONDS)
        spec = item["spec"]
        holder = str(spec.get("holderIdentity") or "")
        seen = (holder, str(spec.get("renewTime") or ""))
        if seen != self._seen:
            self._seen, self._seen_at = seen, self._clock()
        lasts = float(spec.get("leaseDurationSeconds") or self._duration)
        if holder not in {"", self._identity} and self._clock() < self._seen_at + lasts:
            return False
        released = not holder and spec.get("leaseDurationSeconds") == RELEASED_SECONDS
        quiet = 0.0 if released or holder == self._identity else QUIET_SECONDS
        item["spec"] = self._spec(spec)
        return await self._write(lambda: self._api.replace(f"{self._path}/{LEASE}", item), quiet=quiet)

    def _spec(self, before: dict[str, Any]) -> dict[str, Any]:
        mine = before.get("holderIdentity") == self._identity
        return {
            **before,
            "holderIdentity": self._identity,
            "leaseDurationSeconds": self._duration,
            "acquireTime": before.get("acquireTime") if mine else _now(),
            "renewTime": _now(),
            "leaseTransitions": int(before.get("leaseTransitions") or 0) + (not mine and bool(before)),
        }

    async def _write(
        self,
        send: Callable[[], Awaitable[bytes]],
        *,
        lost: Collection[int] = (HTTPStatus.CONFLICT,),
        quiet: float = 0.0,
    ) -> bool:
        """False when another replica was faster. The claim counts from the moment of sending, and `quiet`
        seconds count from the answer.
        """
        sent_at = self._clock()
        try:
            answer = await send()
        except ApiError as error:
            if error.status in lost:
                return False
            raise
        self._sent_at, self._held = sent_at, _lease(answer)
        self._quiet_until = max(self._quiet_until, self._clock() + quiet)
        return True


def _lease(answer: bytes) -> dict[str, Any]:
    """The Lease, with a spec that may be empty. Raises ApiError when the answer is something else, such as
    the page of a proxy.
    """
    try:
        item = msgspec.json.decode(answer, type=dict[str, Any])
        return {**item, "spec": msgspec.convert(item.get("spec") or {}, dict[str, Any])}
    except msgspec.DecodeError as error:
        msg = f"the answer is not a Lease: {error}"
        raise ApiError(msg) from error


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
