"""Scorers by clusters.

The state of every cell, whether the scorer should run there, and what a scorer's row sums up.
"""

from datetime import timedelta
from typing import Any

import pytest

from gitops_dsf.errors import UsageError
from gitops_dsf.hub.score_states import ScoreState
from gitops_dsf.hub.times import timestamp
from gitops_dsf.views.status.build import Filter, build
from gitops_dsf.views.status.inputs import HubPart
from gitops_dsf.views.status.scores import CellFailure, ScorerView, scorer_status
from tests.support.hubobjects import (
    NOW,
    Object,
    cluster,
    failing,
    fleet,
    joined,
    masks,
    never_scored,
    score,
    scorer,
)
from tests.support.overviews import inputs_of


def cpu(objects: list[Object], **more: Any) -> ScorerView:
    return next(
        view for view in build(inputs_of(objects, **more)).scorers if view.scorer.name == "cpu"
    )


def states(view: ScorerView) -> dict[str, str]:
    return {cell.cluster: str(cell.state) for cell in view.cells()}


@pytest.mark.parametrize(("default", "at"), [(None, None), (7, 1), (0, 0)])
def test_scores_with_the_default_value_are_counted(default: int | None, at: int | None) -> None:
    """An expired one counts as 0 for OCM, so it is not counted."""
    more = {} if default is None else {"defaultScore": default}
    objects = [
        *joined(*"abc"),
        scorer("cpu", **more),
        score("a", "cpu", 7),
        score("b", "cpu", 50),
        score("c", "cpu", 7, age=2000),
    ]
    assert cpu(objects).at_default == at


def test_a_score_where_none_should_be_is_unexpected_and_counts_all_the_same() -> None:
    mask = masks({"clusterName": "a", "scoreName": "cpu"})
    objects = [*joined("a"), scorer("cpu"), mask, score("a", "cpu", 5)]
    view = cpu(objects)
    assert (states(view), view.unexpected, view.values) == ({"a": "fresh"}, ("a",), (5, 5, 5))


def test_who_suspended_a_scorer_and_what_is_expected_then() -> None:
    objects = [*joined("a", "b"), score("a", "cpu", 5)]
    by_git = cpu([*objects, scorer("cpu", suspend=True)])
    assert (by_git.suspended, states(by_git), by_git.unexpected) == ("git", {"a": "fresh"}, ("a",))
    by_nobody = cpu([*objects, scorer("cpu")])
    assert (by_nobody.suspended, states(by_nobody)) == ("", {"a": "fresh", "b": "missing"})


def test_the_score_of_a_full_scorer_without_a_name_is_the_one_its_page_gave() -> None:
    item = scorer("cpu", mode="Full", scoring={})
    item["status"]["lastSyncedConfig"] = {
        "scoring": {"params": {"name": "CPU_load", "interval": 7}}
    }
    view = cpu([*joined("a"), item, score("a", "cpu-load", 5)])
    named = (view.scorer.score_name, view.scorer.resource, view.scorer.interval)
    assert (named, states(view)) == (("CPU_load", "cpu-load", 7), {"a": "fresh"})


def test_a_row_sums_up_what_counts_now() -> None:
    values = {"a": 10, "b": 40, "c": 90, "d": 70}
    objects = [
        *joined(*values),
        scorer("cpu"),
        *(
            score(name, "cpu", value, age=2000 if name == "c" else 60)
            for name, value in values.items()
        ),
    ]
    view = cpu(objects)
    assert (view.values, view.oldest) == ((10, 40, 70), 2000.0)
    assert (view.counts[ScoreState.FRESH], view.counts[ScoreState.EXPIRED]) == (3, 1)
    later = cpu(objects, now=NOW + timedelta(seconds=901))
    assert later.counts[ScoreState.EXPIRED] == 4, "the hub's clock decides"


def test_what_could_not_be_read_is_not_called_missing() -> None:
    view = cpu(fleet(), unread=[HubPart.SCORES])
    assert (view.known, list(view.cells())) == (False, [])


def test_without_the_right_to_see_add_ons_every_cluster_may_have_an_agent() -> None:
    objects = [cluster("a"), scorer("cpu")]
    assert states(cpu(objects)) == {}
    assert states(cpu(objects, unread=[HubPart.ADDONS])) == {"a": "missing"}


def test_a_filter_by_scorer_takes_what_ranks_by_it_along() -> None:
    view = build(inputs_of(fleet()), Filter(scorer="cpu"))
    assert [one.scorer.name for one in view.scorers] == ["cpu"]
    assert [one.placement for one in view.placements] == ["argocd/guestbook"]
    other = build(inputs_of(fleet()), Filter(scorer="mem"))
    assert [one.scorer.name for one in other.scorers] == ["mem"]
    assert (other.placements, other.applications) == ((), ())


