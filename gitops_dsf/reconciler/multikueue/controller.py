"""Keeps the clusters of MultiKueueConfigs in the order of live scores.

Each pass reads the MultiKueueConfig of every Placement that orders one, asks
`gitops_dsf.multikueue.order` for the next list, and writes it if it differs. Nothing is remembered:
when a list was ordered last, and what it was, are annotations of the config, and which jobs the
scores do not show yet is in the Workloads.

Guaranteed: before a cluster leaves a list, Workloads and the decision are read again, because a job
that is admitted there would hang. Not guaranteed: that no job is admitted between that look and the
write. Such a job has run for some seconds at most.

A reconciler that is dead leaves the last order. Kueue goes on with it.
"""

import asyncio
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Final

import msgspec

from dsf_runtime.apiserver import ApiError
from dsf_runtime.backoff import Pauses
from dsf_runtime.clock import happens_within
from gitops_dsf.hub.decisions import clusters_by_placement
from gitops_dsf.hub.multikueue import ORDERED_AT_ANNOTATION, WrittenOrder
from gitops_dsf.hub.names import PLACEMENT_LABEL
from gitops_dsf.hub.objects import PlacementDecision
from gitops_dsf.hub.resources import CLUSTERS, DECISIONS, MULTIKUEUE_CONFIGS, WORKLOADS
from gitops_dsf.hub.times import timestamp_of
from gitops_dsf.journal.record import RecordedOrder
from gitops_dsf.multikueue.assumed import assumed_scores
from gitops_dsf.multikueue.order import Order, OrderInputs, next_order
from gitops_dsf.multikueue.points import cluster_points
from gitops_dsf.reconciler.context import ControllerContext, WrittenList
from gitops_dsf.reconciler.hub.api import REFUSAL_BACKOFF
from gitops_dsf.reconciler.hub.decisions import DEBOUNCE_SECONDS
from gitops_dsf.reconciler.hub.kinds import StoredObject
from gitops_dsf.reconciler.loop import CONFLICT_SECONDS, INTERVAL_SECONDS, run_controller
from gitops_dsf.reconciler.multikueue.claims import ConfigClaim, claims_in, owner_of
from gitops_dsf.reconciler.multikueue.configs import StoredConfig, read_config, write_config
from gitops_dsf.reconciler.multikueue.jobs import JobPlace, JobPlaces, WorkloadReader, jobs_of
from gitops_dsf.reconciler.multikueue.kueueview import KueueView
from gitops_dsf.reconciler.multikueue.namespaces import FollowedNamespaces
from gitops_dsf.reconciler.multikueue.report import OrderReport

PAUSE_SECONDS: Final = 2.0
"""Shortest time between two passes. Each looks at all jobs of the hub."""
POLL_SECONDS: Final = 30.0
"""The time between two checks whether Kueue is there and whether a Placement needs it."""

LOG = logging.getLogger(__name__)


