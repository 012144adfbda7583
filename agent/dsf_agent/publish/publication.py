"""Writes the scores of clusters when the rule says that a write is due, at a limited rate, beside the
workers, so that a slow hub never delays a cycle. A task for each score would need too much memory on the hub,
so a few writers take them from one schedule, in order of time; what was never written comes first, scorer by
scorer.
"""

import asyncio
import heapq
import itertools
import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from dsf_agent.errors import AgentError, Reason
from dsf_agent.metrics import ScorerMetrics
from dsf_agent.publish.store import ScoreStore, Stored
from dsf_runtime.backoff import Backoff
from dsf_runtime.clock import happens_within, monotonic
from dsf_wire import scorename
from dsf_wire.constants import HUB_SCORER_WRITES_PER_SECOND
from dsf_wire.publishrule import Decision, Published, Rule, decide, stable_fraction
from dsf_wire.summary import Summary

log = logging.getLogger(__name__)

WRITERS: Final = 4
"""Requests at one time."""
BACKOFF: Final = Backoff(first=2.0, ceiling=120.0, jitter=0.3)
"""Delays between failed attempts. The jitter is wide because a whole fleet retries when a hub returns."""
RETRY_FRACTION: Final = 0.25
"""Of the TTL: longest pause after a failed write, whatever the hub asks. Renewals are due at half."""
CLOCK_SLACK_SECONDS: Final = 60.0
"""Tolerance for a validUntil that is too late: of another program, or of a clock that was set back."""
AUDIT_SECONDS: Final = 300.0
"""How often the objects of each cluster are listed, to find those that another program deleted."""
AUDITS_PER_SECOND: Final = 6
"""At most. A large fleet is audited more rarely."""
AUDIT_LAG_SECONDS: Final = 10.0
"""An object written less than this before a list may be missing in it."""
LOOK_SECONDS: Final = 0.05
"""Between two looks at whether everything is written, at the end of a worker."""
_HUB_IS_AWAY: Final = frozenset(
    {
        Reason.UNREACHABLE,
        Reason.TIMEOUT,
        Reason.TLS,
        Reason.CONNECTION_LOST,
        Reason.THROTTLED,
        Reason.SERVER_ERROR,
        Reason.UNAUTHORIZED,
        Reason.BAD_CREDENTIALS,
    }
)
"""Failures that every cluster would have now."""


@dataclass(kw_only=True, eq=False, slots=True)
class _Entry:
    """One score of one cluster."""

    publication: "Publication"
    cluster: str
    rule: Rule
    wanted: Mapping[str, int] | None = None
    published: Published | None = None
    known: bool = False
    """Whether ``published`` says what the hub has."""
    due: float | None = None
    failures: int = 0

    def wish(self) -> Mapping[str, int] | None:
        """What is wanted at this moment. It can change at each await, which type checkers do not see."""
        return self.wanted


