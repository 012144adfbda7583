"""Events and metrics about the order of clusters for Kueue."""

import logging
from collections.abc import Collection

from gitops_dsf.hub.resources import MULTIKUEUE_CONFIGS
from gitops_dsf.multikueue.order import Order, OrderCause
from gitops_dsf.reconciler.context import ControllerContext
from gitops_dsf.reconciler.multikueue.claims import ConfigClaim
from gitops_dsf.wording import names_text, plural

LOG = logging.getLogger(__name__)


class OrderReport:
    """Reports what a pass found. What lasts is said once."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._first: dict[tuple[str, str], float] = {}
        self._left_out: dict[tuple[str], float] = {}
        self._refused: dict[tuple[str], float] = {}
        self._last_messages: dict[tuple[str, str], str] = {}
        """The last message of each lasting state, by Placement and reason of the Event."""
        self._states = set[tuple[str, str]]()
        """The states of this pass."""

    def begin(self) -> None:
        """Begins a pass."""
        self._first = {}
        self._left_out = {}
        self._refused = {}
        self._states = set()

    def finish(self) -> None:
        """Ends a pass: the metrics are those of what it found."""
        metrics = self._context.metrics.multikueue
        metrics.first.set(self._first)
        metrics.left_out.set(self._left_out)
        metrics.refused.set(self._refused)
        # A problem that has passed is reported again when it returns.
        self._last_messages = {
            state: text for state, text in self._last_messages.items() if state in self._states
        }

    def shown(self, config: str, names: Collection[str], left_out: Collection[str]) -> None:
        """The list that is on the hub after the pass."""
        # Kueue's incremental dispatcher offers a job to the first clusters of the list (v0.19.2).
        for name in names:
            self._first[config, name] = 1.0
            break
        self._left_out[(config,)] = len(left_out)

    def written(self, claim: ConfigClaim, order: Order) -> None:
        """A list that was written."""
        config = claim.order.config
        if order.is_ordered:
            self._context.metrics.multikueue.reorders.labels(config=config).inc()
        names = ", ".join(order.names)
        message = f"MultiKueueConfig {config} has the clusters {names}: {order.reason}"
        self._context.events.record(claim.reference, "ClustersOrdered", message)
        if any(change.cause is OrderCause.RESTORED for change in order.changes):
            self._context.events.record(
                claim.reference,
                "MultiKueueConfigEdited",
                f"somebody else changed spec.clusters of MultiKueueConfig {config}; the reconciler"
                " restores the list, because it alone writes it",
                warning=True,
            )

    def left_out(self, claim: ConfigClaim, order: Order) -> None:
        """Eligible clusters that have no place."""
        if not order.left_out:
            return
        count = plural(len(order.left_out), "eligible cluster")
        message = (
            f"MultiKueueConfig {claim.order.config} has no room for {count}"
            f" ({names_text(order.left_out)}): Kueue allows 20 clusters"
        )
        self._lasting(claim, "ClustersLeftOut", message)

    def not_ours(self, claim: ConfigClaim) -> None:
        """The MultiKueueConfig does not have our label."""
        config = claim.order.config
        self._refused[(config,)] = 1.0
        message = (
            f"MultiKueueConfig {config} belongs to another program, so its clusters are not"
            " ordered: it does not have the label"
            " app.kubernetes.io/managed-by=gitops-dsf-reconciler; name another config in"
            " spec.multiKueue, or set the label"
        )
        self._lasting(claim, "MultiKueueConfigNotOurs", message)

    def claimed_twice(self, claim: ConfigClaim, owner: ConfigClaim) -> None:
        """Another Placement orders the MultiKueueConfig."""
        config = claim.order.config
        self._refused[(config,)] = 1.0
        message = (
            f"MultiKueueConfig {config} is ordered by Placement {owner.key}, so this Placement"
            " orders nothing; name another config in spec.multiKueue"
        )
        self._lasting(claim, "MultiKueueConfigTaken", message)

    def refused(self, claim: ConfigClaim, error: str) -> None:
        """The hub refused to read or to write something."""
        config = claim.order.config
        self._refused[(config,)] = 1.0
        message = f"the clusters of MultiKueueConfig {config} are not ordered: {error}"
        self._lasting(claim, "MultiKueueConfigRefused", message)

    def still_refused(self, claim: ConfigClaim) -> None:
        """The hub refused something, and it is not tried again yet."""
        self._refused[(claim.order.config,)] = 1.0
        # Otherwise `finish` would take the refusal for over, and the next try would be a new Event.
        self._states.add((claim.key, "MultiKueueConfigRefused"))

    def kueue_missing(self, claims: Collection[ConfigClaim]) -> None:
        """The hub has no Kueue, or one that is too old."""
        for claim in claims:
            message = (
                f"MultiKueueConfig {claim.order.config} is not written: the hub does not serve"
                f" {MULTIKUEUE_CONFIGS.api_version}; install Kueue 0.19 or newer"
            )
            self._context.events.record(claim.reference, "KueueMissing", message, warning=True)

    def _lasting(self, claim: ConfigClaim, reason: str, message: str) -> None:
        state = (claim.key, reason)
        self._states.add(state)
        # A pass comes every few seconds, and the same Event from each would use up what may be
        # written.
        if self._last_messages.get(state) != message:
            self._last_messages[state] = message
            self._context.events.record(claim.reference, reason, message, warning=True)
