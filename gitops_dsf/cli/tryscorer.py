"""The verb `gitops-dsf scorer try`: runs one cycle of a scorer as it is written, before the merge.

The agent's own code does it (`dsf_agent.process.trial`). No other module of gitops-dsf imports the
agent, which is an optional dependency.

Guaranteed: nothing is published, and no Secret of a cluster is read. Credentials are those of the
options. Not guaranteed: the scores of a cluster. The cycle asks the metric source and the scoring
API that this machine reaches, at this time.
"""

import argparse
import asyncio
import logging
import sys
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from dsf_wire.clusters import FleetCluster
from dsf_wire.measures import SOURCE_TYPE
from dsf_wire.summary import ScorerSummary
from gitops_dsf.cli.inputs import check_is_folder
from gitops_dsf.cli.report import show_findings
from gitops_dsf.cli.sides import base_fleet
from gitops_dsf.cli.storeaccess import check_store_url, headers, store_access, trusted
from gitops_dsf.cli.trieddecisions import with_decisions
from gitops_dsf.errors import GitopsDsfError, UsageError
from gitops_dsf.pipeline import check
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.plan.summaries import summarise
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.show.jsontext import json_text
from gitops_dsf.show.scorertry import changed_text, try_text
from gitops_dsf.show.scorescale import scale_notes
from gitops_dsf.urls.query_apis import instant, ranged
from gitops_dsf.views.preview.scorershift import changed_scorers
from gitops_dsf.views.scorertry import (
    TryDropped,
    TryFailure,
    TryItem,
    TryOutput,
    UntriedScorer,
)
from gitops_dsf.wording import did_you_mean_one_of, names_text, plural

try:
    from dsf_agent.configuration.settings import HUB_SCORER
    from dsf_agent.process.trial import (
        SourceAccess,
        TrialResult,
        TriedItem,
        credentials_needed,
        try_scorer,
    )
    from dsf_runtime.calls import display
except ModuleNotFoundError as error:
    raise GitopsDsfError(
        f"{error.name} is not installed; scorer try runs the code of the agent and needs the extra"
        " try (docs/start/install.md)"
    ) from error

PUBLISHED: Final = "AddOnPlacementScore"
# The limit is that of the backtest in the same pipeline (BACKTEST_SECONDS of `ci`).
CHANGED_SECONDS: Final = 60.0
"""The time limit for all changed scorers together. A pull request waits for them."""
MAX_CHANGED: Final = 20
"""Changed scorers that are tried."""
_UNREACHABLE: Final = frozenset({"unreachable", "timeout", "connection_lost"})
"""Reasons that the agent may not have, because it calls from another place."""
_NO_SERIES: Final = "the query gave no series"
"""The beginning of the agent's message."""


