"""What the dashboard shows, row by row."""

from typing import Final

from gitops_dsf.render.monitoring.panel import Json, Panel, Row, Thresholds
from gitops_dsf.render.monitoring.promql import AGENT, LEADER, RECONCILER, led

_RATE: Final = "$__rate_interval"
_SCORER: Final = 'scorer=~"$scorer"'
_HEALTH: Final[list[Json]] = [
    {
        "type": "value",
        "options": {
            "1": {"text": "Active", "color": "green"},
            "0": {"text": "Inactive", "color": "red"},
            "-1": {"text": "never reached", "color": "text"},
        },
    }
]
_ZERO_IS_GOOD: Final[Thresholds] = ((None, "green"), (1, "orange"), (10, "red"))
_ONE_IS_GOOD: Final[Thresholds] = ((None, "red"), (1, "green"), (2, "red"))

ROWS: Final = (
    Row(
        title="Now",
        height=4,
        panels=(
            Panel(
                title="Leaders",
                kind="stat",
                width=4,
                queries=((f"sum({LEADER})", ""),),
                thresholds=_ONE_IS_GOOD,
                description="Replicas of the reconciler that work: one.",
            ),
            Panel(
                title="Scorers that do not answer",
                kind="stat",
                width=4,
                queries=((f"count(max by (scorer) ({led('scorer_healthy')}) == 0) or vector(0)", ""),),
                thresholds=_ZERO_IS_GOOD,
                description="Scoring APIs that answered once and do not any more.",
            ),
            Panel(
                title="Scores that are not valid",
                kind="stat",
                width=4,
                queries=(("sum(" + led('scored_clusters{state=~"expired|missing"}') + ") or vector(0)", ""),),
                thresholds=_ZERO_IS_GOOD,
                description="Expired or missing, over all scorers and clusters.",
            ),
            Panel(
                title="/config differs from git",
                kind="stat",
                width=4,
                queries=(
                    (
                        "sum(max by (scorer) (" + led('scorer_config{reason="Drifted"}') + ")) or vector(0)",
                        "",
                    ),
                ),
                thresholds=_ZERO_IS_GOOD,
                description="Scorers whose /config says something else than was accepted.",
            ),
            Panel(
                title="Old copies that wait",
                kind="stat",
                width=4,
                queries=((f"sum({led('moves_waiting')}) or vector(0)", ""),),
                thresholds=_ZERO_IS_GOOD,
                description=(
                    "Applications on clusters that left the decision, until their new copy is Healthy."
                ),
            ),
            Panel(
                title="Open proposals",
                kind="stat",
                width=4,
                queries=((f"sum({led('proposal_open')}) or vector(0)", ""),),
                thresholds=((None, "green"),),
                description="Commits of the reconciler that wait for a person.",
            ),
        ),
    ),
    Row(
        title="Scorers",
        height=8,
        panels=(
            Panel(
                title="Health of scoring APIs",
                kind="state-timeline",
                width=12,
                queries=(("max by (scorer) (" + led(f"scorer_healthy{{{_SCORER}}}") + ")", "{{scorer}}"),),
                mappings=_HEALTH,
                description="As probed from the hub.",
            ),
            Panel(
                title="/config against git",
                kind="timeseries",
                width=12,
                queries=(("sum by (reason) (" + led(f"scorer_config{{{_SCORER}}}") + ")", "{{reason}}"),),
                stacked=True,
                description="Scorers in configSyncMode Full by what their /config says.",
            ),
        ),
    ),
    Row(
        title="Freshness",
        height=9,
        panels=(
            Panel(
                title="Scores by state",
                kind="timeseries",
                width=8,
                queries=(
                    (
                        "sum by (state) ("
                        + led(f'scored_clusters{{{_SCORER},state=~"fresh|expired|missing"}}')
                        + ")",
                        "{{state}}",
                    ),
                ),
                stacked=True,
                description="Pairs of cluster and scorer.",
            ),
            Panel(
                title="Clusters without a valid score",
                kind="status-history",
                width=8,
                queries=(
                    (
                        "sum by (scorer) ("
                        + led(f'scored_clusters{{{_SCORER},state=~"expired|missing"}}')
                        + ")",
                        "{{scorer}}",
                    ),
                ),
                thresholds=_ZERO_IS_GOOD,
                description="By scorer; green where there is none.",
            ),
            Panel(
                title="Not fresh now",
                kind="table",
                width=8,
                queries=((led(f"score_not_fresh{{{_SCORER}}}"), ""),),
                description="Which cluster and scorer; at most 1,000.",
            ),
        ),
    ),
    Row(
        title="Decisions and moves",
        height=8,
        panels=(
            Panel(
                title="Changes of decisions",
                kind="timeseries",
                width=8,
                queries=(
                    (
                        f"sum by (placement) (increase({RECONCILER}_decision_changes_total[{_RATE}]))",
                        "{{placement}}",
                    ),
                ),
                description="Placements whose clusters changed. One that never stops wants more stickiness.",
            ),
            Panel(
                title="Clusters ranked without a score",
                kind="timeseries",
                width=8,
                queries=(
                    (
                        f"max by (placement, scorer) ({led('placement_missing_scores')})",
                        "{{placement}}: {{scorer}}",
                    ),
                ),
                description="A missing score counts as 0.",
            ),
            Panel(
                title="Clusters of decisions",
                kind="timeseries",
                width=8,
                queries=((f"max by (placement) ({led('decision_clusters')})", "{{placement}}"),),
                description="How many clusters each Placement has.",
            ),
            Panel(
                title="Waiting moves",
                kind="timeseries",
                width=8,
                queries=((f"sum by (reason) ({led('moves_waiting')})", "{{reason}}"),),
                stacked=True,
                description="Old copies by what they wait for.",
            ),
            Panel(
                title="Longest wait",
                kind="timeseries",
                width=8,
                unit="s",
                queries=(
                    (f"max by (applicationset) ({led('moves_waiting_seconds')})", "{{applicationset}}"),
                ),
                description="Since the cluster left the decision.",
            ),
            Panel(
                title="Asking Argo CD to look",
                kind="timeseries",
                width=8,
                unit="s",
                queries=tuple(
                    (
                        (
                            f"histogram_quantile({quantile}, sum by (le)"
                            f" (rate({RECONCILER}_refresh_delay_seconds_bucket[{_RATE}])))"
                        ),
                        legend,
                    )
                    for quantile, legend in (("0.5", "median"), ("0.95", "95 %"))
                ),
                description=(
                    "From the last change of a decision; 5 s of it are waiting for the decision to hold"
                    " still."
                ),
            ),
        ),
    ),
    Row(
        title="Back to git",
        height=7,
        panels=(
            Panel(
                title="Proposals",
                kind="timeseries",
                width=8,
                queries=(
                    (
                        (
                            "sum by (kind, outcome)"
                            f' (increase({RECONCILER}_proposals_total{{outcome!="nothing"}}[{_RATE}]))'
                        ),
                        "{{kind}} {{outcome}}",
                    ),
                ),
                description="Looks that found something to propose, by outcome.",
            ),
            Panel(
                title="Snapshots",
                kind="timeseries",
                width=8,
                queries=(
                    (f"sum by (outcome) (increase({RECONCILER}_state_pushes_total[{_RATE}]))", "{{outcome}}"),
                ),
                description="On the state branch, for previews.",
            ),
            Panel(
                title="Age of the snapshot",
                kind="timeseries",
                width=8,
                unit="s",
                queries=((f"max({led('state_age_seconds')})", "age"),),
                description="Since it was seen on the branch.",
            ),
        ),
    ),
    Row(
        title="Agents",
        height=8,
        panels=(
            Panel(
                title="Failures by reason",
                kind="timeseries",
                width=8,
                unit="ops",
                queries=(
                    (
                        f"sum by (stage, reason) (rate({AGENT}_failures_total[{_RATE}]))",
                        "{{stage}} {{reason}}",
                    ),
                ),
                stacked=True,
                description="Needs the agents' metrics in this Prometheus.",
            ),
            Panel(
                title="Cycles",
                kind="timeseries",
                width=8,
                unit="ops",
                queries=((f"sum by (status) (rate(dynamic_scoring_requests_total[{_RATE}]))", "{{status}}"),),
                description="Of all scorers on all clusters.",
            ),
            Panel(
                title="Clock offset",
                kind="timeseries",
                width=8,
                unit="s",
                queries=(
                    (f"topk(10, abs({AGENT}_hub_clock_offset_seconds))", "agent {{cluster}} {{instance}}"),
                    (f"abs({led('clock_offset_seconds')})", "reconciler"),
                ),
                description="Against the hub's clock, by which scores expire; the ten worst agents.",
            ),
        ),
    ),
    Row(
        title="The reconciler itself",
        height=7,
        panels=(
            Panel(
                title="Writes to the hub",
                kind="timeseries",
                width=12,
                unit="ops",
                queries=(
                    (f'sum(rate({AGENT}_publish_total{{outcome="written"}}[{_RATE}]))', "scores, by agents"),
                    (f"sum(rate({RECONCILER}_status_patches_total[{_RATE}]))", "status of scorers"),
                    (f"sum(rate({RECONCILER}_refreshes_total[{_RATE}]))", "refreshes"),
                    (f"sum(rate({RECONCILER}_copies_removed_total[{_RATE}]))", "copies removed"),
                    (f"sum(rate({RECONCILER}_dead_scores_removed_total[{_RATE}]))", "dead scores removed"),
                ),
                stacked=True,
                description="A small hub was seen to peak near 390 writes a second.",
            ),
            Panel(
                title="Rounds of probes",
                kind="timeseries",
                width=6,
                unit="s",
                queries=((f"max({led('probe_round_seconds')})", "duration"),),
                description="At most the time-out of a probe plus 2 s.",
            ),
            Panel(
                title="Duties that started anew",
                kind="timeseries",
                width=6,
                queries=(
                    (f"sum by (duty) (increase({RECONCILER}_duty_failures_total[{_RATE}]))", "{{duty}}"),
                ),
                description="The log has the reason.",
            ),
        ),
    ),
)
