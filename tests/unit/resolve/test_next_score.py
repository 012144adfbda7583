"""What follows from a published score after an edit.

It is compared with what the agent's functions then publish.
"""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from dsf_wire.dimension import LABELS
from gitops_dsf.hub.intervals import Interval
from gitops_dsf.hub.raw_results import RawResult
from gitops_dsf.hub.scores import PublishedScore, score_of
from gitops_dsf.plan.summaries import summarise
from gitops_dsf.resolve.next_score import (
    NextScore,
    ScorerEdit,
    keeps_item_names,
    published_causes,
    unbounded,
)
from gitops_dsf.resolve.raw_inputs import history_causes, raw_causes
from gitops_dsf.resolve.scorer import EffectiveScorer
from tests.support.agent.published import PublishedResult, PublishedScores
from tests.support.laws import examples
from tests.support.rendering import scorer_of

TTL = 900
INTERVAL = 60
PUBLISH = {"deadband": 2, "minIntervalSeconds": 0}


def written(**spec: Any) -> EffectiveScorer:
    """A scorer that writes changes at once, so that no change waits."""
    return scorer_of("cpu", **{"publish": PUBLISH, **spec})


def edit(before: Mapping[str, Any], **change: Any) -> ScorerEdit:
    return ScorerEdit(written(**before), written(**{**before, **change}))


def scale(low: float, high: float, first: int = 1, last: int = 100) -> dict[str, Any]:
    return {"min": low, "max": high, "outputMin": first, "outputMax": last}


@st.composite
def scales(draw: st.DrawFn) -> dict[str, Any]:
    """The part of a spec with a map: rising or falling, of a few points or of all."""
    if draw(st.integers(0, 5)) == 0:
        return {}
    low = draw(st.sampled_from([-50.0, 0.0, 0.1, 20.0]))
    span = draw(st.sampled_from([0.7, 1.0, 20.0, 100.0, 777.7]))
    first, last = draw(st.permutations([-100, -1, 0, 1, 7, 90, 100]))[:2]
    return {"scoreRange": scale(low, low + span, first, last)}


@st.composite
def specs(draw: st.DrawFn) -> dict[str, Any]:
    """How raw scores are published."""
    spec = draw(scales())
    spec["publish"] = {"deadband": draw(st.integers(0, 6)), "minIntervalSeconds": 0}
    default = draw(st.none() | st.sampled_from([-100, 0, 40, 41, 100]))
    if default is not None:
        spec["defaultScore"] = default
    name = draw(st.sampled_from(["cpu", "cpu", "cpu", "CPU", "free"]))
    spec["scoring"] = {"params": {"name": name, "interval": INTERVAL}}
    spec["scoreDimensionFormat"] = draw(
        st.sampled_from(["${scoreName}", "${scoreName}", "v", "${cluster}"])
    )
    return spec


RAW = st.sampled_from([-1e300, -60.0, 0.0, 0.3, 0.8, 1.0, 19.9, 49.999, 50.0, 64.7, 120.0, 1e300])
CYCLES = st.lists(st.none() | st.tuples(RAW, st.floats(-3, 3)), min_size=1, max_size=6)


