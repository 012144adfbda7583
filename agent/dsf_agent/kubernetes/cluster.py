"""Follows nodes and pods of the agent's own cluster while a scorer needs them.

Scorers that run are told of changes.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from weakref import WeakSet

import msgspec

from dsf_agent.endpoints.apiserver import ApiServer, reason_of
from dsf_agent.errors import AgentError
from dsf_agent.kubernetes import objects
from dsf_agent.kubernetes.objects import Node, NodeUsage, Pod
from dsf_agent.kubernetes.trigger import Trigger
from dsf_agent.kubernetes.values import Totals, samples
from dsf_runtime.clock import monotonic
from dsf_runtime.informer import Informer
from dsf_wire.measures import METRICS_API, SOURCE_TYPE, Selection
from dsf_wire.scored import Reason
from dsf_wire.summary import ScorerSummary

RUNNING_PODS: Final = "status.phase!=Succeeded,status.phase!=Failed"
"""Completed pods are left out by the API server."""
GATHER_SECONDS: Final = 0.2
"""How long a change of a pod may wait for others. A large cluster changes many pods in each second.
"""
RESTART_SECONDS: Final = 30.0
"""Pause after a bug in the agent ended the informers."""
USAGE_SECONDS: Final = 15.0
"""How long an answer of metrics.k8s.io is used. metrics-server measures every 15 s by default."""
USAGE_PATH: Final = f"/apis/{METRICS_API}/v1beta1/nodes"

log = logging.getLogger(__name__)

Labelled = tuple[bytes, float]
"""The labels of a series as JSON, and its value."""


@dataclass(frozen=True, kw_only=True)
class _Following:
    """The informers, and what is counted from them."""

    nodes: Informer[Node]
    pods: Informer[Pod]
    totals: Totals


class ClusterInformers:
    """Informers while scorers of source type Kubernetes need them.

    ``wait_seconds``: for the first lists.
    """

    def __init__(self, *, server: ApiServer | None, wait_seconds: float) -> None:
        self._triggers: WeakSet[Trigger] = WeakSet()
        """Those of the scorers that run."""
        self._server = server
        self._wait_seconds = wait_seconds
        self._following: _Following | None = None
        self._task: asyncio.Task[None] | None = None
        self._usage: Mapping[str, NodeUsage] = {}
        self._usage_at: float | None = None
        """Monotonic time of the last answer of metrics.k8s.io."""
        self._usage_lock = asyncio.Lock()

    def trigger(self) -> Trigger:
        """A new trigger, which is told of changes while somebody has it."""
        trigger = Trigger()
        self._triggers.add(trigger)
        return trigger

    async def follow(self, scorers: Iterable[ScorerSummary]) -> None:
        """Starts or stops what these scorers need. Calls must not overlap."""
        wanted = any(scorer.source_type == SOURCE_TYPE for scorer in scorers)
        if not wanted and self._task is not None:
            stopping = self._task
            self._task = None
            self._following = None
            self._usage = {}
            self._usage_at = None
            log.info("no scorer needs nodes and pods any more, so they are not followed")
            stopping.cancel()
            await asyncio.gather(stopping, return_exceptions=True)
        if wanted and self._task is None and self._server is not None:
            self._following = self._new(self._server)
            run = self._run(self._following, server=self._server)
            self._task = asyncio.create_task(run, name="follow nodes and pods")

    async def close(self) -> None:
        """Stops everything."""
        await self.follow(())

    async def read(self, selections: Sequence[Selection]) -> list[Labelled]:
        """The present samples of these expressions, in order. Raises AgentError."""
        following = await self._ready()
        # Only these measures need metrics-server, which many clusters lack.
        needs_usage = any(selection.measure.needs_usage for selection in selections)
        usage = await self._current_usage() if needs_usage else {}
        labelled: list[Labelled] = []
        for selection in selections:
            name = selection.measure.name
            for sample in samples(selection, totals=following.totals, usage=usage):
                labels = msgspec.json.encode({"__name__": name, **dict(sample.labels)})
                labelled.append((labels, sample.value))
            await asyncio.sleep(0)
        return labelled

    async def _ready(self) -> _Following:
        """The informers with complete lists. Raises AgentError."""
        if self._server is None:
            raise AgentError(
                "the agent knows no API server of its own cluster: it does not run in a pod, and"
                " --spoke-kubeconfig is not set",
                reason=Reason.BAD_CREDENTIALS,
            )
        following = self._following
        if following is None:
            raise AgentError(
                "nodes and pods are not followed at the moment", reason=Reason.INTERNAL
            )
        try:
            async with asyncio.timeout(self._wait_seconds):
                for informer in (following.nodes, following.pods):
                    # Not `synced`: if the first attempt fails, the cycle says why at once.
                    await informer.attempted.wait()
        except TimeoutError as error:
            msg = f"the lists of nodes and pods were not complete after {self._wait_seconds:g} s"
            raise AgentError(msg, reason=Reason.TIMEOUT) from error
        _check(following.nodes)
        _check(following.pods)
        return following

    async def _current_usage(self) -> Mapping[str, NodeUsage]:
        """The usage by node, at most USAGE_SECONDS old. Raises AgentError."""
        assert self._server is not None  # noqa: S101 - see _ready
        # Scorers that run together wait for one answer, and ask no second time.
        async with self._usage_lock:
            now = monotonic()
            if self._usage_at is not None and now - self._usage_at < USAGE_SECONDS:
                return self._usage
            try:
                metrics = await self._server.call("GET", USAGE_PATH, shape=objects.NodeMetricsList)
                self._usage = objects.usage(metrics)
            except AgentError as error:
                raise _with_hint(error) from error
            except ValueError as error:
                msg = f"{USAGE_PATH} did not answer with a NodeMetricsList: {error}"
                raise AgentError(msg, reason=Reason.INVALID_BODY) from error
            self._usage_at = now
            return self._usage

    def _new(self, server: ApiServer) -> _Following:
        totals = Totals()
        nodes = Informer(api=server, path="/api/v1/nodes", project=objects.node)
        pods = Informer(
            api=server,
            path="/api/v1/pods",
            project=objects.pod,
            key=objects.pod_key,
            selector={"fieldSelector": RUNNING_PODS},
            gather_seconds=GATHER_SECONDS,
        )
        nodes.compare(totals.node_changed)
        pods.compare(totals.pod_changed)

        def changed(_key: str, _item: Node | Pod | None) -> None:
            # The first lists are no changes: no scorer has seen anything before.
            if nodes.synced.is_set() and pods.synced.is_set():
                for trigger in self._triggers:
                    trigger.changed()

        nodes.listen(changed)
        pods.listen(changed)
        return _Following(nodes=nodes, pods=pods, totals=totals)

    async def _run(self, following: _Following, *, server: ApiServer) -> None:
        """Runs the informers. If a bug ends one of them, new ones start after a pause."""
        while True:
            tasks = [
                asyncio.create_task(informer.run(), name=f"follow {informer.resource}")
                for informer in (following.nodes, following.pods)
            ]
            try:
                await asyncio.gather(*tasks)
            except Exception:
                self._following = None
                log.exception(
                    "following nodes and pods failed because of a bug in the agent,"
                    " it starts again in %.0f s",
                    RESTART_SECONDS,
                    extra={"reason": Reason.INTERNAL.value},
                )
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.sleep(RESTART_SECONDS)
            following = self._following = self._new(server)


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


def _check(informer: Informer[Node] | Informer[Pod]) -> None:
    """Raises AgentError if the objects are not known, or may be outdated."""
    if informer.synced.is_set() and not informer.broken:
        return
    failure = informer.failure
    if failure is None:
        raise AgentError(informer.broken, reason=Reason.TIMEOUT)
    reason = reason_of(failure)
    text = str(failure)
    if reason is Reason.FORBIDDEN:
        text += (
            "; the agent's ServiceAccount needs get, list and watch on"
            f" {informer.resource} of the whole cluster"
        )
    raise AgentError(text, reason=reason, retry_after=failure.retry_after)