@dataclass(kw_only=True, eq=False, repr=False)
class Publisher:
    """Owns the schedule. ``run`` is a root task of the process."""

    store_of: Callable[[str], ScoreStore]
    wall: Callable[[], float]
    """The time of the stores."""
    writes_per_second: float = HUB_SCORER_WRITES_PER_SECOND
    _next_write: float = field(init=False, default=0.0)
    _schedule: list[tuple[float, int, int, _Entry]] = field(init=False, default_factory=list)
    """When a step is due, the number of its scorer, and a number that tells equal ones apart."""
    _numbers: "itertools.count[int]" = field(init=False, default_factory=itertools.count)
    _news: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _by_cluster: dict[str, dict[str, _Entry]] = field(init=False, default_factory=dict)
    _writing: dict[tuple[str, str], _Entry] = field(init=False, default_factory=dict)
    """By cluster and name. A write whose scorer was edited must not end after the next write."""
    _reading: dict[str, asyncio.Lock] = field(init=False, default_factory=dict)
    _failures: int = field(init=False, default=0)
    _resume: float = field(init=False, default=0.0)
    """Monotonic time until which nothing is sent, because the hub is away."""

    def publication(self, scorer: Summary, *, rule: Rule, metrics: ScorerMetrics) -> "Publication":
        """A publication for the scores of one scorer. The jitter of the rule is replaced for each cluster."""
        return Publication(
            publisher=self, scorer=scorer, rule=rule, metrics=metrics, number=next(self._numbers)
        )

    async def run(self) -> None:
        """Writes until it is cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(WRITERS):
                tasks.create_task(self._write_what_is_due())
            tasks.create_task(self._audit())

    def add(self, entry: _Entry) -> None:
        """Takes a score into the schedule's care."""
        self._by_cluster.setdefault(entry.cluster, {})[entry.publication.name] = entry

    def remove(self, entry: _Entry) -> None:
        """Forgets a score. It stays on the hub."""
        entry.wanted = None
        entries = self._by_cluster.get(entry.cluster, {})
        if entries.get(entry.publication.name) is entry:
            del entries[entry.publication.name]
            if not entries:
                del self._by_cluster[entry.cluster]

    def plan(self, entry: _Entry, at: float) -> None:
        """Plans the next step of a score (Unix seconds of the hub)."""
        if entry.due == at:
            return
        entry.due = at
        heapq.heappush(self._schedule, (at, entry.publication.number, next(self._numbers), entry))
        if self._schedule[0][3] is entry:
            self._news.set()

    def is_at_work(self, entry: _Entry) -> bool:
        """Whether a write is under way or due now. After a failure it is not."""
        if entry.wanted is None:
            return False
        due = entry.due is not None and entry.due <= self.wall()
        return self._is_written(entry) or (due and not entry.failures)

    def under_way(self) -> Collection[tuple[str, str]]:
        """The cluster and the name of each object that is being written now. The pruner must not delete it:
        the rest of the write would create it again, or fail.
        """
        return self._writing.keys()

    def _is_written(self, entry: _Entry) -> bool:
        return self._writing.get((entry.cluster, entry.publication.name)) is entry

    async def _write_what_is_due(self) -> None:
        while True:
            entry = await self._next()
            pause = self._resume - monotonic()
            if pause > 0:
                await asyncio.sleep(pause)
            key = entry.cluster, entry.publication.name
            if key in self._writing:
                self.plan(entry, self.wall() + LOOK_SECONDS)
                continue
            self._writing[key] = entry
            try:
                if await self._step(entry):
                    self._failures = 0
            except AgentError as error:
                self._failed(entry, error)
            except Exception as error:
                extra = {"scorer": entry.publication.scorer.name, "reason": Reason.INTERNAL.value}
                log.exception("publishing failed because of a bug in the agent", extra=extra)
                self._failed(entry, AgentError(str(error), reason=Reason.INTERNAL))
            finally:
                del self._writing[key]
            if entry.due is None:
                self.offered(entry)

    async def _next(self) -> _Entry:
        while True:
            while self._schedule and self._schedule[0][0] != self._schedule[0][3].due:
                heapq.heappop(self._schedule)
            delay = None
            if self._schedule:
                delay = self._schedule[0][0] - self.wall()
                if delay <= 0:
                    entry = heapq.heappop(self._schedule)[3]
                    entry.due = None
                    return entry
            self._news.clear()
            await happens_within(self._news, seconds=delay)

    async def _step(self, entry: _Entry) -> bool:
        """Writes a score if its write is due, and plans the next step. Returns whether the hub answered: a
        step that sends nothing does not show that a hub that was away is back.
        """
        if entry.wish() is None:
            return False
        answered = not entry.known and await self._read(entry.cluster)
        publication = entry.publication
        wanted = entry.wish()
        if wanted is None:
            return answered
        now = self.wall()
        if decided(wanted, entry.published, rule=entry.rule, now=now).at > now:
            # A write that failed before has taken effect without an answer.
            self._recovered(entry)
            return answered
        await self._turn()
        wanted = entry.wish()
        if wanted is None:
            return answered
        with publication.metrics.stage("publish"):
            now = self.wall()
            valid_until = now + entry.rule.ttl
            written = await self.store_of(entry.cluster).write(
                publication.name,
                scorer=publication.scorer.name,
                values=wanted,
                valid_until=valid_until,
                needed=lambda: entry.wanted is not None,
            )
        if not written:
            # The object went, and its scorer has no scores now. It is read again before the next write.
            entry.known = False
            return True
        entry.published = Published(values=wanted, written=now, valid_until=valid_until)
        publication.count("written")
        level = logging.INFO if len(self._by_cluster) == 1 else logging.DEBUG
        extra = {"scorer": publication.scorer.name, "object": publication.name}
        log.log(level, "published %d scores of %s", len(wanted), entry.cluster, extra=extra)
        self._recovered(entry)
        return True

    @staticmethod
    def _recovered(entry: _Entry) -> None:
        if entry.failures:
            entry.failures = 0
            entry.publication.recovered(entry.cluster)

    def offered(self, entry: _Entry) -> str:
        """Plans the write of what an entry wants now. Returns what the rule says about it."""
        if (
            entry.wanted is None
            or self._is_written(entry)
            or (entry.failures and entry.due is not None)
        ):
            return "deferred"
        if not entry.known:
            self.plan(entry, 0.0)
            return "deferred"
        decision = decided(entry.wanted, entry.published, rule=entry.rule, now=self.wall())
        self.plan(entry, decision.at)
        return "deferred" if decision.changed else "unchanged"

    async def _turn(self) -> None:
        """Waits for the next write that the limit allows."""
        now = monotonic()
        at = self._next_write = max(now, self._next_write + 1 / self.writes_per_second)
        if at > now:
            await asyncio.sleep(at - now)

    async def _read(self, cluster: str) -> bool:
        """Reads what the hub has of a cluster, so that a restart does not make the fleet write again. Returns
        whether it asked: of several scorers of a cluster one does.
        """
        async with self._reading.setdefault(cluster, asyncio.Lock()):
            entries = self._by_cluster.get(cluster, {})
            if all(entry.known for entry in entries.values()):
                return False
            stored = {one.name: one for one in await self.store_of(cluster).list_owned()}
            for name, entry in entries.items():
                if not entry.known:
                    entry.published = published_by(stored.get(name), rule=entry.rule)
                    entry.known = True
        self._reading.pop(cluster, None)
        return True

    async def _audit(self) -> None:
        """Lists the objects of one cluster after another. What another program deleted is written again."""
        while True:
            clusters = list(self._by_cluster)
            if not clusters:
                await asyncio.sleep(AUDIT_LAG_SECONDS)
            for cluster in clusters:
                await asyncio.sleep(max(AUDIT_SECONDS / len(clusters), 1 / AUDITS_PER_SECOND))
                if self._failures:
                    continue
                began = self.wall()
                try:
                    names = await self.store_of(cluster).names()
                except AgentError as error:
                    log.debug("the scores of %s cannot be listed: %s", cluster, error)
                    continue
                for name, entry in self._by_cluster.get(cluster, {}).items():
                    written = entry.published.written if entry.published is not None else began
                    if (
                        name not in names
                        and not self._is_written(entry)
                        and written + AUDIT_LAG_SECONDS < began
                    ):
                        extra = {"scorer": entry.publication.scorer.name, "object": name}
                        log.warning(
                            "%s of %s was deleted by another program", name, cluster, extra=extra
                        )
                        entry.published = None
                        self.plan(entry, 0.0)

    def _failed(self, entry: _Entry, error: AgentError) -> None:
        publication = entry.publication
        entry.failures += 1
        # The object may differ from what was read or written before.
        entry.known = False
        delay = max(BACKOFF.delay(entry.failures), error.retry_after or 0.0)
        delay = min(delay, entry.rule.ttl * RETRY_FRACTION)
        if error.reason in _HUB_IS_AWAY and self._resume <= monotonic():
            self._failures += 1
            self._resume = monotonic() + BACKOFF.delay(self._failures)
        publication.failed(entry.cluster, error)
        self.plan(entry, self.wall() + delay)


