"""Leadership by a Lease (coordination.k8s.io/v1), by the rules of Kubernetes' own leader election.

Clocks of other replicas are not trusted: a lease is free when nobody renewed it for its duration by our own clock. Our own claim counts
from the moment when a renewal was sent, not from its answer: others count from its arrival at the hub, which lies between the two.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final, Protocol

import msgspec

from gitops_dsf.reconciler.hub.api import ApiError

LOG = logging.getLogger(__name__)
LEASE: Final = "gitops-dsf-reconciler"


class LeaseLost(Exception):  # noqa: N818 - a state, not a mistake
    """Somebody else may be leader by now."""


class LeaseStore(Protocol):
    """Where the Lease is: `hub.api.HubApi`."""

    async def get(self, path: str, /) -> bytes:
        """The object. Raises ApiError."""

    async def create(self, path: str, item: Mapping[str, Any], /) -> bytes:
        """A new object. Raises ApiError: 409 when it exists."""

    async def replace(self, path: str, item: Mapping[str, Any], /) -> bytes:
        """The whole object. Raises ApiError: 409 when it changed since it was read."""


class Leadership:
    """Owns one Lease in the hub namespace. Durations in seconds: `renew` < `deadline` < `duration`."""

    def __init__(
        self,
        *,
        api: LeaseStore,
        namespace: str,
        identity: str,
        duration: int = 15,
        deadline: float = 10.0,
        renew: float = 2.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api = api
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._identity = identity
        self._duration, self._deadline, self._renew = duration, deadline, renew
        self._seen: tuple[str, str] = ("", "")
        self._seen_at = self._sent_at = 0.0
        self._clock = clock
        self.is_leader = False

    async def acquire(self, *, patience: float | None = None) -> bool:
        """Waits until this replica leads; False when that took longer than `patience` seconds."""
        until = None if patience is None else self._clock() + patience
        said = ""
        while True:
            try:
                if await self._try():
                    if self._left() < self._deadline / 2:
                        continue  # the hub took so long that the claim is nearly over: renewed before anything is done with it
                    self.is_leader = True
                    LOG.info("leading as %s", self._identity)
                    return True
                said = self._say(f"{self._seen[0]} leads; waiting", said)
            except ApiError as error:
                said = self._say(f"the lease cannot be taken: {error}", said)
            if until is not None and self._clock() >= until:
                return False
            await asyncio.sleep(self._renew)

    async def keep(self) -> None:
        """Renews for ever. Raises LeaseLost when another replica took the lease, or none of our renewals arrived in time."""
        try:
            while True:
                await asyncio.sleep(self._renew)
                try:
                    async with asyncio.timeout(max(0.1, self._left())):
                        if not await self._try():
                            msg = f"{self._seen[0]} took the lease"
                            raise LeaseLost(msg)
                except (ApiError, TimeoutError) as error:
                    if self._left() <= 0:
                        msg = f"not renewed for {self._deadline:g} s: {error}"
                        raise LeaseLost(msg) from error
                    LOG.warning("lease not renewed: %s", error)
        finally:
            self.is_leader = False

    async def release(self) -> None:
        """Lets another replica lead at once. Never raises: the lease expires by itself."""
        try:
            item = _lease(await self._api.get(f"{self._path}/{LEASE}"))
            if item["spec"].get("holderIdentity") == self._identity:
                item["spec"] |= {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": _now()}
                await self._api.replace(f"{self._path}/{LEASE}", item)
        except ApiError as error:
            LOG.info("lease not released: %s", error)

    def _left(self) -> float:
        """Seconds for which the claim may be trusted."""
        return self._sent_at + self._deadline - self._clock()

    async def _try(self) -> bool:
        """One attempt to take or renew; False when another replica holds the lease or was faster."""
        sent_at = self._clock()
        taken = await self._take()
        if taken:
            self._sent_at = sent_at
        return taken

    async def _take(self) -> bool:
        try:
            item = _lease(await self._api.get(f"{self._path}/{LEASE}"))
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": LEASE}, "spec": self._spec({})}
            return await self._write(self._api.create(self._path, body))
        spec = item["spec"]
        holder, seen = str(spec.get("holderIdentity") or ""), (str(spec.get("holderIdentity") or ""), str(spec.get("renewTime") or ""))
        if seen != self._seen:
            self._seen, self._seen_at = seen, self._clock()
        lasts = float(spec.get("leaseDurationSeconds") or self._duration)
        if holder not in {"", self._identity} and self._clock() < self._seen_at + lasts:
            return False
        item["spec"] = self._spec(spec)
        return await self._write(self._api.replace(f"{self._path}/{LEASE}", item))

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

    async def _write(self, request: Any) -> bool:  # noqa: ANN401 - a coroutine of the API
        try:
            await request
        except ApiError as error:
            if error.status == HTTPStatus.CONFLICT:
                return False
            raise
        return True

    def _say(self, words: str, said: str) -> str:
        if words != said:
            LOG.info("%s", words)
        return words


def _lease(answer: bytes) -> dict[str, Any]:
    """With its spec, which may be empty. Raises ApiError for what is no Lease: the page of something between us and the hub."""
    try:
        item = msgspec.json.decode(answer, type=dict[str, Any])
        return {**item, "spec": msgspec.convert(item.get("spec") or {}, dict[str, Any])}
    except msgspec.DecodeError as error:
        msg = f"the answer is no Lease: {error}"
        raise ApiError(msg) from error


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
