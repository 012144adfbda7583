"""Builds the parts that all scorers share, and the stages of each scorer.

It is the only place that knows all parts. Nothing is sent here: clients connect with their first
request.
"""

import os
import time
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path

from dsf_agent.configuration.settings import AgentSettings
from dsf_agent.configuration.snapshot import ConfigurationSnapshot, ScoredClusters, publishes
from dsf_agent.endpoints.apiserver import AgentApiServer
from dsf_agent.endpoints.auth import RequestAuth, scoring_auth, source_auth
from dsf_agent.endpoints.budget import Budget, Reservation
from dsf_agent.endpoints.credentials import EndpointCredentials
from dsf_agent.endpoints.endpoint import Endpoint, token_server
from dsf_agent.endpoints.keptobjects import reader
from dsf_agent.endpoints.transport import Transport
from dsf_agent.fetch.stage import Fetch
from dsf_agent.kubernetes.cluster import ClusterInformers
from dsf_agent.kubernetes.trigger import Trigger
from dsf_agent.metrics import AgentMetrics
from dsf_agent.publish.directory import DirectoryStore
from dsf_agent.publish.hub import HubStore
from dsf_agent.publish.invalidentries import InvalidEntries
from dsf_agent.publish.prune import Pruner
from dsf_agent.publish.publication import ScorePublication
from dsf_agent.publish.publisher import Publisher
from dsf_agent.publish.store import ScoreStore
from dsf_agent.schedule.cycle import Cycle
from dsf_agent.schedule.worker import Grid, Worker
from dsf_agent.scoring import query
from dsf_agent.scoring.labels import LabelSets
from dsf_agent.scoring.results import ScoreSeries, ScoringStage
from dsf_runtime.access import InCluster, KubeconfigFile, runs_in_pod
from dsf_wire.measures import SOURCE_TYPE
from dsf_wire.publishrule import PublishSettings, stable_fraction
from dsf_wire.summary import ScorerSummary


