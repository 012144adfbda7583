"""What `doctor` and `status` say of scores that other add-ons publish."""

from datetime import timedelta

from msgspec import UNSET

from gitops_dsf.show.status.placements import placement_lines
from gitops_dsf.views.doctor.facts import FactSource
from gitops_dsf.views.status.build import build
from gitops_dsf.views.status.placements import PlacementView
from tests.support.healthyhub import facts, run
from tests.support.hubobjects import (
    NOW,
    Object,
    addon,
    binding,
    cluster,
    decision,
    global_set,
    meta,
    placement,
    score,
    stamp,
)
from tests.support.overviews import inputs_of

USAGE = "resource-usage-score"


def endless(name: str, value: int | None) -> Object:
    """A score without an end, as other add-ons write it."""
    item = score(name, USAGE, value, writer="")
    del item["status"]["validUntil"]
    return item


def hub(*scores: Object, number: int = 1) -> list[Object]:
    """Three clusters, and a Placement that ranks by the add-on's score."""
    clusters = [item for name in ("a", "b", "c") for item in (cluster(name), addon(name))]
    ranking = placement("p", USAGE, number=number)
    return [*clusters, global_set(), binding(), ranking, decision("p", "a"), *scores]


def found(*scores: Object, written: dict[str, float] | None = None) -> list[tuple[str, str]]:
    """`written`: seconds since the status of each cluster's score was changed last."""
    metadata = tuple(
        {
            "metadata": meta(USAGE, name)
            | {
                "managedFields": [
                    {"manager": "agent", "time": stamp(NOW - timedelta(days=90))},
                    {
                        "manager": "agent",
                        "subresource": "status",
                        "time": stamp(NOW - timedelta(seconds=age)),
                    },
                ]
            }
        }
        for name, age in (written or {}).items()
    )
    given = facts({FactSource.EXTERNAL_SCORES: metadata}, hub=hub(*scores))
    return [(finding.state, finding.message) for finding in run("external-scores", given)]


def view(*scores: Object) -> PlacementView:
    return build(inputs_of(hub(*scores))).placements[0]


EVERYWHERE = (endless("a", -20), endless("b", -70), endless("c", -100))


def test_a_hub_without_such_scores_is_well() -> None:
    assert [(item.state, item.message) for item in run("external-scores", facts())] == [
        ("ok", "no Placement ranks by scores of other add-ons")
    ]


def test_a_score_on_every_cluster_never_expires_and_says_since_when_it_is_unchanged() -> None:
    assert found(*EVERYWHERE, written={"a": 30, "b": 260_000, "c": 60}) == [
        (
            "ok",
            (
                "resource-usage-score is on 3 clusters and never expires; the oldest,"
                " on b, has not changed for 3 d"
            ),
        )
    ]


def test_nothing_is_said_of_a_time_that_is_not_known() -> None:
    assert found(*EVERYWHERE) == [("ok", "resource-usage-score is on 3 clusters and never expires")]


def test_a_score_that_nobody_publishes_is_an_error() -> None:
    assert found() == [
        (
            "error",
            "no cluster has resource-usage-score, by which argocd/p ranks: each counts as 0",
        )
    ]


def test_a_cluster_without_it_counts_as_0() -> None:
    """Also one with the object and without this item."""
    (only,) = found(endless("a", -20), endless("b", None))
    assert only == (
        "warning",
        "resource-usage-score is missing on b, c: it counts as 0 there",
    )


def test_one_that_expired_counts_as_0() -> None:
    expired = score("b", USAGE, 10, age=2000, writer="")
    (only,) = found(endless("a", -20), expired, endless("c", 0))
    assert only == (
        "warning",
        "resource-usage-score has expired on b: it counts as 0 there",
    )


def test_one_with_an_end_does_not_last() -> None:
    ending = [score(name, USAGE, 10, writer="") for name in ("a", "b", "c")]
    assert found(*ending) == [("ok", "resource-usage-score is on 3 clusters")]


def test_status_names_what_never_expires() -> None:
    shown = view(*EVERYWHERE)
    assert shown.endless == ("resource-usage-score",)
    lines = list(placement_lines([shown], everything=True))
    never = "    never expires, so it still ranks after its program stops publishing:"
    assert f"{never} resource-usage-score" in lines


def test_status_says_nothing_of_a_score_with_an_end_or_without_a_value() -> None:
    ending = [score(name, USAGE, 10, writer="") for name in ("a", "b", "c")]
    assert view(*ending).endless is UNSET
    assert view(endless("a", None)).endless is UNSET