@dataclass(kw_only=True, eq=False, repr=False)
class Publication:
    """The scores of one scorer on all its clusters."""

    publisher: Publisher
    scorer: Summary
    rule: Rule
    metrics: ScorerMetrics
    number: int
    """Of steps that are due at the same time, those of the scorer with the lowest number come first."""
    name: str = field(init=False)
    """Of the AddOnPlacementScores."""
    _entries: dict[str, _Entry] = field(init=False, default_factory=dict)
    _faults: dict[str, AgentError] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.name = scorename.sanitise(self.scorer.score_name)

    @property
    def fault(self) -> AgentError | None:
        """Why the last write of a cluster failed; None if all succeeded."""
        if not self._faults:
            return None
        cluster, first = next(iter(self._faults.items()))
        others = f" and {len(self._faults) - 1} more" if len(self._faults) > 1 else ""
        return first.anew(f"cluster {cluster}{others}: {first}")

    def offer(self, cluster: str, values: Mapping[str, int]) -> None:
        """Takes the scores of one cluster."""
        entry = self._entries.get(cluster)
        if entry is None:
            # The jitter never changes for a cluster and a score.
            jitter = stable_fraction(cluster, self.scorer.score_name, "refresh")
            entry = _Entry(
                publication=self, cluster=cluster, rule=replace(self.rule, jitter=jitter)
            )
            self._entries[cluster] = entry
            self.publisher.add(entry)
        if entry.published is not None and entry.published.values == values:
            values = entry.published.values
        entry.wanted = values
        self.count(self.publisher.offered(entry))

    def count(self, outcome: str) -> None:
        """Counts what became of an offer."""
        self.metrics.all.publishes.labels(self.metrics.name, outcome).inc()

    def pause_cluster(self, cluster: str) -> None:
        """A cluster has no scores now. What is published is not renewed, and expires at its validUntil."""
        entry = self._entries.get(cluster)
        if entry is not None:
            entry.wanted = None

    def keep_only(self, clusters: frozenset[str]) -> None:
        """Forgets the clusters that the scorer no longer scores. Their scores stay on the hub."""
        for gone in self._entries.keys() - clusters:
            self.publisher.remove(self._entries.pop(gone))
            self._faults.pop(gone, None)

    def pause(self) -> None:
        """A cycle failed: no score is renewed until one succeeds."""
        for entry in self._entries.values():
            entry.wanted = None

    async def wait_until_handled(self) -> None:
        """Waits until the offered scores are written, or are not due yet, or their write failed."""
        while any(self.publisher.is_at_work(entry) for entry in self._entries.values()):  # noqa: ASYNC110 - its end has no event
            await asyncio.sleep(LOOK_SECONDS)

    def failed(self, cluster: str, error: AgentError) -> None:
        """Notes that a write failed."""
        if cluster not in self._faults or self._faults[cluster].reason is not error.reason:
            extra = {"scorer": self.scorer.name, "reason": error.reason.value}
            log.warning("the scores of %s are not published: %s", cluster, error, extra=extra)
        self._faults[cluster] = error.anew()
        self.count("failed")
        self.metrics.failed("publish", error.reason)

    def recovered(self, cluster: str) -> None:
        """Notes that a write succeeded after failures."""
        self._faults.pop(cluster, None)
        log.info(
            "the scores of %s are published again", cluster, extra={"scorer": self.scorer.name}
        )


def decided(
    wanted: Mapping[str, int], published: Published | None, *, rule: Rule, now: float
) -> Decision:
    """When to write, by the rule. An expiry that is too late does not count: it would delay every write."""
    if published is not None and published.valid_until > now + rule.ttl + CLOCK_SLACK_SECONDS:
        published = None
    return decide(wanted, published, rule=rule)


def published_by(stored: Stored | None, *, rule: Rule) -> Published | None:
    """What this process published. None: write anyway, because it has no expiry, or is not only ours."""
    if stored is None or stored.shared or stored.valid_until is None:
        return None
    return Published(
        values=stored.values, written=stored.valid_until - rule.ttl, valid_until=stored.valid_until
    )