class _Trying(NamedTuple):
    """The scorer that is tried, and the place where it runs."""

    scorer: EffectiveScorer
    """The scorer with the variant of its source that counts there."""
    cluster: str | None
    """None for a scorer on the hub."""
    clusters: tuple[FleetCluster, ...] | None
    """The clusters that a scorer on the hub scores, else None."""
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The clusters that get scores."""
        if self.clusters is None:
            return (self.cluster or "",)
        return tuple(cluster.name for cluster in self.clusters)


def run(args: argparse.Namespace) -> int:
    """Returns 0 when the scorer gave scores.

    It returns 1 when it gave none, or when the repository has errors.
    """
    if args.prometheus is not None:
        check_store_url(args.prometheus)
    elif args.credentials is not None:
        raise UsageError("--credentials are those of a store; write --prometheus, too")
    # `scorer` and `directory` are optional words, so argparse cannot say which of them goes with
    # which option.
    if args.changed:
        # Then the only word is the folder.
        args.directory = args.directory if args.scorer is None else Path(args.scorer)
        if args.base is None:
            raise UsageError("--changed compares with a revision; write --base, such as main")
        if args.output == "json":
            raise UsageError("-o json shows one scorer; name it, or leave --changed out")
    elif args.scorer is None:
        raise UsageError("name the scorer, or write --changed for all that --base has otherwise")
    elif args.output == "markdown":
        raise UsageError("-o markdown has one line for each scorer; write --changed, too")
    check_is_folder(args.directory)
    checked = check(args.directory)
    fleet = checked.fleet
    if fleet is None:
        show_findings(args.directory, checked.diagnostics, ending="no scorer was tried")
        return 1
    # One time for all requests, and for the output, which says what was asked.
    at = args.at or datetime.now(UTC)
    # The log of the agent is in the result. Without a handler Python would print it as it is.
    logging.getLogger("dsf_agent").addHandler(logging.NullHandler())
    base = None if args.base is None else base_fleet(args.directory, args.base).fleet
    if args.changed and base is not None:
        return _try_changed(args, base, fleet, at=at)
    trying = _trying(args, fleet, _scorer(fleet, args.scorer))
    summary = _summary(args, trying.scorer)
    trial = asyncio.run(_tried(args, trusted(base, fleet), trying, summary, at=at))
    output = with_decisions(_output(trying, summary, trial, at=at), args, fleet)
    sys.stdout.write(_formatted(output, args.output))
    return int(output.failure is not None)


async def _tried(
    args: argparse.Namespace,
    asking: CheckedFleet,
    trying: _Trying,
    summary: ScorerSummary,
    *,
    at: datetime,
) -> TrialResult:
    """One cycle. `asking` is the revision whose credentials the store may see."""
    async with store_access(args, asking) as store:
        access = SourceAccess(
            token=await store.token(), headers=headers(args.header), trust=store.trust
        )
        return await try_scorer(
            summary,
            cluster=trying.cluster or HUB_SCORER,
            clusters=trying.clusters,
            access=access,
            now=at.timestamp(),
        )


def _try_changed(
    args: argparse.Namespace, base: CheckedFleet, head: CheckedFleet, *, at: datetime
) -> int:
    """Prints one line for each scorer whose raw scores or values change, or nothing.

    No scoring API is called: whoever may write a pull request names its host, and it would get what
    the store says.
    """
    ends = time.monotonic() + CHANGED_SECONDS
    tries: list[TryOutput | UntriedScorer] = []
    for scorer in changed_scorers(base, head):
        seconds = ends - time.monotonic()
        # Each scorer gets a line, also one that is not tried: a missing line would look as if the
        # pull request did not change it.
        if not scorer.spec.scored_by_query:
            reason = "a scoring API is called only for a scorer that is named"
            tries.append(UntriedScorer(scorer.name, reason))
        elif len(tries) >= MAX_CHANGED or seconds <= 0:
            tries.append(UntriedScorer(scorer.name, "only the first scorers are tried"))
        else:
            tries.append(_try_within(seconds, args, base, head, scorer, at=at))
    sys.stdout.write(changed_text(tries, as_markdown=args.output == "markdown"))
    # A scorer that was not tried is not a failure: it is unknown whether it would give scores.
    failed = [tried for tried in tries if isinstance(tried, TryOutput) and tried.failure]
    return int(bool(failed))


def _try_within(
    seconds: float,
    args: argparse.Namespace,
    base: CheckedFleet,
    head: CheckedFleet,
    scorer: EffectiveScorer,
    *,
    at: datetime,
) -> TryOutput | UntriedScorer:
    """One cycle of a changed scorer, or why there is none."""
    try:
        # The cluster is the same for all scorers, so it is named once.
        trying = _trying(args, head, scorer)._replace(notes=())
        summary = _summary(args, trying.scorer)
        cycle = _tried(args, trusted(base, head), trying, summary, at=at)
        trial = asyncio.run(asyncio.wait_for(cycle, seconds))
    except UsageError as error:
        return UntriedScorer(scorer.name, str(error))
    except TimeoutError:
        reason = f"the store did not answer within {CHANGED_SECONDS:.0f} s"
        return UntriedScorer(scorer.name, reason)
    return _output(trying, summary, trial, at=at)


def _formatted(output: TryOutput, style: str) -> str:
    if style == "json":
        return json_text(output)
    return try_text(output)


def _scorer(fleet: CheckedFleet, name: str) -> EffectiveScorer:
    """The scorer of a name. Raises UsageError."""
    scorer = fleet.scorer_by_name.get(name)
    if scorer is not None:
        return scorer
    if name in {scorer.name for scorer in fleet.open_scorers}:
        raise UsageError(
            f"{name} has no lock yet, so its query is not known; run gitops-dsf sync {name} first"
        )
    raise UsageError(
        f"there is no scorer {name}; {did_you_mean_one_of(name, fleet.scorer_by_name)}"
    )


def _trying(args: argparse.Namespace, fleet: CheckedFleet, scorer: EffectiveScorer) -> _Trying:
    """The place where a scorer is tried. Raises UsageError."""
    if args.cluster is not None and args.cluster not in fleet.cluster_names:
        raise UsageError(
            f"there is no cluster {args.cluster} in clusters/;"
            f" {did_you_mean_one_of(args.cluster, fleet.cluster_names)}"
        )
    runs_on = sorted(fleet.runs_on[scorer.name])
    if scorer.spec.on_hub:
        return _trying_on_hub(args, fleet, scorer, runs_on)
    # A cluster on which it does not run may be named: people try a scorer before they select one.
    if args.cluster is None and not runs_on:
        reason = (
            "it is suspended" if scorer.spec.suspend else "its selector and masks leave out all"
        )
        raise UsageError(
            f"{scorer.name} runs on no cluster, because {reason}; write --cluster to try it on one"
        )
    cluster = args.cluster or runs_on[0]
    notes: list[str] = []
    if cluster not in runs_on:
        reason = (
            "it is suspended" if scorer.spec.suspend else "its selector or a mask leaves it out"
        )
        notes.append(f"{scorer.name} does not run on {cluster}, because {reason}")
    elif args.cluster is None and len(runs_on) > 1:
        notes.append(
            f"this is what {cluster} would ask; {scorer.name} runs on {len(runs_on)} clusters, and"
            " --cluster tries another one"
        )
    return _Trying(fleet.on_cluster(scorer, cluster), cluster, None, tuple(notes))


def _trying_on_hub(
    args: argparse.Namespace,
    fleet: CheckedFleet,
    scorer: EffectiveScorer,
    runs_on: Iterable[str],
) -> _Trying:
    scored = frozenset(runs_on)
    if fleet.hub_scoring is None or not scored:
        raise UsageError(
            f"{scorer.name} runs on the hub and scores no cluster: it is suspended, or its selector"
            " and masks leave out all"
        )
    if args.cluster is not None and args.cluster not in scored:
        raise UsageError(
            f"{scorer.name} does not score {args.cluster}; it scores {names_text(sorted(scored))}"
        )
    names = scored if args.cluster is None else {args.cluster}
    clusters = tuple(cluster for cluster in fleet.hub_scoring.clusters if cluster.name in names)
    # The source of a scorer on the hub is the same for all clusters.
    return _Trying(fleet.by_variant[scorer.name][0], None, clusters)


def _summary(args: argparse.Namespace, scorer: EffectiveScorer) -> ScorerSummary:
    """The scorer as the agent reads it, with the source that --prometheus names.

    Raises UsageError if it cannot be tried from here.
    """
    if scorer.source_type == SOURCE_TYPE:
        raise UsageError(
            f"the source of {scorer.name} is Kubernetes: only the agent on the cluster can read it,"
            " so it cannot be tried from here"
        )
    summary = summarise(scorer)
    # The credentials of the source are replaced by --token-file and --credentials below. Nothing
    # replaces those of the scoring API.
    needed = credentials_needed(summary)
    if needed:
        raise UsageError(
            f"the scoring API of {scorer.name} wants {names_text(needed)}, which only the cluster"
            " has, so it cannot be tried from here; gitops-dsf scorer check --token-file tests the"
            " API alone"
        )
    if scorer.source_type == "None":
        return summary
    if args.prometheus is None:
        raise UsageError(
            f"{scorer.name} has a query; write --prometheus with the URL of a store that has its"
            " metrics, such as https://prometheus.example.com"
        )
    # The URL of --prometheus is that of the server; the paths of its API are known.
    url = ranged(args.prometheus)
    # Replaced, so that the credentials that people wrote for their own source are not sent.
    return msgspec.structs.replace(
        summary,
        source_endpoint=instant(url) if scorer.is_instant else url,
        source_ref=None,
        source_endpoint_auth_name="",
        source_endpoint_auth_key="",
        source_auth=None,
        source_basic_auth=None,
        source_client_certificate=None,
        source_headers=None,
    )


def _output(
    trying: _Trying, summary: ScorerSummary, trial: TrialResult, *, at: datetime
) -> TryOutput:
    """The output of the cycle, without the decisions of Placements."""
    scorer = trying.scorer
    is_published = scorer.spec.score_destination == PUBLISHED
    items = tuple(map(_item, trial.items))
    raw = [item.aggregate for item in items if item.aggregate is not None]
    notes = [*trying.notes, *scale_notes(raw, scorer.score_range)]
    # Only defaultScore has a value without a raw score.
    if items and not raw:
        notes.append("the source has no series, so the value is defaultScore")
    if trial.unscored:
        unscored = plural(len(trial.unscored), "cluster")
        notes.append(
            f"scores of {unscored} are missing, because a scoring request failed:"
            f" {trial.unscored_because}"
        )
    if not is_published:
        notes.append("scoreDestination is None, so these values are only metrics")
    has_query = scorer.source_type != "None"
    return TryOutput(
        scorer=scorer.name,
        resource=scorer.resource_name if is_published else None,
        cluster=trying.cluster,
        at=at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        source=display(summary.source_endpoint) if has_query else None,
        query=summary.source_query if has_query else None,
        scoring=None if summary.scored_by_query else display(summary.scoring_endpoint),
        failure=_failure(trial, summary),
        series=trial.series,
        bytes=trial.size,
        results=trial.results,
        dropped=tuple(
            TryDropped(reason=reason, count=count) for reason, count in trial.dropped.items()
        ),
        first_dropped=trial.first_dropped or None,
        warnings=trial.warnings,
        clamped=trial.clamped,
        items=items,
        missing=tuple(_missing(trying, trial)),
        notes=tuple(notes),
        ranked_by=(),
        explanations=(),
    )


def _item(tried: TriedItem) -> TryItem:
    """An item as the output has it. `views` does not know the agent, which is optional."""
    return TryItem(
        cluster=tried.cluster,
        name=tried.name,
        raw_scores=tried.raw_scores,
        aggregate=tried.aggregate,
        value=tried.value,
    )


def _missing(trying: _Trying, trial: TrialResult) -> Iterator[str]:
    """Clusters that a scorer on the hub scores, and that got no item."""
    # For a failure, and for the one cluster of an agent, the output says why there are no items.
    if trying.clusters is None or trial.failure:
        return
    with_item = {item.cluster for item in trial.items}
    for name in trying.names:
        if name not in with_item:
            yield name


def _failure(trial: TrialResult, summary: ScorerSummary) -> TryFailure | None:
    failure = trial.failure
    if failure is None:
        return None
    hint: str | None = None
    if failure.stage == "score" and failure.reason in _UNREACHABLE:
        hint = (
            "the scoring API is called from this machine, as the agent calls it from the cluster:"
            f" {display(summary.scoring_endpoint)} must be reachable from here to try this scorer"
        )
    elif failure.message.startswith(_NO_SERIES):
        # Not for series of which none gives an item: the message says why.
        hint = (
            "the store knows no series for this query at this time: look for a misspelled metric or"
            " label, or for a metric that this store does not have"
        )
    return TryFailure(
        stage=failure.stage, reason=failure.reason, message=failure.message, hint=hint
    )
