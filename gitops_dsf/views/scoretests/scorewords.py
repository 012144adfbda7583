"""Says in sentences why a score is what it is at a moment of a test."""

from collections.abc import Iterator, Mapping

from dsf_wire.publishrule import Rule, changed
from gitops_dsf.views.scoretests.queries import not_evaluated
from gitops_dsf.views.scoretests.runs import ADD_ON_PLACEMENT_SCORE, Run, ScorerOnCluster
from gitops_dsf.views.scoretests.story import START, PublishedScore, Story
from gitops_dsf.wording import names_text


def why_score(
    story: Story, resource: str, item: str, cluster: str, *, scorer: str | None, at: float
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
    run = first = runs[-1]
    for each in reversed(runs):
        if each.items != run.items:
            break
        first = each
    since = f"from {time_text(first.at - START)} on"
    if scorer is not None and (why := story.without_metric(scorer, cluster)):
        yield why
    if run.items is None:
        yield f"{since} the runs give no result{_raw(run, item)}, so nothing new is published"
        return
    yield f"{since} the runs give {_items(run.items, item)}{_raw(run, item)}"
    if run.items.get(item) != score.value:
        yield _held_back(found.rule, run.items, story.items(resource, cluster, at=at))


def _not_running(story: Story, cluster: str, name: str | None) -> str:
    if name is None:
        return f"the test gives no score of it on {cluster}"
    scorer = story.fleet.scorers[name]
    if scorer.spec.score_destination != ADD_ON_PLACEMENT_SCORE:
        return f"{name} does not publish: its scoreDestination is {scorer.spec.score_destination}"
    if scorer.spec.suspend:
        return f"{name} is suspended, so it runs nowhere"
    if cluster not in story.fleet.runs_on[name]:
        return f"{name} does not run on {cluster}: its clusterSelector, or a mask, leaves the cluster out"
    if story.gives_metrics and (why := not_evaluated(scorer)):
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


def _raw(run: Run, item: str) -> str:
    """The raw scores of an item in a run, in brackets. Those that are no number do not count."""
    values = [f"{value:g}".replace("nan", "NaN").replace("inf", "Inf") for value in run.raw.get(item, ())]
    return f" (raw score{'s' if len(values) > 1 else ''} {names_text(values)})" if values else ""


def _items(items: Mapping[str, int], item: str) -> str:
    value = items.get(item)
    if value is not None:
        return str(value)
    return f"no item {item}, but {', '.join(sorted(items)[:5])}"


def _held_back(rule: Rule, items: Mapping[str, int], published: Mapping[str, int]) -> str:
    if not changed(items, published, deadband=rule.deadband):
        return (
            f"the change is below publish.deadband {rule.deadband}, so it waits for the next renewal, at most"
            f" {time_text(rule.refresh)} after the last write"
        )
    return f"publish.minIntervalSeconds {rule.min_interval:g} after the last write are not over"


def time_text(seconds: float) -> str:
    """A time as tests write it, such as 1h30m."""
    rest, text = round(seconds), ""
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        count, rest = divmod(rest, size)
        text += f"{count}{unit}" if count else ""
    return text or "0s"
