"""What moves wait for, where people look: metrics at once, the log when the reason changes, an Event when it
lasts.
"""

import contextlib
import logging
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

from gitops_dsf.reconciler.events import Events, Reference
from gitops_dsf.reconciler.moves.handover import Action, Verdict
from gitops_dsf.reconciler.moves.metrics import MoveMetrics

LOG = logging.getLogger(__name__)
NEWS_SECONDS: Final = 10.0
"""For which a reason must hold before it becomes an Event: most new copies are Healthy by then."""
PASSING: Final = frozenset(
    {
        "Queued",
        "RateLimited",
        "Gone",
        "Changed",
        "Conflict",
        "DecisionUnsettled",
        "HubSilent",
        "LeaseNotHeld",
        "LeadershipNew",
        "DeletionUnanswered",
    }
)
"""Reasons that end by themselves: no Events about them."""
TROUBLE: Final = frozenset(
    {
        "TimedOut",
        "WorkloadWouldStay",
        "DecisionForeign",
        "Generators",
        "Refused",
        "Unreadable",
        "InformerBroken",
    }
)
"""Reasons that somebody should look at."""


@dataclass(kw_only=True)
class _Wait:
    """Of one ApplicationSet."""

    since: float | None = None
    """When a copy began to wait; None while none does."""
    news: tuple[str, str] = ("", "")
    news_since: float = 0.0
    said: bool = False
    reasons: frozenset[str] = frozenset()


@dataclass(kw_only=True)
class Report:
    """Remembers since when each ApplicationSet waits, as far as this process has seen."""

    events: Events
    metrics: MoveMetrics
    namespace: str
    _waits: dict[str, _Wait] = field(default_factory=dict)

    async def show(self, name: str, uid: str, verdicts: Iterable[Verdict], now: float) -> None:
        """What one ApplicationSet's copies on clusters that left the decision wait for; none when nothing
        does.
        """
        listed = [verdict for verdict in verdicts if verdict.action is not Action.REMOVE]
        known = self._waits.setdefault(name, _Wait())
        counts = Counter(verdict.reason for verdict in listed)
        for reason in known.reasons - counts.keys():
            self._forget_reason(name, reason)
        for reason, count in counts.items():
            self.metrics.waiting.labels(applicationset=name, reason=reason).set(count)
        known.reasons = frozenset(counts)
        if any(verdict.action is Action.WAIT for verdict in listed):
            known.since = now if known.since is None else known.since
            self.metrics.waiting_seconds.labels(applicationset=name).set(now - known.since)
        elif known.since is not None:
            known.since = None
            self._forget_seconds(name)
        await self._tell(name, uid, known, listed, now)

    async def removed(self, name: str, uid: str, verdict: Verdict) -> None:
        """A copy is being deleted."""
        self.metrics.removed.labels(applicationset=name).inc()
        copy = verdict.copy
        LOG.info("Application %s removed from %s: %s", copy.name, copy.cluster, verdict.message)
        await self.events.say(
            self._about(name, uid),
            "Normal",
            "CopyRemoved",
            f"{copy.name} on {copy.cluster} is deleted: {verdict.message}",
        )

    def keep_only(self, names: Collection[str]) -> None:
        """Forgets ApplicationSets that are gone, or whose moves are no longer ours."""
        for name in [name for name in self._waits if name not in names]:
            for reason in self._waits.pop(name).reasons:
                self._forget_reason(name, reason)
            self._forget_seconds(name)

    async def _tell(self, name: str, uid: str, known: _Wait, listed: list[Verdict], now: float) -> None:
        lasting = [verdict for verdict in listed if verdict.reason not in PASSING]
        # What is waited for comes before what is kept for good.
        first = min(
            lasting, key=lambda verdict: (verdict.action is Action.KEEP, verdict.copy.name), default=None
        )
        if first is None:
            if not listed:
                known.news = ("", "")
            return
        news = (
            first.reason,
            (
                f"{first.copy.name} on {first.copy.cluster or 'an unknown cluster'} is still there:"
                f" {first.message}"
            ),
        )
        if news != known.news:
            if news[0] != known.news[0]:
                LOG.info("ApplicationSet %s: %s (%s)", name, news[1], news[0])
                known.news_since = now
            known.news, known.said = news, False
        if not known.said and now - known.news_since >= NEWS_SECONDS:
            known.said = True
            trouble = first.reason in TROUBLE
            await self.events.say(
                self._about(name, uid),
                "Warning" if trouble else "Normal",
                "MoveWaits",
                f"{news[1]} ({first.reason})",
            )

    def _about(self, name: str, uid: str) -> Reference:
        return Reference(
            api_version="argoproj.io/v1alpha1",
            kind="ApplicationSet",
            namespace=self.namespace,
            name=name,
            uid=uid,
        )

    def _forget_reason(self, name: str, reason: str) -> None:
        with contextlib.suppress(KeyError):
            self.metrics.waiting.remove(name, reason)

    def _forget_seconds(self, name: str) -> None:
        with contextlib.suppress(KeyError):
            self.metrics.waiting_seconds.remove(name)
