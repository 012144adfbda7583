"""Builds the parts that all scorers share, and the stages of each scorer."""

import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from dsf_agent.configuration.fleet import Fleet
from dsf_agent.configuration.settings import Settings
from dsf_agent.configuration.snapshot import Snapshot, publishes
from dsf_agent.endpoints.apiserver import ApiServer
from dsf_agent.endpoints.budget import Budget, Reservation
from dsf_agent.endpoints.credentials import Credentials, NoSecretReader, SecretReader, SpokeSecretReader
from dsf_agent.endpoints.transport import Transport
from dsf_agent.fetch.stage import Fetch
from dsf_agent.kubernetes.changes import Trigger
from dsf_agent.kubernetes.cluster import Cluster
from dsf_agent.metrics.registry import Metrics
from dsf_agent.publish.directory import DirectoryStore
from dsf_agent.publish.fleetpublication import FleetPublication, FleetPublisher
from dsf_agent.publish.fleetstore import FleetStore
from dsf_agent.publish.hub import HubStore
from dsf_agent.publish.prune import OwnedScores
from dsf_agent.publish.publication import Publication
from dsf_agent.publish.store import ScoreStore
from dsf_agent.schedule.cycle import Cycle
from dsf_agent.schedule.fleetcycle import FleetCycle
from dsf_agent.schedule.grid import Grid
from dsf_agent.schedule.worker import ScoringCycle, Worker
from dsf_agent.scoring.items import default_items
from dsf_agent.scoring.labels import LabelSets
from dsf_agent.scoring.query import QueryScore
from dsf_agent.scoring.stage import Score, Scoring
from dsf_runtime.access import Access, InCluster, runs_in_pod
from dsf_runtime.clock import Clock
from dsf_runtime.kubeconfig import Kubeconfig
from dsf_wire.measures import SOURCE_TYPE
from dsf_wire.publishrule import Rule
from dsf_wire.spread import stable_fraction
from dsf_wire.summary import Summary


@dataclass(frozen=True, kw_only=True)
class FleetParts:
    """What only the hub scorer has. ``store`` and ``publisher`` are None if nothing is published."""

    fleet: Fleet
    store: FleetStore | None
    publisher: FleetPublisher | None


@dataclass(kw_only=True)
class Adapters:
    """What all scorers share, built once per process. ``store`` is None if nothing is published."""

    settings: Settings
    clock: Clock
    metrics: Metrics
    transport: Transport
    budget: Budget
    credentials: Credentials
    hub: ApiServer | None
    spoke: ApiServer | None
    cluster: Cluster
    store: ScoreStore | None
    fleet: FleetParts | None
    """Of the hub scorer; None for an agent."""
    rng: random.Random

    @property
    def owned(self) -> OwnedScores | None:
        """What this process published, for the deletion of what is not configured any more."""
        return self.store if self.fleet is None else self.fleet.store

    def use_clusters(self, snapshot: Snapshot) -> None:
        """Takes the clusters of a configuration of the hub scorer."""
        if self.fleet is None:
            return
        self.fleet.fleet.set(snapshot.clusters or ())
        if self.fleet.store is not None:
            self.fleet.store.set(self.fleet.fleet.names)

    def trial(self, scorer: Summary) -> ScoringCycle:
        """A cycle that publishes nothing."""
        if self.fleet is not None:
            return self._fleet_cycle(scorer, fleet=self.fleet.fleet, publication=None)
        return self.cycle(scorer, publication=None)

    async def close(self) -> None:
        await self.cluster.close()
        await self.transport.close()
        for server in {self.hub, self.spoke} - {None}:
            if server is not None:
                await server.close()

    def cycle(self, scorer: Summary, *, publication: Publication | None) -> Cycle:
        reservation = self.budget.reservation()
        label_sets = LabelSets(
            template=scorer.score_dimension_format,
            cluster=self.settings.cluster,
            score_name=scorer.score_name,
        )
        return Cycle(
            scorer=scorer,
            fetch=self._fetch(scorer, reservation),
            score=self._score(scorer, reservation, label_sets),
            default=default_items(scorer, cluster=self.settings.cluster),
            publication=publication,
            metrics=self.metrics.of(scorer.score_name),
            clock=self.clock,
            reservation=reservation,
        )

    def _fetch(self, scorer: Summary, reservation: Reservation) -> Fetch:
        return Fetch(
            scorer=scorer,
            transport=self.transport,
            credentials=self.credentials,
            reservation=reservation,
            cluster=self.cluster,
        )

    def _score(self, scorer: Summary, reservation: Reservation, label_sets: LabelSets) -> Scoring:
        if scorer.scored_by_query:
            return QueryScore(label_sets=label_sets)
        return Score(
            scorer=scorer,
            transport=self.transport,
            credentials=self.credentials,
            clock=self.clock,
            label_sets=label_sets,
            reservation=reservation,
        )

    def worker(self, scorer: Summary) -> Worker:
        """A new worker; see WorkerMaker."""
        if self.fleet is not None:
            return self._fleet_worker(scorer, self.fleet)
        cluster, interval = self.settings.cluster, float(scorer.scoring_interval)
        publication = None
        if self.store is not None and publishes(scorer):
            publication = Publication(
                scorer=scorer,
                store=self.store,
                rule=Rule.of(scorer, jitter=stable_fraction(cluster, scorer.score_name, "refresh")),
                metrics=self.metrics.of(scorer.score_name),
                rng=self.rng,
            )
        return Worker(
            scorer=scorer,
            cycle=self.cycle(scorer, publication=publication),
            publication=publication,
            grid=Grid(
                interval=interval, phase=interval * stable_fraction(cluster, scorer.score_name, "phase")
            ),
            clock=self.clock,
            metrics=self.metrics.of(scorer.score_name),
            rng=self.rng,
            trigger=(
                Trigger(changes=self.cluster.changes, clock=self.clock)
                if scorer.source_type == SOURCE_TYPE
                else None
            ),
        )

    def _fleet_worker(self, scorer: Summary, parts: FleetParts) -> Worker:
        interval = float(scorer.scoring_interval)
        metrics = self.metrics.of(scorer.score_name)
        publication = None
        if parts.publisher is not None and publishes(scorer):
            rule = Rule.of(scorer, jitter=0.0)
            publication = parts.publisher.publication(scorer, rule=rule, metrics=metrics)
        return Worker(
            scorer=scorer,
            cycle=self._fleet_cycle(scorer, fleet=parts.fleet, publication=publication),
            publication=publication,
            grid=Grid(
                interval=interval,
                phase=interval * stable_fraction(self.settings.cluster, scorer.score_name, "phase"),
            ),
            clock=self.clock,
            metrics=metrics,
            rng=self.rng,
        )

    def _fleet_cycle(
        self, scorer: Summary, *, fleet: Fleet, publication: FleetPublication | None
    ) -> FleetCycle:
        reservation = self.budget.reservation()
        return FleetCycle(
            scorer=scorer,
            fleet=fleet,
            fetch=self._fetch(scorer, reservation),
            score_of=partial(self._score, scorer, reservation),
            publication=publication,
            metrics=self.metrics.of(scorer.score_name),
            clock=self.clock,
            reservation=reservation,
        )


