"""Builds the parts that all scorers share, and the stages of each scorer."""

import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dsf_agent.configuration.fleet import Fleet
from dsf_agent.configuration.settings import Settings
from dsf_agent.configuration.snapshot import Snapshot, publishes
from dsf_agent.endpoints.apiserver import ApiServer
from dsf_agent.endpoints.budget import Budget, Reservation
from dsf_agent.endpoints.credentials import Credentials, reader
from dsf_agent.endpoints.transport import Transport
from dsf_agent.fetch.stage import Fetch
from dsf_agent.kubernetes.changes import Trigger
from dsf_agent.kubernetes.cluster import Cluster
from dsf_agent.metrics.registry import Metrics
from dsf_agent.publish.directory import DirectoryStore
from dsf_agent.publish.fleetstore import FleetStore
from dsf_agent.publish.hub import HubStore
from dsf_agent.publish.publication import Publication, Publisher
from dsf_agent.publish.store import ScoreStore
from dsf_agent.schedule.cycle import Cycle
from dsf_agent.schedule.worker import Grid, Worker
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


@dataclass(kw_only=True)
class Adapters:
    """What all scorers share, built once per process. ``store`` and ``publisher`` are None if nothing is
    published.
    """

    settings: Settings
    clock: Clock
    metrics: Metrics
    transport: Transport
    budget: Budget
    credentials: Credentials
    hub: ApiServer | None
    spoke: ApiServer | None
    cluster: Cluster
    fleet: Fleet
    store: FleetStore | None
    publisher: Publisher | None
    rng: random.Random

    def use_clusters(self, snapshot: Snapshot) -> None:
        """Takes the clusters of a configuration of the hub scorer."""
        if snapshot.clusters is None:
            return
        self.fleet.set(snapshot.clusters)
        if self.store is not None:
            self.store.set(self.fleet.names)

    async def close(self) -> None:
        await self.cluster.close()
        await self.transport.close()
        for server in {self.hub, self.spoke} - {None}:
            if server is not None:
                await server.close()

    def cycle(self, scorer: Summary, *, publication: Publication | None) -> Cycle:
        reservation = self.budget.reservation()
        return Cycle(
            scorer=scorer,
            fleet=self.fleet,
            fetch=Fetch(
                scorer=scorer,
                transport=self.transport,
                credentials=self.credentials,
                reservation=reservation,
                cluster=self.cluster,
            ),
            score_of=partial(self._score, scorer, reservation),
            publication=publication,
            metrics=self.metrics.of(scorer.score_name),
            clock=self.clock,
            reservation=reservation,
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
        """A new worker."""
        interval = float(scorer.scoring_interval)
        metrics = self.metrics.of(scorer.score_name)
        publication, trigger = None, None
        if self.publisher is not None and publishes(scorer):
            rule = Rule.of(scorer, jitter=0.0)
            publication = self.publisher.publication(scorer, rule=rule, metrics=metrics)
        if scorer.source_type == SOURCE_TYPE:
            trigger = Trigger(changes=self.cluster.changes, clock=self.clock)
        phase = interval * stable_fraction(self.settings.cluster, scorer.score_name, "phase")
        return Worker(
            scorer=scorer,
            cycle=self.cycle(scorer, publication=publication).run,
            publication=publication,
            grid=Grid(interval=interval, phase=phase),
            clock=self.clock,
            metrics=metrics,
            rng=self.rng,
            trigger=trigger,
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
    rng = random.Random()  # noqa: S311 - jitter, not secrets
    own = settings.cluster if settings.clusters_file is None else ""
    store = _store(settings, hub=hub, clock=clock, own=own)
    metrics = Metrics(cluster=settings.cluster)
    if hub is not None:
        metrics.watch_hub_offset(hub.clock)
    return Adapters(
        settings=settings,
        clock=clock,
        metrics=metrics,
        transport=Transport(limits=settings.limits),
        budget=Budget(limit=settings.bytes_in_flight),
        credentials=Credentials(
            read=reader(spoke, namespace=settings.namespace), clock=clock, token_file=settings.token_file
        ),
        hub=hub,
        spoke=spoke,
        cluster=Cluster(server=spoke, clock=clock, wait_seconds=settings.limits.total_seconds),
        fleet=Fleet(own=own),
        store=store,
        publisher=None if store is None else Publisher(store=store, clock=clock, rng=rng),
        rng=rng,
    )


def _store(settings: Settings, *, hub: ApiServer | None, clock: Clock, own: str) -> FleetStore | None:
    """None if nothing is published."""
    store_of: Callable[[str], ScoreStore]
    if hub is not None:
        store_of = partial(_hub_store, hub, hub_scorer=not own)
    elif settings.publish_dir is not None:
        store_of = partial(_directory_store, settings.publish_dir, hub_scorer=not own)
    else:
        return None
    return FleetStore(store_of=store_of, wall=clock.wall if hub is None else hub.clock.wall, own=own)


def _hub_store(hub: ApiServer, cluster: str, *, hub_scorer: bool) -> HubStore:
    return HubStore(server=hub, cluster=cluster, hub_scorer=hub_scorer)


def _directory_store(folder: Path, cluster: str, *, hub_scorer: bool) -> DirectoryStore:
    directory = folder / cluster if hub_scorer else folder
    return DirectoryStore(directory=directory, cluster=cluster, hub_scorer=hub_scorer)


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
