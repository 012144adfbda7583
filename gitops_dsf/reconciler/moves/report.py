"""Events and metrics about old copies that wait, for each ApplicationSet.

Reasons that pass within moments are not Events. Nothing depends on these reports.
"""

import collections
import logging
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

from gitops_dsf.hub.moves.reasons import MoveReason
from gitops_dsf.reconciler.context import ControllerContext
from gitops_dsf.reconciler.hub.kinds import application_set_reference
from gitops_dsf.reconciler.moves.rules import Action, CopyVerdict

NEWS_SECONDS: Final = 10.0
"""A reason becomes an Event after this time: most new copies are Healthy by then."""

LOG = logging.getLogger(__name__)


@dataclass(kw_only=True)
class _ApplicationSetWait:
    """The reason why one ApplicationSet waits, as far as this process has seen it."""

    since: float | None = None
    """The time when a copy began to wait; None while none waits."""
    reason: MoveReason | None = None
    """The reason that is announced, or will be."""
    reason_since: float = 0.0
    announced: str = ""
    """The message of the last Event about this reason."""
    reasons: collections.Counter[MoveReason] = field(default_factory=collections.Counter)


class MoveReporter:
    """Remembers since when each ApplicationSet waits. A new leader counts again."""

    def __init__(self, context: ControllerContext) -> None:
        self._events = context.events
        self._metrics = context.metrics
        self._namespace = context.view.argocd_namespace
        self._waits: dict[str, _ApplicationSetWait] = {}

    def show(self, name: str, uid: str, verdicts: Iterable[CopyVerdict], now: float) -> None:
        """Reports the verdicts on the copies of one ApplicationSet; none when no copy waits."""
        staying = [verdict for verdict in verdicts if verdict.action is not Action.DELETE]
        wait = self._waits.setdefault(name, _ApplicationSetWait())
        wait.reasons = collections.Counter(verdict.reason for verdict in staying)
        if not any(verdict.action is Action.WAIT for verdict in staying):
            wait.since = None
        elif wait.since is None:
            wait.since = now
        # Copies that wait come before copies that are kept for good.
        lasting = sorted(
            (verdict for verdict in staying if not verdict.reason.passes),
            key=lambda verdict: (verdict.action is Action.KEEP, verdict.copy.name),
        )
        if not lasting:
            # A reason that only pauses, because another one passes, is not announced again
            # afterwards.
            if not staying:
                wait.reason = None
            return
        first = lasting[0]
        cluster = first.copy.cluster or "an unknown cluster"
        message = f"{first.copy.name} on {cluster} is still there: {first.message} ({first.reason})"
        if first.reason != wait.reason:
            wait.reason = first.reason
            wait.reason_since = now
            wait.announced = ""
        if message != wait.announced and now - wait.reason_since >= NEWS_SECONDS:
            wait.announced = message
            about = application_set_reference(name, uid, self._namespace)
            self._events.record(about, "MoveWaits", message, warning=first.reason.is_warning)

    def deleted(self, name: str, uid: str, verdict: CopyVerdict) -> None:
        """Reports a copy that was deleted."""
        self._metrics.copies_removed.labels(applicationset=name).inc()
        copy = verdict.copy
        LOG.info("Application %s deleted from %s: %s", copy.name, copy.cluster, verdict.message)
        about = application_set_reference(name, uid, self._namespace)
        message = f"{copy.name} on {copy.cluster} is deleted: {verdict.message}"
        self._events.record(about, "CopyRemoved", message)

    def publish(self, names: Collection[str], now: float) -> None:
        """Sets the metrics, and forgets all other ApplicationSets."""
        for name in self._waits.keys() - set(names):
            del self._waits[name]
        counts: dict[tuple[str, str], float] = {}
        ages: dict[tuple[str], float] = {}
        for name, wait in self._waits.items():
            for reason, count in wait.reasons.items():
                counts[name, reason] = count
            if wait.since is not None:
                ages[(name,)] = now - wait.since
        self._metrics.moves_waiting.set(counts)
        self._metrics.moves_waiting_seconds.set(ages)