class Adapters:
    """The parts that all scorers share. The publishing parts are None if nothing is published."""

    def __init__(self, settings: AgentSettings, *, wall: Callable[[], float] = time.time) -> None:
        """``wall``: Unix time. Delays follow the clock of the event loop."""
        self.settings = settings
        self.wall = wall
        self.metrics = AgentMetrics(cluster=settings.cluster)
        self.transport = Transport(limits=settings.limits, wall=wall)
        self.budget = Budget(limit=settings.bytes_in_flight)
        on_hub = settings.clusters_file is not None
        own = "" if on_hub else settings.cluster
        in_pod = on_hub and settings.publish_dir is None and settings.verb == "run"
        self.hub = self._server(settings.hub_kubeconfig, in_pod=in_pod)
        if self.hub is not None:
            self.metrics.watch_hub_offset(self.hub.clock)
        if self.hub is not None and on_hub and settings.spoke_kubeconfig is None:
            # The hub scorer's Secrets are on the hub.
            self.spoke: AgentApiServer | None = self.hub
        else:
            self.spoke = self._server(settings.spoke_kubeconfig, in_pod=runs_in_pod(os.environ))
        self.credentials = EndpointCredentials(
            read=reader(self.spoke, namespace=settings.namespace),
            token_file=settings.token_file,
            ask=token_server(self.transport),
            wall=wall,
            forgotten=self.transport.forget,
        )
        self.cluster = ClusterInformers(
            server=self.spoke, wait_seconds=settings.limits.total_seconds
        )
        self.fleet = ScoredClusters(own=own)
        self.publisher: Publisher | None = None
        self.pruner: Pruner | None = None
        self.invalid_entries: InvalidEntries | None = None
        if self.hub is not None or settings.publish_dir is not None:
            # validUntil is compared with the hub's clock by OCM, and the spoke's may be wrong.
            published = wall if self.hub is None else self.hub.clock.wall
            # One store for each cluster: it remembers what it has seen of other writers.
            store_of = cache(self._store_of)
            self.publisher = Publisher(store_of=store_of, wall=published)
            self.invalid_entries = InvalidEntries(
                publisher=self.publisher,
                metrics=self.metrics,
                clusters=lambda scorer: self.fleet.targets(scorer).names,
            )
            self.pruner = Pruner(
                store_of=store_of,
                under_way=self.publisher.under_way,
                wall=published,
                own=own,
                metrics=self.metrics,
                delay_seconds=settings.waits.prune,
            )

    def _server(self, kubeconfig: Path | None, *, in_pod: bool) -> AgentApiServer | None:
        """An API server by its kubeconfig, else by the pod's account."""
        if kubeconfig is None and not in_pod:
            return None
        own = InCluster(token_file=self.settings.token_file)
        load = KubeconfigFile(path=kubeconfig).load if kubeconfig is not None else own.load
        return AgentApiServer(load=load, timeout_seconds=self.settings.waits.hub, wall=self.wall)

    def _store_of(self, cluster: str) -> ScoreStore:
        on_hub = self.settings.clusters_file is not None
        if self.hub is not None:
            return HubStore(server=self.hub, cluster=cluster, hub_scorer=on_hub)
        folder = self.settings.publish_dir or Path()
        return DirectoryStore(
            directory=folder / cluster if on_hub else folder, cluster=cluster, hub_scorer=on_hub
        )

    def use_clusters(self, snapshot: ConfigurationSnapshot) -> None:
        """Takes the clusters of a configuration of the hub scorer."""
        if snapshot.clusters is not None:
            self.fleet.set(snapshot.clusters)

    def keep_credentials(self, scorers: Iterable[ScorerSummary]) -> None:
        """Forgets the credentials of all other scorers."""
        auths = set[RequestAuth]()
        for scorer in scorers:
            auths.add(source_auth(scorer))
            auths.add(scoring_auth(scorer))
        self.credentials.keep_only(auths)

    async def close(self) -> None:
        await self.cluster.close()
        await self.transport.close()
        # For the hub scorer both are one client, which is closed once.
        for server in {self.hub, self.spoke} - {None}:
            if server is not None:
                await server.close()

    def cycle(self, scorer: ScorerSummary, *, publication: ScorePublication | None) -> Cycle:
        reservation = self.budget.reservation()
        return Cycle(
            scorer=scorer,
            fleet=self.fleet,
            fetch=Fetch(
                scorer=scorer,
                endpoint=self._endpoint(source_auth(scorer), reservation),
                cluster=self.cluster,
            ),
            score_of=partial(self._score, scorer, reservation),
            publication=publication,
            metrics=self.metrics.of(scorer.score_name),
            wall=self.wall,
            reservation=reservation,
        )

    def _score(
        self, scorer: ScorerSummary, reservation: Reservation, label_sets: LabelSets
    ) -> ScoreSeries:
        if scorer.scored_by_query:
            return partial(query.score, label_sets=label_sets)
        endpoint = self._endpoint(scoring_auth(scorer), reservation)
        return ScoringStage(scorer=scorer, endpoint=endpoint, label_sets=label_sets)

    def _endpoint(self, auth: RequestAuth, reservation: Reservation) -> Endpoint:
        return Endpoint(
            transport=self.transport,
            credentials=self.credentials,
            auth=auth,
            reservation=reservation,
        )

    def worker(self, scorer: ScorerSummary, *, edited: bool) -> Worker:
        """A new worker. ``edited``: for an entry that came or changed while the process ran."""
        interval = float(scorer.scoring_interval)
        metrics = self.metrics.of(scorer.score_name)
        publication: ScorePublication | None = None
        trigger: Trigger | None = None
        if self.publisher is not None and publishes(scorer):
            rule = PublishSettings.of(scorer, jitter=0.0)
            publication = self.publisher.publication(
                scorer,
                rule=rule,
                metrics=metrics,
                clusters=lambda: self.fleet.targets(scorer).names,
                edited=edited,
            )
        if scorer.source_type == SOURCE_TYPE:
            trigger = self.cluster.trigger(scorer)
        # The same after a restart, so that a fleet that restarts keeps its calls spread.
        phase = interval * stable_fraction(self.settings.cluster, scorer.score_name, "phase")
        return Worker(
            scorer=scorer,
            cycle=self.cycle(scorer, publication=publication).run,
            publication=publication,
            grid=Grid(interval=interval, phase=phase),
            metrics=metrics,
            wall=self.wall,
            trigger=trigger,
        )
