"""Follows nodes, pods and devices of the agent's own cluster while a scorer needs them.

Informers of a resource run only while a scorer measures it. They notify the triggers of running
scorers of changes.

Guaranteed: values come from complete lists; while a list may be outdated, a cycle fails with the
reason. Not guaranteed: that nodes, pods and usage are of one moment, because each has its own list,
and usage is reused for some seconds.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar
from weakref import WeakSet

import msgspec

from dsf_agent.endpoints.apiserver import AgentApiServer, reason_of
from dsf_agent.errors import AgentError
from dsf_agent.kubernetes import devices, objects
from dsf_agent.kubernetes.devices import CountsByNode, DeviceTotals
from dsf_agent.kubernetes.objects import NodeUsage
from dsf_agent.kubernetes.trigger import Trigger
from dsf_agent.kubernetes.values import Totals, samples
from dsf_runtime.clock import monotonic
from dsf_runtime.informer import Informer
from dsf_wire.measures import (
    DEVICES_API,
    METRICS_API,
    SOURCE_TYPE,
    MeasureError,
    Selection,
    select,
)
from dsf_wire.scored import Reason
from dsf_wire.summary import ScorerSummary

RUNNING_PODS: Final = "status.phase!=Succeeded,status.phase!=Failed"
"""Completed pods are left out by the API server."""
GATHER_SECONDS: Final = 0.2
"""The time for which a change of a pod may wait for others.

