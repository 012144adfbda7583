"""Sentences of warnings and reasons, for values that no fleet of other tests leads to."""

import pytest

from gitops_dsf.show.preview.reasons import reason_text
from gitops_dsf.show.preview.warnings import warning_text
from gitops_dsf.show.status.notes import placement_note_text
from gitops_dsf.simulator import Outcome
from gitops_dsf.views.preview.reasons import (
    ClusterRanked,
    DecisionReason,
    Followed,
    NotDecided,
    PlacementRemoved,
)
from gitops_dsf.views.preview.warnings import ReviewWarning
from gitops_dsf.views.preview.warnings.arrivals import ManyArrivals
from gitops_dsf.views.preview.warnings.hubdata import ExpiredScores
from gitops_dsf.views.preview.warnings.placements import (
    EmptySets,
    MostDropped,
    NoCluster,
    NoneWanted,
    NotScheduled,
    UnboundSets,
)
from gitops_dsf.views.status.placements import NothingDecided

KEY = "argocd/web"
APPLICATIONS = tuple(f"app-{number}" for number in range(6))


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        ("no cluster is in the sets", "no cluster is in the sets"),
        (UnboundSets(), "no cluster set is bound"),
        (EmptySets(cluster_sets=("eu", "us")), "no cluster in eu, us"),
        (NoneWanted(), "numberOfClusters is 0"),
        (
            MostDropped(filter="Predicate", reason="labels", dropped=2, candidates=3),
            "2 of 3 candidates dropped by Predicate: labels",
        ),
    ],
)
@pytest.mark.parametrize(("is_new", "subject"), [(False, KEY), (True, f"{KEY} (new)")])
def test_a_placement_without_a_cluster_says_why(
    cause: str | UnboundSets | EmptySets | NoneWanted | MostDropped,
    text: str,
    is_new: bool,
    subject: str,
) -> None:
    warning = NoCluster(placement=KEY, is_new=is_new, cause=cause)
    assert warning_text(warning) == f"{subject} is left with no cluster: {text}"


@pytest.mark.parametrize(
    ("warning", "text"),
    [
        (NotScheduled(placement=KEY, cause="OCM panics"), f"{KEY}: OCM panics"),
        (
            ExpiredScores(expired=2, read=9, only_ranked=True),
            (
                "2 of 9 AddOnPlacementScores that Placements rank by had expired at that moment;"
                " OCM counts them as 0"
            ),
        ),
        (
            ExpiredScores(expired=2, read=9, only_ranked=False),
            "2 of 9 AddOnPlacementScores had expired at that moment; OCM counts them as 0",
        ),
        (
            ManyArrivals(cluster="c2", applications=APPLICATIONS, could_be_paced=6, has_pace=True),
            (
                "6 applications go to c2 at once (app-0, app-1, app-2, app-3, app-4 and 1 more):"
                " moves.pace: Fleet lets them follow one another"
            ),
        ),
        (
            ManyArrivals(cluster="c2", applications=APPLICATIONS, could_be_paced=5, has_pace=False),
            (
                "6 applications go to c2 at once (app-0, app-1, app-2, app-3, app-4 and 1 more):"
                " spec.pace in gitops-dsf.yaml lets them follow one another; the pace does not"
                " apply to new applications and to those that lost their cluster: OCM places them"
                " at once"
            ),
        ),
    ],
)
def test_a_warning_is_one_sentence(warning: ReviewWarning, text: str) -> None:
    assert warning_text(warning) == text


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (DecisionReason(cause=NotDecided(message="OCM panics")), "OCM panics"),
        (
            DecisionReason(
                cause=ClusterRanked(cluster="c1", explanation="rank 1 of 2"), planned=("c2", "c3")
            ),
            "c1: rank 1 of 2; the reconciler planned to move it to c2, c3",
        ),
        (
            DecisionReason(
                cause=PlacementRemoved(),
                followed=(Followed(application_set="web", placement="argocd/shared"),),
            ),
            "the Placement is removed; web follows argocd/shared now",
        ),
    ],
)
def test_a_reason_is_one_sentence(reason: DecisionReason, text: str) -> None:
    assert reason_text(reason) == text


def test_a_note_without_a_reason_is_the_outcome() -> None:
    note = NothingDecided(Outcome.FAILED, "")
    assert placement_note_text(note) == str(Outcome.FAILED)
    assert placement_note_text(NothingDecided(Outcome.FAILED, "why")) == f"{Outcome.FAILED}: why"
