"""TODO."""

from collections.abc import Iterator, Mapping
from itertools import takewhile

from dsf_wire.publishrule import PublishSettings, changed
from gitops_dsf.scoretests.queries import not_evaluated
from gitops_dsf.scoretests.runs import ADD_ON_PLACEMENT_SCORE, ScorerOnCluster, ScorerRun
from gitops_dsf.scoretests.story import START, PublishedScore, ReplayedTest
from gitops_dsf.wording import names_text


def why_score(
    story: ReplayedTest, resource: str, item: str, cluster: str, *, scorer: str | None, at: float
) -> Iterator[str]:
    """The last write, the last run, and why they differ."""
    found = story.runs_of(resource, cluster)
    if found is None:
        yield _not_running(story, cluster, scorer)
        return
    score = story.score(resource, item, cluster, at=at)
    yield _published(score, found)
    runs = [each for each in found.runs if each.at - START <= at]
    if not runs or found.rule is None:
        return
    run = runs[-1]
    first = list(takewhile(lambda each: each.items == run.items, reversed(runs)))[-1]
    since = f"from {time_text(first.at - START)} on"
    if scorer is not None and (why := story.without.get((scorer, cluster))):
        yield why
    if run.items is None:
        yield f"{since} the runs give no result{_raw(run, item)}, so nothing new is published"
        return
    value = run.items.get(item)
    given = (
        f"no item {item}, but {', '.join(sorted(run.items)[:5])}" if value is None else str(value)
    )
    yield f"{since} the runs give {given}{_raw(run, item)}"
    if value != score.value:
        yield _held_back(found.rule, run.items, story.items(resource, cluster, at=at))


def _not_running(story: ReplayedTest, cluster: str, name: str | None) -> str:
    if name is None:
        return f"the test gives no score of it on {cluster}"
    scorer = story.fleet.scorer_by_name[name]
    if scorer.spec.score_destination != ADD_ON_PLACEMENT_SCORE:
        return f"{name} does not publish: its scoreDestination is {scorer.spec.score_destination}"
    if scorer.spec.suspend:
        return f"{name} is suspended, so it runs nowhere"
    if cluster not in story.fleet.runs_on[name]:
        return f"{name} does not run on {cluster}: its clusterSelector, or a mask, leaves the cluster out"
    if story.gives_metrics and (why := not_evaluated(scorer, story.fleet)):
        return f"the metrics of the test do not count for {name}, because {why}; give series of it"
    return f"the test gives no series and no score of {name} on {cluster}"


def _published(score: PublishedScore, found: ScorerOnCluster) -> str:
    if score.written is None:
        return "nothing has been published yet"
    when = "before the beginning" if score.written < 0 else f"at {time_text(score.written)}"
    value = "without this item" if score.value is None else str(score.value)
    text = f"last written {when}: {value}"
    if score.expired:
        return f"{text}; it expired at {time_text(score.written + found.track.ttl)}"
    return text


def _raw(run: ScorerRun, item: str) -> str:
    """The raw scores of an item in a run, in brackets. Those that are no number do not count."""
    values = [
        f"{value:g}".replace("nan", "NaN").replace("inf", "Inf") for value in run.raw.get(item, ())
    ]
    return f" (raw score{'s' if len(values) > 1 else ''} {names_text(values)})" if values else ""


def _held_back(
    rule: PublishSettings, items: Mapping[str, int], published: Mapping[str, int]
) -> str:
    if not changed(items, published, deadband=rule.deadband):
        until = f"the next renewal, at most {time_text(rule.refresh)} after the last write"
        return f"the change is below publish.deadband {rule.deadband}, so it waits for {until}"
    return f"publish.minIntervalSeconds {rule.min_interval:g} after the last write are not over"


def time_text(seconds: float) -> str:
    """A time as tests write it, such as 1h30m."""
    rest, text = round(seconds), ""
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        count, rest = divmod(rest, size)
        text += f"{count}{unit}" if count else ""
    return text or "0s"
