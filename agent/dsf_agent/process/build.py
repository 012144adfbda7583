"""Builds the parts that all scorers share, and the stages of each scorer."""

import os
import random
from collections.abc import Callable
from dataclasses import dataclass

from dsf_agent.configuration.settings import Settings
from dsf_agent.configuration.snapshot import publishes
from dsf_agent.endpoints.apiserver import ApiServer
from dsf_agent.endpoints.budget import Budget
from dsf_agent.endpoints.credentials import Credentials, NoSecretReader, SecretReader, SpokeSecretReader
from dsf_agent.endpoints.transport import Transport
from dsf_agent.fetch.stage import Fetch
from dsf_agent.kubernetes.changes import Trigger
from dsf_agent.kubernetes.cluster import Cluster
from dsf_agent.metrics.registry import Metrics
from dsf_agent.publish.directory import DirectoryStore
from dsf_agent.publish.hub import HubStore
from dsf_agent.publish.publication import Publication
from dsf_agent.publish.store import ScoreStore
from dsf_agent.schedule.cycle import Cycle
from dsf_agent.schedule.grid import Grid
from dsf_agent.schedule.worker import Worker
from dsf_agent.scoring.items import default_items
from dsf_agent.scoring.labels import LabelSets
from dsf_agent.scoring.query import QueryScore
from dsf_agent.scoring.stage import Score
from dsf_runtime.access import Access, InCluster, runs_in_pod
from dsf_runtime.clock import Clock
from dsf_runtime.kubeconfig import Kubeconfig
from dsf_wire.measures import SOURCE_TYPE
from dsf_wire.publishrule import Rule
from dsf_wire.spread import stable_fraction
from dsf_wire.summary import Summary


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
    rng: random.Random

    async def close(self) -> None:
        await self.cluster.close()
        await self.transport.close()
        for server in (self.hub, self.spoke):
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
            fetch=Fetch(
                scorer=scorer,
                transport=self.transport,
                credentials=self.credentials,
                reservation=reservation,
                cluster=self.cluster,
            ),
            score=QueryScore(label_sets=label_sets)
            if scorer.scored_by_query
            else Score(
                scorer=scorer,
                transport=self.transport,
                credentials=self.credentials,
                clock=self.clock,
                label_sets=label_sets,
                reservation=reservation,
            ),
            default=default_items(scorer, label_sets=label_sets),
            publication=publication,
            metrics=self.metrics.of(scorer.score_name),
            clock=self.clock,
            reservation=reservation,
        )

    def worker(self, scorer: Summary) -> Worker:
        """A new worker; see WorkerMaker."""
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


def adapters(settings: Settings, *, clock: Clock) -> Adapters:
    """The shared parts for these settings. Opens no connection."""
    timeout = settings.hub_timeout_seconds
    hub = None
    if settings.hub_kubeconfig is not None:
        hub = ApiServer(
            load=Kubeconfig(path=settings.hub_kubeconfig).load, clock=clock, timeout_seconds=timeout
        )
    load = _spoke_access(settings)
    spoke = None if load is None else ApiServer(load=load, clock=clock, timeout_seconds=timeout)
    secrets: SecretReader = (
        NoSecretReader() if spoke is None else SpokeSecretReader(server=spoke, namespace=settings.namespace)
    )
    store: ScoreStore | None = None
    if hub is not None:
        store = HubStore(server=hub, cluster=settings.cluster)
    elif settings.publish_dir is not None:
        store = DirectoryStore(directory=settings.publish_dir, cluster=settings.cluster, clock=clock)
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
        rng=random.Random(),  # noqa: S311 - jitter, not secrets
    )


def _spoke_access(settings: Settings) -> Callable[[], Access] | None:
    if settings.spoke_kubeconfig is not None:
        return Kubeconfig(path=settings.spoke_kubeconfig).load
    if runs_in_pod(os.environ):
        return InCluster(token_file=settings.token_file).load
    return None
