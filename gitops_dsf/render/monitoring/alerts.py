"""The alert rules: what a person should look at, and when. Thresholds and their reasons stand here and in
docs/monitoring.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gitops_dsf.render.monitoring.promql import AGENT, LEADER, RECONCILER, led


@dataclass(frozen=True, kw_only=True, slots=True)
class Alert:
    """One rule. `hold` is how long the expression must hold (Prometheus' `for`); texts are Prometheus
    templates.
    """

    name: str
    expression: str
    hold: str
    severity: str
    """critical: applications or scores are affected now. warning: they will be. info: somebody should know.
    """
    summary: str
    description: str


_DRIFTED: Final = "max by (scorer) (" + led('scorer_config{reason="Drifted"}') + ")"
_DEAD: Final = "sum by (scorer) (" + led('scored_clusters{state=~"expired|missing"}') + ")"
_FRESH: Final = "sum by (scorer) (" + led('scored_clusters{state="fresh"}') + ")"
_SUCCESSES: Final = 'outcome=~"pushed|unchanged|nothing"'

_ON_THE_HUB: Final = (
    Alert(
        name="GitopsDsfNoLeader",
        expression=f"(sum({LEADER}) or vector(0)) < 1",
        hold="5m",
        severity="critical",
        summary="No replica of the reconciler leads",
        description=(
            "Nothing is observed, no old copy of an application is removed, and moves wait for Argo CD's next"
            " poll. Look at the pods and the Lease gitops-dsf-reconciler."
        ),
    ),
    Alert(
        name="GitopsDsfTwoLeaders",
        expression=f"sum({LEADER}) > 1",
        hold="5m",
        severity="critical",
        summary="{{ $value }} replicas of the reconciler lead at once",
        description=(
            "They work against each other. Restart the Deployment, and look at the clocks of its nodes."
        ),
    ),
    Alert(
        name="GitopsDsfDutyFailing",
        expression=f"sum by (duty) (increase({RECONCILER}_duty_failures_total[30m])) > 2",
        hold="5m",
        severity="warning",
        summary="The reconciler's duty {{ $labels.duty }} fails again and again",
        description="It starts anew each time. The log has the reason.",
    ),
    Alert(
        name="GitopsDsfScorerFailing",
        expression=f"max by (scorer) ({led('scorer_healthy')}) == 0",
        hold="10m",
        severity="warning",
        summary="The scoring API of {{ $labels.scorer }} does not answer",
        description="Its scores expire at their validUntil. kubectl get dynamicscorers -o wide says why.",
    ),
    Alert(
        name="GitopsDsfScoresStale",
        expression=f"{_DEAD} > 0",
        hold="30m",
        severity="warning",
        summary="{{ $labels.scorer }} has no valid score on {{ $value }} clusters",
        description=(
            "An expired score counts as 0 once OCM looks again, a missing one always does. "
            f"{RECONCILER}_score_not_fresh names the clusters; their agents' logs say why."
        ),
    ),
    Alert(
        name="GitopsDsfScorerDark",
        expression=f"{_FRESH} == 0 and on (scorer) {_DEAD} > 0",
        hold="15m",
        severity="critical",
        summary="{{ $labels.scorer }} has no valid score anywhere",
        description=(
            "Placements that rank by it choose among equals. Look at the scoring API and at the metric"
            " source."
        ),
    ),
    Alert(
        name="GitopsDsfPlacementBlind",
        expression=f"max by (placement, scorer) ({led('placement_missing_scores')}) > 0",
        hold="30m",
        severity="warning",
        summary=(
            "Placement {{ $labels.placement }} ranks {{ $value }} clusters without a score of {{"
            " $labels.scorer }}"
        ),
        description="A missing score counts as 0. onMissingScore: Exclude keeps such clusters out.",
    ),
    Alert(
        name="GitopsDsfScorerSuspended",
        expression=f"max by (scorer) ({led('suspended')}) == 1",
        hold="5m",
        severity="info",
        summary="{{ $labels.scorer }} is suspended by the reconciler",
        description=(
            "Neither the hub nor a quorum of its clusters reaches it. It is taken up again when it answers."
        ),
    ),
    Alert(
        name="GitopsDsfManyScorersDown",
        expression=f"max({led('suspensions_held_back')}) > 0",
        hold="10m",
        severity="critical",
        summary="More than half of the scorers are down at once",
        description=(
            "More likely the hub's own network, DNS or proxy than so many scoring APIs. Nothing is suspended"
            " for it."
        ),
    ),
    Alert(
        name="GitopsDsfConfigDrift",
        # At each look of the last day, and already a day ago: `for: 1d` would start anew with every change of
        # the leader.
        expression=(
            f"min_over_time(({_DRIFTED})[1d:10m]) == 1 and on (scorer) max_over_time(({_DRIFTED})[30m:10m]"
            " offset 1d) == 1"
        ),
        hold="10m",
        severity="warning",
        summary="/config of {{ $labels.scorer }} has differed from git for a day",
        description="What runs is what git says. Run gitops-dsf sync, or merge the proposal.",
    ),
    Alert(
        name="GitopsDsfConfigInvalid",
        expression="max by (scorer) (" + led('scorer_config{reason="Invalid"}') + ") == 1",
        hold="1h",
        severity="warning",
        summary="/config of {{ $labels.scorer }} cannot be used",
        description=(
            "What was accepted last stays in force. The condition ConfigSynced of the DynamicScorer has the"
            " reason."
        ),
    ),
    Alert(
        name="GitopsDsfDecisionFlapping",
        expression=f"sum by (placement) (increase({RECONCILER}_decision_changes_total[1h])) > 6",
        hold="10m",
        severity="warning",
        summary=(
            "The decision of Placement {{ $labels.placement }} changed {{ $value | humanize }} times in an"
            " hour"
        ),
        description="Applications move back and forth. Raise stickiness, or smooth the score.",
    ),
    Alert(
        name="GitopsDsfMoveWaiting",
        expression=f"max by (applicationset) ({led('moves_waiting_seconds')}) > 3600",
        hold="5m",
        severity="warning",
        summary="A move of {{ $labels.applicationset }} has waited for {{ $value | humanizeDuration }}",
        description=(
            f"The old copy stays until then; label reason of {RECONCILER}_moves_waiting says what for"
            " (docs/reconciler.md)."
        ),
    ),
    Alert(
        name="GitopsDsfClockOff",
        expression=f"max(abs({led('clock_offset_seconds')})) > 30",
        hold="15m",
        severity="warning",
        summary="The hub's clock and the reconciler's differ by {{ $value | humanizeDuration }}",
        description="Expiry is judged by the hub's clock; logs and Events show the other.",
    ),
    Alert(
        name="GitopsDsfProposalsFailing",
        expression=(
            f'sum by (kind) (increase({RECONCILER}_proposals_total{{outcome="failed"}}[1h])) > 0 '
            f"unless on (kind) sum by (kind) (increase({RECONCILER}_proposals_total{{{_SUCCESSES}}}[1h])) > 0"
        ),
        hold="30m",
        severity="warning",
        summary="Proposals of {{ $labels.kind }} do not reach the repository",
        description=(
            "Credentials, the branch's protection, or the forge. The log has the answer of git or of the"
            " forge."
        ),
    ),
    Alert(
        name="GitopsDsfStateNotPushed",
        expression=(
            f'sum(increase({RECONCILER}_state_pushes_total{{outcome="failed"}}[1h])) > 0 '
            f"unless sum(increase({RECONCILER}_state_pushes_total{{{_SUCCESSES}}}[1h])) > 0"
        ),
        hold="30m",
        severity="warning",
        summary="The snapshot for previews does not reach the repository",
        description=(
            "Previews of pull requests judge by old data, and say how old. The log has the answer of git."
        ),
    ),
)

_ON_SPOKES: Final = (
    Alert(
        name="GitopsDsfAgentScorerFailing",
        expression=(
            'increase(dynamic_scoring_requests_total{status="failure"}[30m]) > 0 unless on (job, instance,'
            ' cluster, score_name) increase(dynamic_scoring_requests_total{status="success"}[30m]) > 0'
        ),
        hold="15m",
        severity="warning",
        summary="{{ $labels.score_name }} gives no scores on this cluster",
        description=f"{AGENT}_failures_total has stage and reason.",
    ),
    Alert(
        name="GitopsDsfAgentNotPublishing",
        expression=(
            f'increase({AGENT}_publish_total{{outcome="failed"}}[30m]) > 0 unless on (job, instance, cluster,'
            f' score_name) increase({AGENT}_publish_total{{outcome="written"}}[30m]) > 0'
        ),
        hold="15m",
        severity="critical",
        summary="Scores of {{ $labels.score_name }} do not reach the hub",
        description="They expire there. The add-on's registration, its rights on the hub, or the way there.",
    ),
    Alert(
        name="GitopsDsfAgentConfigUnusable",
        expression=f'{AGENT}_config_usable == 0 or {AGENT}_scorers{{state="invalid"}} > 0',
        hold="10m",
        severity="warning",
        summary="The agent's ConfigMap has entries that cannot run",
        description=(
            "The last good configuration stays in force, good entries run. /readyz of the agent names the"
            " others."
        ),
    ),
    Alert(
        name="GitopsDsfAgentResultsDropped",
        expression=f"increase({AGENT}_results_dropped_total[30m]) > 0",
        hold="30m",
        severity="info",
        summary="{{ $labels.score_name }} gives results that cannot be used ({{ $labels.reason }})",
        description="The others count. The agent's log has the first one of each cycle.",
    ),
    Alert(
        name="GitopsDsfAgentClockOff",
        expression=f"abs({AGENT}_hub_clock_offset_seconds) > 60",
        hold="30m",
        severity="warning",
        summary="The cluster's clock and the hub's differ by {{ $value | humanizeDuration }}",
        description="Queries look at the wrong minutes. Scores expire by the hub's clock, rightly.",
    ),
)

HUB_GROUP: Final = "gitops-dsf-reconciler"
AGENT_GROUP: Final = "gitops-dsf-agent"
GROUPS: Final[Mapping[str, tuple[Alert, ...]]] = {HUB_GROUP: _ON_THE_HUB, AGENT_GROUP: _ON_SPOKES}
"""By where their metrics are: the hub's Prometheus, and each cluster's (or one for all of them, with a label
cluster).
"""


def rules(*groups: str) -> dict[str, Any]:
    """A Prometheus rule file with these groups, all of them where none is named; also the spec of a
    PrometheusRule.
    """
    wanted = groups or tuple(GROUPS)
    return {"groups": [{"name": name, "rules": [_rule(alert) for alert in GROUPS[name]]} for name in wanted]}


def _rule(alert: Alert) -> dict[str, Any]:
    return {
        "alert": alert.name,
        "expr": alert.expression,
        "for": alert.hold,
        "labels": {"severity": alert.severity},
        "annotations": {"summary": alert.summary, "description": alert.description},
    }