@examples(20, soak=1000)
@given(before=specs(), after=specs(), cycles=CYCLES)
@example(  # The deadband hides a change before the edit, and another one after it.
    before={"scoreRange": scale(0, 100, 0, 100), "publish": {"deadband": 5}},
    after={"scoreRange": scale(0, 100, 0, 99), "publish": {"deadband": 5}},
    cycles=[(50.0, 0.0), (50.0, 3.0)],
)
@example(  # A default score looks like one of a result.
    before={"scoreRange": scale(0, 100, 0, 100), "defaultScore": 40},
    after={"scoreRange": scale(0, 200, 0, 100), "defaultScore": 41},
    cycles=[None],
)
@example(  # The deadband hides the change of the default score.
    before={"scoreRange": scale(0, 1, 1, 7), "defaultScore": 40},
    after={"scoreRange": scale(0, 1, 1, 7), "defaultScore": 41},
    cycles=[None],
)
def test_what_the_agent_publishes_after_an_edit_is_in_the_interval(
    before: dict[str, Any], after: dict[str, Any], cycles: list[tuple[float, float] | None]
) -> None:
    """From the first cycle after the edit on, through refreshes and expiry, for the last raw score.

    Or it is what it would be without the edit.
    """
    change = ScorerEdit(written(**before), written(**after))
    old = summarise(change.before)
    new = summarise(change.after)
    scores = PublishedScores("eu-1")
    now = 1_000_000.0
    for cycle in cycles:
        scores.cycle(old, _results(cycle), now=now)
        now += INTERVAL
    present = _on_hub(scores, change.before.resource_name)
    last = cycles[-1]
    # Of a score whose cycles fail now, nothing is promised.
    assume(present is None or last is not None or "defaultScore" in before)
    follows: NextScore | None
    if present is None:
        follows = change.next_missing(None, cluster="eu-1")
    else:
        follows = change.next_score(present, cluster="eu-1")
        assert follows.bounded, "the base has published it"
    unedited = PublishedScores("eu-1", dict(scores.by_name))
    name = change.after.resource_name
    scores.keep(name)
    for _ in range(2 * TTL // INTERVAL):
        scores.cycle(new, _results(last), now=now)
        unedited.cycle(old, _results(last), now=now)
        for item in ("cpu", "CPU", "free", "v", "eu-1"):
            counted = scores.counted(name, item, now=now)
            interval = Interval(0, 0) if follows is None else follows.interval(item)
            is_unedited = counted == unedited.counted(name, item, now=now)
            assert interval.holds(counted) or (interval.exact and is_unedited), (item, follows)
        now += INTERVAL


def _results(cycle: tuple[float, float] | None) -> list[PublishedResult]:
    if cycle is None:
        return []
    raw, noise = cycle
    return [PublishedResult(raw + noise)]


def _on_hub(scores: PublishedScores, name: str) -> PublishedScore | None:
    published = scores.by_name.get(name)
    return None if published is None else score_of(published.values)


@given(before=scales(), after=scales(), raws=st.dictionaries(st.sampled_from("abc"), RAW))
def test_each_item_of_several_has_an_interval_of_its_own(
    before: dict[str, Any], after: dict[str, Any], raws: dict[str, float]
) -> None:
    assume(raws)
    per_node = {"scoreDimensionFormat": "${node}"}
    change = ScorerEdit(written(**before, **per_node), written(**after, **per_node))
    scores = PublishedScores("eu-1")
    results = [PublishedResult(raw, node=node) for node, raw in raws.items()]
    scores.cycle(summarise(change.before), results, now=0)
    present = _on_hub(scores, "cpu")
    assert present is not None
    follows = change.next_score(present, cluster="eu-1")
    for now in (60.0, 600.0):
        scores.cycle(summarise(change.after), results, now=now)
        for node in raws:
            assert follows.interval(node).holds(scores.counted("cpu", node, now=now))
    assert follows.interval("another") == Interval(0, 0)


AGGREGATIONS = st.sampled_from(["Last", "Mean", "Min", "Max", "Sum"])
FORMATS = st.sampled_from(["${scoreName}", "v", "${cluster}", "${node}", "${scoreName}-${node}"])


@examples(20, soak=1000)
@given(
    specs=st.tuples(specs(), specs()),
    ways=st.tuples(AGGREGATIONS, AGGREGATIONS),
    formats=st.tuples(FORMATS, FORMATS),
    cycles=st.lists(
        st.lists(st.tuples(RAW, st.sampled_from("abc")), min_size=1, max_size=4),
        min_size=1,
        max_size=3,
    ),
)
def test_known_raw_scores_give_what_the_agent_publishes(
    specs: tuple[dict[str, Any], dict[str, Any]],
    ways: tuple[str, str],
    formats: tuple[str, str],
    cycles: list[list[tuple[float, str]]],
) -> None:
    """Also for another aggregation and other items, whatever the order of the results is."""
    before, after = (
        written(**spec | {"scoreAggregation": way, "scoreDimensionFormat": template})
        for spec, way, template in zip(specs, ways, formats, strict=True)
    )
    # What a refresh writes of a score to which the edit does nothing, is written without it, too.
    assume(published_causes(before, after) or ways[0] != ways[1])
    change = ScorerEdit(before, after)
    scores = PublishedScores("eu-1")
    now = 1_000_000.0
    for cycle in cycles:
        results = [PublishedResult(raw, node=node) for raw, node in cycle]
        scores.cycle(summarise(before), results, now=now)
        now += INTERVAL
    present = _on_hub(scores, before.resource_name)
    assume(present is not None and set(present.names) == set(_items(before, results)))
    assert present is not None
    known = [_known(raw, node) for raw, node in sorted(cycles[-1])]
    follows = change.next_by_results(present, known, cluster="eu-1", why="scoreRange changed")
    # The agent drops a sum that is infinite. Then nothing may be told.
    assume(follows is not None)
    assert follows is not None
    # Of results with the same labels an agent exports the last one, which is enough for Last.
    exported = [_known(raw, node) for node, raw in {node: raw for raw, node in cycles[-1]}.items()]
    by_exported = change.next_by_results(present, exported, cluster="eu-1", why="")
    scores.keep(after.resource_name)
    for _ in range(2 * TTL // INTERVAL):
        scores.cycle(summarise(after), results, now=now)
        published = scores.by_name[after.resource_name].values
        assert set(published) == set(follows.items)
        for item, score in published.items():
            assert follows.interval(item).holds(score), (item, score, follows)
            if ways[1] == "Last" and by_exported is not None:
                assert by_exported.interval(item).holds(score), (item, score, by_exported)
        now += INTERVAL


def _known(raw: float, node: str) -> RawResult:
    labels = tuple(node if name == "node" else "" for name in LABELS)
    return RawResult(labels=labels, low=raw, high=raw)


def _items(scorer: EffectiveScorer, results: list[PublishedResult]) -> Mapping[str, int]:
    """What an agent without a score on the hub publishes of these results."""
    scores = PublishedScores("eu-1")
    scores.cycle(summarise(scorer), results, now=0)
    published = scores.by_name.get(scorer.resource_name)
    return {} if published is None else published.values


def test_raw_scores_of_another_revision_or_with_gaps_tell_nothing() -> None:
    change = edit({"scoreDimensionFormat": "${node}"}, scoreRange=scale(0, 50))
    present = score_of({"a": 40, "b": 41})
    for known in ([], [_known(40.0, "a")], [_known(40.0, "a"), _known(41.0, "c")]):
        assert change.next_by_results(present, known, cluster="eu-1", why="") is None


def test_two_replicas_that_differ_leave_bounds() -> None:
    change = edit({"scoreRange": scale(0, 100, 0, 100)}, scoreRange=scale(0, 50, 0, 100))
    known = RawResult(labels=_known(0.0, "").labels, low=30.2, high=31.6)
    follows = change.next_by_results(score_of({"cpu": 30}), [known], cluster="eu-1", why="")
    assert follows is not None
    assert (dict(follows.items), follows.exists) == ({"cpu": Interval(60, 63)}, True)


def test_the_deadband_keeps_a_present_score_that_is_near_the_known_one() -> None:
    change = edit({"scoreRange": scale(0, 100, 0, 100)}, scoreRange=scale(0, 101, 0, 100))
    follows = change.next_by_results(
        score_of({"cpu": 40}), [_known(40.3, "")], cluster="eu-1", why=""
    )
    assert follows is not None
    assert follows.interval("cpu") == Interval(39, 40), "39 is written at the next refresh"


CENTS = {"scoreRange": scale(0, 20, 100, 1)}


@pytest.mark.parametrize(
    ("before", "change", "score", "low", "high"),
    [
        # 69 is 6.2 cents; a deadband of 2 leaves 68 to 70, which are 5.859 to 6.465 cents.
        (CENTS, {"scoreRange": scale(3, 7, 100, 1)}, 69, 14, 29),
        ({**CENTS, "publish": {"deadband": 1}}, {"scoreRange": scale(3, 7, 100, 1)}, 69, 19, 24),
        (CENTS, {"scoreRange": scale(50, 60)}, 69, 1, 1),
        (CENTS, {"scoreRange": None}, 69, 5, 6),
        ({}, {"scoreRange": scale(0, 100, 0, 100)}, 100, 99, 100),
        ({}, {"scoreRange": scale(0, 100, 0, 50)}, 40, 19, 20),
        ({}, {"scoreRange": scale(0, 100, 0, 50)}, -100, 0, 0),
        ({}, {"publish": {"deadband": 1}}, 40, 39, 41),
        ({}, {"publish": {"deadband": 0}}, 100, 99, 100),
        (CENTS, {"scoreRange": scale(0, 20, 1, 100)}, 100, 1, 2),
    ],
)
def test_an_edit_gives_each_score_a_few_points(
    before: dict[str, Any], change: dict[str, Any], score: int, low: int, high: int
) -> None:
    follows = edit(before, **change).next_score(score_of({"cpu": score}), cluster="eu-1")
    assert (follows.items, follows.exists) == ({"cpu": Interval(low, high)}, True)


def test_a_score_that_the_base_does_not_publish_tells_nothing() -> None:
    """Another program wrote it, or another revision of the scorer."""
    change = edit({"scoreRange": scale(0, 1)}, scoreRange=scale(0, 2))
    for present in ({"cpu": -40}, {"other": 40}, {"cpu": 40, "other": 40}, {}):
        follows = change.next_score(score_of(present), cluster="eu-1")
        assert (follows.bounded, follows.interval("cpu")) == (False, Interval(0, 100))
        assert follows.why == (
            "scoreRange changed, and the present score is not one that the base publishes"
        )


@pytest.mark.parametrize(
    ("before", "after", "present", "low", "high"),
    [
        (40, 70, 40, 40, 70),
        (40, 70, 41, 41, 70),
        (40, 70, 43, 43, 43),
        (40, None, 40, 0, 40),
        (None, 70, 40, 40, 40),
    ],
)
def test_a_default_score_counts_where_the_present_one_may_be_it(
    before: int | None, after: int | None, present: int, low: int, high: int
) -> None:
    """A score near the old default may be of a result as well."""
    scale_of_all = {"scoreRange": scale(0, 100, 0, 100)}
    change = ScorerEdit(
        written(**scale_of_all, defaultScore=before), written(**scale_of_all, defaultScore=after)
    )
    follows = change.next_score(score_of({"cpu": present}), cluster="eu-1")
    assert follows.interval("cpu") == Interval(low, high)


def test_a_cluster_without_a_score_may_get_a_new_default_and_nothing_else() -> None:
    missing = edit({}, defaultScore=-30).next_missing(None, cluster="eu-1")
    assert missing is not None
    assert (missing.interval("cpu"), missing.exists) == (Interval(-30, 0), False)
    expired = edit({}, defaultScore=-30).next_missing(score_of({"cpu": 7}), cluster="eu-1")
    assert expired is not None
    assert (expired.interval("cpu"), expired.exists) == (Interval(-30, 0), True)
    assert edit({}, scoreRange=scale(0, 1)).next_missing(None, cluster="eu-1") is None
    assert edit({"defaultScore": 5}, defaultScore=9).next_missing(None, cluster="eu-1") is None


def test_another_name_keeps_the_values() -> None:
    """They are written anew under it, so the deadband does not widen them to the present score."""
    renamed = edit({}, scoring={"params": {"name": "free", "interval": INTERVAL}})
    follows = renamed.next_score(score_of({"cpu": 40}), cluster="eu-1")
    assert (dict(follows.items), follows.exists) == ({"free": Interval(39, 41)}, False)
    item = edit({}, scoreDimensionFormat="${cluster}")
    follows = item.next_score(score_of({"cpu": 40}), cluster="eu-1")
    assert (dict(follows.items), follows.exists) == ({"eu-1": Interval(39, 41)}, False)


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        ({}, {"scoreDimensionFormat": "v"}, True),
        ({"scoreDimensionFormat": "${node}"}, {"scoreDimensionFormat": "${node}"}, True),
        ({"scoreDimensionFormat": "${node}"}, {"scoreDimensionFormat": "${pod}"}, False),
        ({}, {"scoreDimensionFormat": "${node}"}, False),
    ],
)
def test_whether_the_names_of_items_are_known(
    before: dict[str, Any], after: dict[str, Any], kept: bool
) -> None:
    renamed = {"scoring": {"params": {"name": "free", "interval": INTERVAL}}}
    assert keeps_item_names(written(**before), written(**after)) is kept
    assert keeps_item_names(written(**before), written(**after, **renamed)) is kept
    per_score = {"scoreDimensionFormat": "${scoreName}-${node}"}
    assert not keeps_item_names(written(**per_score), written(**per_score, **renamed))


