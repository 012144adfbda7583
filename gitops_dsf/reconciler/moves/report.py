"""What copies wait for: metrics at once, the log when it changes, an Event when it lasts."""

import collections
import logging
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

from gitops_dsf.reconciler.hub.kinds import application_set_reference
from gitops_dsf.reconciler.moves.rules import Action, CopyVerdict
from gitops_dsf.reconciler.shared import Shared

LOG = logging.getLogger(__name__)
NEWS_SECONDS: Final = 10.0
"""A reason becomes an Event after this time: most new copies are Healthy by then."""
PASSING: Final = frozenset(
    {"Queued", "RateLimited", "Gone", "Changed", "Conflict", "DecisionUnsettled", "HubSilent"}
)
"""Reasons that pass by themselves. They never become Events."""
TROUBLE: Final = frozenset(
    {"TimedOut", "WorkloadWouldStay", "DecisionForeign", "Generators", "Refused", "Unreadable"}
    | {"InformerBroken"}
)
"""Reasons that become Warnings: somebody should look at them."""


@dataclass(kw_only=True)
class _Wait:
    """What one ApplicationSet waits for."""

    since: float | None = None
    """When a copy began to wait; None while none waits."""
    reason: str = ""
    """Of what is announced, and since when."""
    reason_since: float = 0.0
    announced: str = ""
    reasons: collections.Counter[str] = field(default_factory=collections.Counter)


class MoveReporter:
    """Remembers since when each ApplicationSet waits, as far as this process has seen."""

    def __init__(self, shared: Shared) -> None:
        self._events, self._metrics = shared.events, shared.metrics
        self._namespace = shared.view.argocd_namespace
        self._waits: dict[str, _Wait] = {}

    async def show(self, name: str, uid: str, verdicts: Iterable[CopyVerdict], now: float) -> None:
        """Reports the verdicts on the copies of one ApplicationSet; none when no copy waits."""
        listed = [verdict for verdict in verdicts if verdict.action is not Action.DELETE]
        known = self._waits.setdefault(name, _Wait())
        known.reasons = collections.Counter(verdict.reason for verdict in listed)
        waits = any(verdict.action is Action.WAIT for verdict in listed)
        known.since = (now if known.since is None else known.since) if waits else None
        # Copies that wait come before copies that are kept for good.
        lasting = sorted(
            (verdict for verdict in listed if verdict.reason not in PASSING),
            key=lambda verdict: (verdict.action is Action.KEEP, verdict.copy.name),
        )
        if not lasting:
            known.reason = known.reason if listed else ""
            return
        first, where = lasting[0], lasting[0].copy.cluster or "an unknown cluster"
        message = f"{first.copy.name} on {where} is still there: {first.message} ({first.reason})"
        if first.reason != known.reason:
            known.reason, known.reason_since, known.announced = first.reason, now, ""
        if message != known.announced and now - known.reason_since >= NEWS_SECONDS:
            known.announced = message
            about = application_set_reference(name, uid, self._namespace)
            await self._events.say(about, "MoveWaits", message, warning=first.reason in TROUBLE)

    async def deleted(self, name: str, uid: str, verdict: CopyVerdict) -> None:
        """Reports that a copy is being deleted."""
        self._metrics.copies_removed.labels(applicationset=name).inc()
        copy = verdict.copy
        LOG.info("Application %s deleted from %s: %s", copy.name, copy.cluster, verdict.message)
        await self._events.say(
            application_set_reference(name, uid, self._namespace),
            "CopyRemoved",
            f"{copy.name} on {copy.cluster} is deleted: {verdict.message}",
        )

    def publish(self, names: Collection[str], now: float) -> None:
        """Sets the metrics, and forgets other ApplicationSets."""
        self._waits = {name: known for name, known in self._waits.items() if name in names}
        self._metrics.moves_waiting.set(
            {(name, reason): n for name, known in self._waits.items() for reason, n in known.reasons.items()}
        )
        self._metrics.moves_waiting_seconds.set(
            {(name,): now - known.since for name, known in self._waits.items() if known.since is not None}
        )
