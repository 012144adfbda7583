"""Reasons for the scores of a test, in sentences.

They are reasons of a failing expectation, which are part of the JSON of `test`.
"""

from collections.abc import Iterator, Mapping, Sequence

from dsf_wire.publishrule import PublishSettings, changed
from gitops_dsf.scoretests.queries import ScorerOnCluster, not_evaluated
from gitops_dsf.scoretests.replay import START, ReplayedTest, ScoreAtTime
from gitops_dsf.scoretests.runs import ADD_ON_PLACEMENT_SCORE, ReplayedScorer, ScorerRun
from gitops_dsf.wording import names_text

MAX_ITEMS = 5
"""Names of items in a sentence."""


def why_score(
    replayed: ReplayedTest, resource: str, item: str, cluster: str, *, scorer: str | None, at: float
) -> Iterator[str]:
    """The last write, the last run, and why they differ.

    `at` is in seconds from the start. `scorer` is None for a score that no scorer publishes.
    """
    on_cluster = replayed.scorer_on(resource, cluster)
    if on_cluster is None:
        yield _not_running(replayed, cluster, scorer)
        return
    score = replayed.score(resource, item, cluster, at=at)
    yield _published(score, on_cluster)
    # Only runs up to the time that the test asks about explain what it sees.
    runs = [run for run in on_cluster.runs if run.at - START <= at]
    if not runs or on_cluster.rule is None:
        return
    if scorer is not None:
        without_metric = replayed.without_metric.get(ScorerOnCluster(scorer, cluster))
        if without_metric:
            yield without_metric
    run = runs[-1]
    since = time_text(_since(runs) - START)
    if run.items is None:
        yield (
            f"from {since} on the runs give no result{_raw(run, item)}, so nothing new is published"
        )
        return
    yield f"from {since} on the runs give {_value(run.items, item)}{_raw(run, item)}"
    # The agent does not write each change: the deadband and the shortest interval hold some back.
    if run.items.get(item) != score.value:
        yield _held_back(on_cluster.rule, run.items, replayed.items(resource, cluster, at=at))


def _not_running(replayed: ReplayedTest, cluster: str, name: str | None) -> str:
    if name is None:
        return f"the test gives no score of it on {cluster}"
    scorer = replayed.fleet.scorer_by_name[name]
    if scorer.spec.score_destination != ADD_ON_PLACEMENT_SCORE:
        return f"{name} does not publish: its scoreDestination is {scorer.spec.score_destination}"
    if scorer.spec.suspend:
        return f"{name} is suspended, so it runs nowhere"
    if cluster not in replayed.fleet.runs_on[name]:
        return (
            f"{name} does not run on {cluster}: its clusterSelector, or a mask, leaves the cluster"
            " out"
        )
    if replayed.gives_metrics:
        reason = not_evaluated(scorer, replayed.fleet)
        if reason:
            return (
                f"the metrics of the test do not count for {name}, because {reason}; give series of"
                " it"
            )
    return f"the test gives no series and no score of {name} on {cluster}"


def _published(score: ScoreAtTime, scorer: ReplayedScorer) -> str:
    if score.written is None:
        return "nothing has been published yet"
    # A given score is dated before time 0, so that the agent writes the first change at once.
    when = "before the beginning" if score.written < 0 else "at " + time_text(score.written)
    value = "without this item" if score.value is None else str(score.value)
    if score.expired:
        return (
            f"last written {when}: {value}; it expired at"
            f" {time_text(score.written + scorer.track.ttl)}"
        )
    return f"last written {when}: {value}"


def _since(runs: Sequence[ScorerRun]) -> float:
    """The time when the items of the last run were first given, without others after that."""
    since = runs[-1].at
    for run in reversed(runs):
        if run.items != runs[-1].items:
            break
        since = run.at
    return since


def _value(items: Mapping[str, int], item: str) -> str:
    if item in items:
        return str(items[item])
    return f"no item {item}, but {', '.join(sorted(items)[:MAX_ITEMS])}"


def _raw(run: ScorerRun, item: str) -> str:
    """The raw scores of an item in a run, in brackets. Those that are not numbers do not count."""
    values = list(map(_number, run.raw.get(item, ())))
    if not values:
        return ""
    if len(values) == 1:
        return f" (raw score {values[0]})"
    return f" (raw scores {names_text(values)})"


def _number(value: float) -> str:
    """A number as Prometheus writes it."""
    return f"{value:g}".replace("nan", "NaN").replace("inf", "Inf")


def _held_back(
    rule: PublishSettings, items: Mapping[str, int], published: Mapping[str, int]
) -> str:
    if changed(items, published, deadband=rule.deadband):
        return f"publish.minIntervalSeconds {rule.min_interval:g} after the last write are not over"
    return (
        f"the change is below publish.deadband {rule.deadband}, so it waits for the next renewal,"
        f" at most {time_text(rule.refresh)} after the last write"
    )


def time_text(seconds: float) -> str:
    """A time as tests write it, such as 1h30m."""
    rest = round(seconds)
    text = ""
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        count, rest = divmod(rest, size)
        if count:
            text += f"{count}{unit}"
    return text or "0s"