@pytest.mark.parametrize(
    ("change", "published", "raw", "past"),
    [
        ({"scoreRange": scale(0, 1)}, ("scoreRange",), (), ()),
        ({"defaultScore": 4}, ("defaultScore",), (), ("defaultScore",)),
        ({"publish": {"deadband": 1}}, ("publish.deadband",), (), ()),
        ({"publish": {"deadband": 9}}, (), (), ()),
        ({"description": "other"}, (), (), ()),
        ({"runsOn": "Hub"}, (), ("runsOn",), ("runsOn",)),
        (
            {"scoring": {"params": {"name": "free", "interval": 9}}},
            ("score name",),
            (),
            ("score name",),
        ),
    ],
)
def test_what_a_changed_field_decides(
    change: dict[str, Any],
    published: tuple[str, ...],
    raw: tuple[str, ...],
    past: tuple[str, ...],
) -> None:
    """What is published of a raw score, the raw score itself, and what the past says of it."""
    before = written()
    after = written(**change)
    assert published_causes(before, after) == published
    assert raw_causes(before, after) == raw
    assert history_causes(before, after) == past


def test_range_and_step_of_an_instant_query_decide_nothing() -> None:
    """A scorer without an API sends neither, and one with an API sends both."""

    def asking(kind: str, span: int) -> EffectiveScorer:
        params = {"query": "avg(up)", "range": span, "step": span}
        source = {"type": "Prometheus", "host": "http://prometheus:9090", "params": params}
        scoring = {"type": kind, "params": {"name": "cpu", "interval": INTERVAL}}
        return written(source=source, scoring=scoring)

    assert raw_causes(asking("Query", 60), asking("Query", 300)) == ()
    assert raw_causes(asking("API", 60), asking("API", 300)) == ("range", "step")


def test_of_a_score_without_any_bound_everything_is_possible_that_the_scorer_publishes() -> None:
    follows = unbounded(written(scoreRange=scale(0, 1, 20, 90)), "query changed", exists=True)
    assert (follows.interval("cpu"), follows.exact) == (Interval(0, 90), False)
    follows = unbounded(written(defaultScore=-7), "query changed", exists=True)
    assert follows.interval("cpu") == Interval(-100, 100)