A large cluster changes many pods in each second.
"""
RESTART_SECONDS: Final = 30.0
"""Pause after a bug in the agent ended the informers."""
USAGE_SECONDS: Final = 15.0
"""The time for which an answer of metrics.k8s.io is used. metrics-server measures every 15 s by
default.
"""
USAGE_PATH: Final = f"/apis/{METRICS_API}/v1beta1/nodes"
DEVICES_PATH: Final = f"/apis/{DEVICES_API}/v1"

log = logging.getLogger(__name__)

T = TypeVar("T")

Labelled = tuple[bytes, float]
"""The labels of a series as JSON, and its value."""


@dataclass(frozen=True, kw_only=True)
class _Following(Generic[T]):
    """Informers, and what is counted from them."""

    counted: T
    informers: tuple[Informer[Any], ...]


class _Counts(Generic[T]):
    """Counts from some resources, by informers that run while they are needed.

    ``what`` names them in messages. ``count`` makes new informers, and the object that they count
    into.
    """

    def __init__(self, *, what: str, count: Callable[[AgentApiServer], _Following[T]]) -> None:
        self._what = what
        self._count = count
        self._following: _Following[T] | None = None
        self._task: asyncio.Task[None] | None = None

    async def follow(self, server: AgentApiServer | None, *, wanted: bool) -> None:
        """Starts or stops the informers. Calls must not overlap."""
        if not wanted and self._task is not None:
            stopping = self._task
            self._task = None
            self._following = None
            log.info("no scorer needs %s any more, so they are not followed", self._what)
            stopping.cancel()
            await asyncio.gather(stopping, return_exceptions=True)
        if wanted and self._task is None and server is not None:
            self._following = self._count(server)
            run = self._run(self._following, server=server)
            self._task = asyncio.create_task(run, name=f"follow {self._what}")

    async def ready(self, *, wait_seconds: float) -> T:
        """The counts from complete lists. Raises AgentError."""
        following = self._following
        if following is None:
            raise AgentError(f"{self._what} are not followed at the moment", reason=Reason.INTERNAL)
        try:
            async with asyncio.timeout(wait_seconds):
                for informer in following.informers:
                    # Not `synced`: if the first attempt fails, the cycle says why at once.
                    await informer.attempted.wait()
        except TimeoutError as error:
            msg = f"the lists of {self._what} were not complete after {wait_seconds:g} s"
            raise AgentError(msg, reason=Reason.TIMEOUT) from error
        for informer in following.informers:
            _check(informer)
        return following.counted

    async def _run(self, following: _Following[T], *, server: AgentApiServer) -> None:
        """Runs the informers. If a bug ends one of them, new ones start after a pause."""
        while True:
            tasks = [
                asyncio.create_task(informer.run(), name=f"follow {informer.resource}")
                for informer in following.informers
            ]
            try:
                await asyncio.gather(*tasks)
            except Exception:
                self._following = None
                log.exception(
                    "following %s failed because of a bug in the agent, it starts again in %.0f s",
                    self._what,
                    RESTART_SECONDS,
                    extra={"reason": Reason.INTERNAL.value},
                )
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.sleep(RESTART_SECONDS)
            # New totals are made as well: it is unknown which changes the old ones lack.
            following = self._count(server)
            self._following = following


class ClusterInformers:
    """Informers while scorers of source type Kubernetes need them.

    ``wait_seconds``: for the first lists.
    """

    def __init__(self, *, server: AgentApiServer | None, wait_seconds: float) -> None:
        self._triggers: WeakSet[Trigger] = WeakSet()
        """The triggers of the scorers that run."""
        self._of_devices: WeakSet[Trigger] = WeakSet()
        """The triggers of the scorers that measure devices."""
        self._server = server
        self._wait_seconds = wait_seconds
        self._totals = _Counts(what="nodes and pods", count=self._count_pods)
        self._devices = _Counts(what="ResourceSlices and ResourceClaims", count=self._count_devices)
        self._usage: Mapping[str, NodeUsage] = {}
        self._usage_at: float | None = None
        """Monotonic time of the last answer of metrics.k8s.io."""
        self._usage_lock = asyncio.Lock()

    def trigger(self, scorer: ScorerSummary) -> Trigger:
        """A new trigger, which is notified of changes as long as it is referenced."""
        trigger = Trigger()
        self._triggers.add(trigger)
        if _measures_devices(scorer):
            self._of_devices.add(trigger)
        return trigger

    async def follow(self, scorers: Iterable[ScorerSummary]) -> None:
        """Starts or stops what these scorers need. Calls must not overlap."""
        measuring = [scorer for scorer in scorers if scorer.source_type == SOURCE_TYPE]
        if not measuring:
            self._usage = {}
            self._usage_at = None
        await self._totals.follow(self._server, wanted=bool(measuring))
        # Only these measures need an API that many clusters lack.
        await self._devices.follow(self._server, wanted=any(map(_measures_devices, measuring)))

    async def close(self) -> None:
        """Stops everything."""
        await self.follow(())

    async def read(self, selections: Sequence[Selection]) -> list[Labelled]:
        """The present samples of these expressions, in order. Raises AgentError."""
        if self._server is None:
            raise AgentError(
                "the agent knows no API server of its own cluster: it does not run in a pod, and"
                " --spoke-kubeconfig is not set",
                reason=Reason.BAD_CREDENTIALS,
            )
        totals = await self._totals.ready(wait_seconds=self._wait_seconds)
        counts: Mapping[str, CountsByNode] = {}
        if any(selection.measure.needs_devices for selection in selections):
            of_devices = await self._devices.ready(wait_seconds=self._wait_seconds)
            counts = of_devices.counts(now=monotonic())
        usage: Mapping[str, NodeUsage] = {}
        # Only these measures need metrics-server, which many clusters lack.
        if any(selection.measure.needs_usage for selection in selections):
            usage = await self._current_usage(self._server)
        labelled: list[Labelled] = []
        for selection in selections:
            name = selection.measure.name
            for sample in samples(selection, totals=totals, usage=usage, devices=counts):
                labels = msgspec.json.encode({"__name__": name, **dict(sample.labels)})
                labelled.append((labels, sample.value))
            await asyncio.sleep(0)
        return labelled

    async def _current_usage(self, server: AgentApiServer) -> Mapping[str, NodeUsage]:
        """The usage by node, at most USAGE_SECONDS old. Raises AgentError."""
        # Scorers that run together wait for one answer, and ask no second time.
        async with self._usage_lock:
            now = monotonic()
            if self._usage_at is not None and now - self._usage_at < USAGE_SECONDS:
                return self._usage
            try:
                metrics = await server.call("GET", USAGE_PATH, shape=objects.NodeMetricsList)
                self._usage = objects.usage(metrics)
            except AgentError as error:
                raise _with_hint(error) from error
            except ValueError as error:
                msg = f"{USAGE_PATH} did not answer with a NodeMetricsList: {error}"
                raise AgentError(msg, reason=Reason.INVALID_BODY) from error
            self._usage_at = now
            return self._usage

    def _count_pods(self, server: AgentApiServer) -> _Following[Totals]:
        totals = Totals()
        nodes = Informer(api=server, path="/api/v1/nodes", project=objects.node)
        pods = Informer(
            api=server,
            path="/api/v1/pods",
            project=objects.pod,
            key=objects.object_key,
            selector={"fieldSelector": RUNNING_PODS},
            gather_seconds=GATHER_SECONDS,
        )
        nodes.compare(totals.node_changed)
        pods.compare(totals.pod_changed)
        _listen((nodes, pods), triggers=self._triggers)
        return _Following(counted=totals, informers=(nodes, pods))

    def _count_devices(self, server: AgentApiServer) -> _Following[DeviceTotals]:
        totals = DeviceTotals()
        slices = Informer(
            api=server, path=f"{DEVICES_PATH}/resourceslices", project=devices.resource_slice
        )
        claims = Informer(
            api=server,
            path=f"{DEVICES_PATH}/resourceclaims",
            project=devices.resource_claim,
            key=objects.object_key,
            gather_seconds=GATHER_SECONDS,
        )
        slices.compare(totals.slice_changed)
        claims.compare(totals.claim_changed)
        _listen((slices, claims), triggers=self._of_devices)
        return _Following(counted=totals, informers=(slices, claims))


def _measures_devices(scorer: ScorerSummary) -> bool:
    try:
        selections = select(scorer.source_query)
    except MeasureError:
        return False
    return any(selection.measure.needs_devices for selection in selections)


def _listen(informers: tuple[Informer[Any], ...], *, triggers: Iterable[Trigger]) -> None:
    def changed(_key: str, _kept: object) -> None:
        # The first lists are not changes: no scorer has seen anything before.
        if all(informer.synced.is_set() for informer in informers):
            for trigger in triggers:
                trigger.changed()

    for informer in informers:
        informer.listen(changed)


def _with_hint(error: AgentError) -> AgentError:
    """The failure of metrics.k8s.io, and what helps."""
    if error.reason is Reason.NOT_FOUND:
        return error.without_traceback(
            f"{error}; this cluster does not serve {METRICS_API}: install metrics-server, or use"
            " measures without usage"
        )
    if error.reason is Reason.FORBIDDEN:
        return error.without_traceback(
            f"{error}; the agent's ServiceAccount needs get and list on nodes of {METRICS_API}"
        )
    return error.without_traceback()


def _check(informer: Informer[Any]) -> None:
    """Raises AgentError if the objects are not known, or may be outdated."""
    if informer.synced.is_set() and not informer.broken:
        return
    failure = informer.failure
    if failure is None:
        raise AgentError(informer.broken, reason=Reason.TIMEOUT)
    reason = reason_of(failure)
    text = str(failure)
    if reason is Reason.FORBIDDEN:
        text = (
            f"{failure}; the agent's ServiceAccount needs get, list and watch on"
            f" {informer.resource} of the whole cluster"
        )
    if reason is Reason.NOT_FOUND and informer.path.startswith(DEVICES_PATH):
        text = (
            f"{failure}; this cluster does not serve {DEVICES_API}/v1, which Kubernetes has since"
            " 1.34: use measures without devices"
        )
    raise AgentError(text, reason=reason, retry_after=failure.retry_after)