def adapters(settings: Settings, *, clock: Clock) -> Adapters:
    """The shared parts for these settings. Opens no connection."""
    timeout = settings.waits.hub
    to_hub = _hub_access(settings)
    hub = None if to_hub is None else ApiServer(load=to_hub, clock=clock, timeout_seconds=timeout)
    load = _spoke_access(settings)
    spoke = None if load is None else ApiServer(load=load, clock=clock, timeout_seconds=timeout)
    if hub is not None and settings.clusters_file is not None and settings.spoke_kubeconfig is None:
        # The hub scorer's Secrets are on the hub.
        spoke = hub
    secrets: SecretReader = (
        NoSecretReader() if spoke is None else SpokeSecretReader(server=spoke, namespace=settings.namespace)
    )
    rng = random.Random()  # noqa: S311 - jitter, not secrets
    store, fleet = None, None
    if settings.clusters_file is not None:
        fleet = _fleet(settings, hub=hub, clock=clock, rng=rng)
    else:
        store = _store(settings, hub=hub, cluster=settings.cluster, clock=clock)
    metrics = Metrics(cluster=settings.cluster)
    if hub is not None:
        metrics.watch_hub_offset(hub.server_clock)
    return Adapters(
        settings=settings,
        clock=clock,
        metrics=metrics,
        transport=Transport(limits=settings.limits),
        budget=Budget(limit=settings.bytes_in_flight),
        credentials=Credentials(reader=secrets, clock=clock, token_file=settings.token_file),
        hub=hub,
        spoke=spoke,
        cluster=Cluster(server=spoke, clock=clock, wait_seconds=settings.limits.total_seconds),
        store=store,
        fleet=fleet,
        rng=rng,
    )


def _store(settings: Settings, *, hub: ApiServer | None, cluster: str, clock: Clock) -> ScoreStore | None:
    """The store of one cluster; None if nothing is published."""
    hub_scorer = settings.clusters_file is not None
    if hub is not None:
        return HubStore(server=hub, cluster=cluster, hub_scorer=hub_scorer)
    if settings.publish_dir is None:
        return None
    directory = settings.publish_dir / cluster if hub_scorer else settings.publish_dir
    return DirectoryStore(directory=directory, cluster=cluster, clock=clock, hub_scorer=hub_scorer)


def _fleet(settings: Settings, *, hub: ApiServer | None, clock: Clock, rng: random.Random) -> FleetParts:
    if hub is None and settings.publish_dir is None:
        return FleetParts(fleet=Fleet(), store=None, publisher=None)

    def store_of(cluster: str) -> ScoreStore:
        store = _store(settings, hub=hub, cluster=cluster, clock=clock)
        if store is None:
            msg = "a process that publishes has a store for each cluster"
            raise AssertionError(msg)
        return store

    store = FleetStore(store_of=store_of, wall=clock.wall if hub is None else hub.server_clock.wall)
    publisher = FleetPublisher(store=store, clock=clock, rng=rng)
    return FleetParts(fleet=Fleet(), store=store, publisher=publisher)


def _hub_access(settings: Settings) -> Callable[[], Access] | None:
    if settings.hub_kubeconfig is not None:
        return Kubeconfig(path=settings.hub_kubeconfig).load
    if settings.clusters_file is not None and settings.publish_dir is None and settings.verb == "run":
        return InCluster(token_file=settings.token_file).load
    return None


def _spoke_access(settings: Settings) -> Callable[[], Access] | None:
    if settings.spoke_kubeconfig is not None:
        return Kubeconfig(path=settings.spoke_kubeconfig).load
    if runs_in_pod(os.environ):
        return InCluster(token_file=settings.token_file).load
    return None