def test_a_filter_by_cluster_keeps_its_cells() -> None:
    view = build(inputs_of(fleet()), Filter(cluster="cluster2"))
    assert [[cell.cluster for cell in one.cells()] for one in view.scorers] == [
        ["cluster2"],
        ["cluster2"],
    ]
    assert view.applications == ()


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        (Filter(scorer="cup"), "no DynamicScorer cup; there is cpu"),
        (Filter(placement="x/guestbook"), "no Placement x/guestbook; there is argocd/guestbook"),
        (Filter(cluster="cluster9"), "no cluster cluster9; there is cluster"),
    ],
)
def test_a_name_that_is_not_there_is_said_with_what_is(wanted: Filter, text: str) -> None:
    with pytest.raises(UsageError, match=text):
        build(inputs_of(fleet()), wanted)


def test_a_name_is_not_called_wrong_when_the_kind_cannot_be_read() -> None:
    assert (
        build(inputs_of([cluster("a")], unread=[HubPart.SCORERS]), Filter(scorer="cpu")).scorers
        == ()
    )


def test_a_cell_says_why_there_is_no_newer_score_and_since_when() -> None:
    message = "query at https://prometheus refused: parse error at char 12"
    objects = [
        *joined("a", "b"),
        scorer("cpu"),
        failing(score("a", "cpu", 5, age=300), "QueryFailed", message, age=240),
        score("b", "cpu", 6),
    ]
    first, second = cpu(objects).cells()
    assert (first.state, first.values, first.failure) == (
        ScoreState.FRESH,
        {"cpu": 5},
        CellFailure("QueryFailed", message, timestamp(NOW - timedelta(seconds=240))),
    )
    assert second.failure is None


def test_an_object_that_only_says_why_there_is_no_score_is_no_score() -> None:
    """Neither empty nor unexpected: to OCM it is the same as none."""
    objects = [
        *joined("a", "b"),
        cluster("c"),
        scorer("cpu"),
        never_scored("a", "cpu", "NoSeries", "the query gave no series"),
        never_scored("c", "cpu", "NoSeries", "the query gave no series"),
    ]
    view = cpu(objects)
    failing = [(group.reason, group.clusters) for group in view.failing]
    assert (states(view), view.unexpected, failing) == (
        {"a": "missing", "b": "missing"},
        (),
        [("NoSeries", ("a",))],
    )
    assert [cell.failure and cell.failure.reason for cell in view.cells()] == ["NoSeries", None]


def test_a_condition_that_is_true_or_unknown_or_of_another_type_is_no_failure() -> None:
    fine = failing(score("a", "cpu", 5), "Scored")
    fine["status"]["conditions"][0]["status"] = "True"
    unknown = failing(score("b", "cpu", 5), "Odd")
    unknown["status"]["conditions"][0]["status"] = "Unknown"
    other = failing(score("c", "cpu", 5), "Odd")
    other["status"]["conditions"][0]["type"] = "Ready"
    objects = [*joined("a", "b", "c"), scorer("cpu"), fine, unknown, other]
    assert [cell.failure for cell in cpu(objects).cells()] == [None, None, None]


def test_a_summary_counts_reasons_the_most_frequent_first() -> None:
    objects = [
        *joined(*"abcd"),
        scorer("cpu"),
        never_scored("a", "cpu", "NoSeries"),
        failing(score("b", "cpu", 5), "QueryFailed"),
        failing(score("c", "cpu", 5, age=2000), "QueryFailed"),
        score("d", "cpu", 5),
    ]
    summary = scorer_status(cpu(objects)).summary
    assert summary is not None
    assert list(summary.failing.items()) == [("QueryFailed", 2), ("NoSeries", 1)]


def test_what_a_cluster_writes_into_a_condition_is_bounded_and_printable() -> None:
    hostile = failing(score("a", "cpu", 5), "R" * 1024, "\x1b[2J\u202e##[add-mask]x" + "y" * 30_000)
    hostile["status"]["conditions"][0]["lastTransitionTime"] = "yesterday"
    [cell] = cpu([*joined("a"), scorer("cpu"), hostile]).cells()
    assert cell.failure is not None
    assert (len(cell.failure.reason), len(cell.failure.message), cell.failure.since) == (
        64,
        256,
        None,
    )
    assert cell.failure.message.startswith("\\x1b[2J\\u202e\\x23#[add-mask]x")