class MultiKueueController:
    """Writes the MultiKueueConfigs that Placements name, and no other object.

    It writes their `spec.clusters`, two annotations and the label of the reconciler.
    """

    def __init__(self, context: ControllerContext, *, namespaces: Sequence[str]) -> None:
        """`namespaces` are those in which Placements may order clusters."""
        self._context = context
        self._api = context.api
        self._namespaces = FollowedNamespaces(context, namespaces)
        self._report = OrderReport(context)
        self._pauses = Pauses(REFUSAL_BACKOFF)
        """Pauses after a refused write, by MultiKueueConfig."""
        self._is_kueue_there = False
        self._is_absence_reported = False
        context.ordering = self._ordering
        self._wake = context.changes_of(*self._namespaces.informers, context.view.clusters)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._namespaces.run())
            group.create_task(self._work_while_needed())

    async def _work_while_needed(self) -> None:
        """Follows Kueue only while there is something to order: a hub may have no Kueue."""
        for informer in self._namespaces.informers:
            await informer.synced.wait()
        while True:
            self._wake.clear()
            if await self._is_needed():
                await self._work()
            await happens_within(self._wake, seconds=POLL_SECONDS)

    async def _is_needed(self) -> bool:
        """Whether a Placement orders clusters, and Kueue is there."""
        claims = self._claims()
        if not claims:
            return False
        try:
            # Discovery needs no right that is not everybody's.
            await self._api.get(f"/apis/{MULTIKUEUE_CONFIGS.api_version}")
        except ApiError as error:
            # Another answer does not say that Kueue has gone or come.
            if error.status == HTTPStatus.NOT_FOUND:
                self._is_kueue_there = False
                if not self._is_absence_reported:
                    self._report.kueue_missing([claims[config][0] for config in sorted(claims)])
                self._is_absence_reported = True
        else:
            self._is_kueue_there = True
            self._is_absence_reported = False
        return self._is_kueue_there

    async def _work(self) -> None:
        """Orders clusters until nothing needs it any more."""
        view = KueueView(
            api=self._api,
            broken=self._context.metrics.watch_broken,
            on_bug=lambda: self._context.metrics.failures.labels(duty="watch").inc(),
        )
        view.workloads.compare(self._note_job)
        view.checks.listen(lambda _name, _check: self._wake.set())
        view.clusters.listen(lambda _name, _there: self._wake.set())
        work = asyncio.create_task(self._follow(view))
        try:
            while not work.done():
                await asyncio.wait({work}, timeout=POLL_SECONDS)
                if not work.done() and not await self._is_needed():
                    return
            work.result()
        finally:
            work.cancel()
            await asyncio.wait({work})
            # An empty pass removes the series; otherwise they would show an order that is no longer
            # kept.
            self._report.begin()
            self._report.finish()

    def _note_job(self, _key: str, before: JobPlace | None, after: JobPlace | None) -> None:
        # Most changes of Workloads are of some that are on no cluster.
        if before is not None or (after is not None and after.cluster):
            self._wake.set()

    async def _follow(self, view: KueueView) -> None:
        hub = self._context.view
        async with asyncio.TaskGroup() as group:
            group.create_task(view.run())
            group.create_task(
                run_controller(
                    partial(self._reconcile, view),
                    name="multikueue",
                    context=self._context,
                    failing="clusters of MultiKueueConfigs keep their order",
                    requires=(
                        *view.informers,
                        *self._namespaces.informers,
                        hub.clusters,
                        hub.scores,
                    ),
                    needs_clock=True,
                    wake=self._wake,
                    min_interval=PAUSE_SECONDS,
                )
            )

    def _ordering(self) -> set[str]:
        """The Placements (namespace/name) that order clusters."""
        return {claim.key for claims in self._claims().values() for claim in claims}

    def _claims(self) -> dict[str, list[ConfigClaim]]:
        return claims_in(self._namespaces.by_name.values())

    async def _reconcile(self, view: KueueView) -> float:
        """Raises ApiError when the hub does not answer: that concerns every config."""
        self._namespaces.observe(self._context.clock())
        claims = self._claims()
        self._pauses.keep_only(claims)
        self._report.begin()
        next_look = INTERVAL_SECONDS
        for config in sorted(claims):
            next_look = min(next_look, await self._try_to_order(config, claims[config], view))
        self._report.finish()
        return next_look

    async def _try_to_order(
        self, config: str, claims: Sequence[ConfigClaim], view: KueueView
    ) -> float:
        """Returns when to look again.

        What the hub refuses for one config must not hold up the others.
        """
        try:
            return await self._order(config, claims, view)
        except ApiError as error:
            if not error.status:
                raise
            if error.status == HTTPStatus.CONFLICT:
                return CONFLICT_SECONDS
            self._report.refused(claims[0], str(error))
            return self._pauses.failed(config)

    async def _order(self, config: str, claims: Sequence[ConfigClaim], view: KueueView) -> float:
        """Raises ApiError."""
        pause = self._pauses.left(config)
        if pause:
            self._report.still_refused(claims[0])
            return pause
        stored = await read_config(self._api, config)
        owner = owner_of(claims, "" if stored is None else stored.config.written.placement)
        for claim in claims:
            if claim is not owner:
                self._report.claimed_twice(claim, owner)
        if stored is not None and not stored.is_ours:
            self._report.not_ours(owner)
            return INTERVAL_SECONDS
        wait = self._debounce_seconds(owner)
        if wait > 0:
            return wait
        inputs = self._inputs(owner, stored, view)
        order = next_order(inputs)
        # A cluster leaves the list. Kueue would take back the admission of its jobs, and one with
        # active pods would hang there (v0.19.2). So the hub is asked once more.
        if not set(inputs.shown) <= set(order.names):
            confirmed = await self._confirmed(owner, inputs, view)
            if confirmed is None:
                return self._pauses.failed(config)
            inputs = confirmed
            order = next_order(inputs)
        if order.names != inputs.shown:
            await self._write(owner, stored, inputs, order)
        self._pauses.worked(config)
        self._report.shown(config, order.names, order.left_out)
        self._report.left_out(owner, order)
        if inputs.due_at <= inputs.now:
            # The list is as it should be now, and whatever changes that does so at any time.
            return INTERVAL_SECONDS
        return max(CONFLICT_SECONDS, inputs.due_at - inputs.now)

    def _debounce_seconds(self, claim: ConfigClaim) -> float:
        """Seconds until the decision has been unchanged for DEBOUNCE_SECONDS.

        OCM writes the pages of a decision one after another.
        """
        decision = self._namespaces.by_name[claim.namespace].decisions.get(claim.name)
        if decision is None:
            return 0.0
        return decision.since + DEBOUNCE_SECONDS - self._context.clock()

    def _inputs(
        self, claim: ConfigClaim, stored: StoredConfig | None, view: KueueView
    ) -> OrderInputs:
        """The inputs of the order, as the informers show them."""
        hub = self._context.view
        now = self._api.now()
        decision = self._namespaces.by_name[claim.namespace].decisions.get(claim.name)
        decided = frozenset[str]() if decision is None else decision.clusters
        shown = () if stored is None else stored.config.spec.clusters
        jobs = jobs_of(
            claim.order.config,
            view.workloads.items.values(),
            view.checks.items,
            admitted_after=now - claim.order.measured_after,
        )
        busy = jobs.holding(shown)
        candidates = decided.union(shown, busy)
        inputs = OrderInputs(
            shown=shown,
            last_written=() if stored is None else stored.config.written.clusters,
            decided=decided,
            served=frozenset(view.clusters.items),
            gone=frozenset(name for name in candidates if name not in hub.clusters.items),
            busy=busy,
            unreached=frozenset(
                name for name, is_reached in view.clusters.items.items() if not is_reached
            ),
            points={},
            stickiness=claim.order.stickiness,
            ordered_at=None if stored is None else stored.config.ordered_at,
            now=now,
            reorder_seconds=claim.order.reorder_seconds,
        )
        terms = claim.order.terms
        scores = assumed_scores(hub.scores.columns, jobs.placed, terms, now=now)
        return replace(inputs, points=cluster_points(terms, inputs.eligible, scores, now=now))

    async def _confirmed(
        self, claim: ConfigClaim, inputs: OrderInputs, view: KueueView
    ) -> OrderInputs | None:
        """The inputs by what the hub says now, before a cluster leaves the list.

        None if an informer is behind. Raises ApiError.
        """
        pages = await self._api.listed(
            DECISIONS.within(claim.namespace).path,
            msgspec.json.Decoder(PlacementDecision).decode,
            labelSelector=f"{PLACEMENT_LABEL}={claim.name}",
        )
        if clusters_by_placement(pages).get(claim.name, frozenset()) != inputs.decided:
            LOG.info("the decision of %s is newer than the watch shows it", claim.key)
            return None
        for name in inputs.gone & set(inputs.shown):
            if await self._api.one(CLUSTERS.path, name, StoredObject) is not None:
                LOG.info("ManagedCluster %s is there, and the watch does not show it", name)
                return None
        places = await self._places_now()
        # Only which clusters are busy is asked, so no job need count as assumed load.
        jobs = jobs_of(
            claim.order.config, places.values(), view.checks.items, admitted_after=math.inf
        )
        return replace(inputs, busy=inputs.busy | jobs.holding(inputs.shown))

    async def _places_now(self) -> Mapping[str, JobPlace]:
        """Raises ApiError."""
        places = JobPlaces()
        read = WorkloadReader()

        def take(raw: msgspec.Raw) -> None:
            key, place = read(raw)
            places[key] = place

        await self._api.list(WORKLOADS.path, take)
        return places

    async def _write(
        self, claim: ConfigClaim, stored: StoredConfig | None, inputs: OrderInputs, order: Order
    ) -> None:
        """Writes the list. Raises ApiError, with 409 if the config was written meanwhile."""
        if order.is_ordered or stored is None:
            # The format has whole seconds. Rounded down, the next order would come too early.
            ordered_at = timestamp_of(math.ceil(inputs.now))
        else:
            ordered_at = stored.config.metadata.annotation(ORDERED_AT_ANNOTATION)
        written = WrittenOrder(
            placement=claim.key,
            clusters=order.names,
            points={name: inputs.points[name] for name in order.names if name in inputs.points},
            left_out=order.left_out,
            reason=order.reason,
        )
        await write_config(self._api, claim.order.config, stored, written, ordered_at=ordered_at)
        self._report.written(claim, order)
        recorded = RecordedOrder(
            config=claim.order.config,
            before=inputs.shown,
            after=order.names,
            points=written.points,
            left_out=order.left_out,
            reason=order.reason,
        )
        self._context.orders.append(
            WrittenList(placement=claim.key, uid=claim.placement.uid, at=inputs.now, order=recorded)
        )
        self._context.order_written()
