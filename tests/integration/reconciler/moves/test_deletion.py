"""A removal against an API server on which somebody else writes between any two requests.

It may be the last thing that we do.
"""

import asyncio
from collections.abc import Callable

import pytest

from dsf_runtime.apiserver import ApiError
from gitops_dsf.reconciler.moves.deletion import Blocked, CopyDeleter
from tests.integration.reconciler.moves.movehub import (
    APPLICATIONS,
    NAMESPACE,
    PLACEMENTS,
    PROGRESSING,
    REQUESTS,
    SETS,
    MoveHub,
    candidate,
    reason,
)

ATTEMPTS = 3
ONE_BY_ONE = 10

READS = (
    "GET applicationsets/web",
    "GET applications",
    "GET managedclusters",
    "GET managedclusters",
    "GET placementdecisions",
    "GET placements",
)


async def test_it_reads_everything_again_and_deletes_once(
    scene: MoveHub, deleter: CopyDeleter
) -> None:
    assert await deleter.delete(candidate("a", "b")) is None
    assert scene.copies() == ["web-b"]
    assert scene.hub.asked == [
        *READS,
        "PATCH applications/web-b",
        *READS,
        "DELETE applications/web-a",
    ]
    assert await reason(deleter.delete(candidate("a", "b"))) == "Gone"
    assert len(scene.deletions()) == 1


Change = Callable[[MoveHub], object]
GOING = "2026-01-01T00:00:00Z"
CHANGES: dict[str, tuple[Change, str]] = {
    "decided back": (lambda scene: scene.decide("a"), "DecisionUnsettled"),
    "decided as well": (lambda scene: scene.decide("a", "b"), "DecisionUnsettled"),
    "decided elsewhere": (lambda scene: scene.decide("c"), "DecisionUnsettled"),
    "empty": (lambda scene: scene.decide(), "DecisionEmpty"),
    "in the middle of a rewrite": (
        lambda scene: scene.decide("b", selected=2),
        "DecisionIncomplete",
    ),
    "another's page": (lambda scene: scene.decide("b", owner="placement-2"), "DecisionForeign"),
    "more copies wanted": (lambda scene: scene.decide("b", wanted=2), "WantedCount"),
    "no Placement": (
        lambda scene: scene.hub.objects.pop((PLACEMENTS, NAMESPACE, "web")),
        "PlacementGone",
    ),
    "new copy not healthy": (
        lambda scene: scene.copy("b", status=PROGRESSING),
        "NewCopyNotHealthy",
    ),
    "new copy gone": (
        lambda scene: scene.hub.objects.pop((APPLICATIONS, NAMESPACE, "web-b")),
        "NewCopyMissing",
    ),
    "new copy going": (lambda scene: scene.copy("b", deletionTimestamp=GOING), "Going"),
    "old copy going": (lambda scene: scene.copy("a", deletionTimestamp=GOING), "Going"),
    "old copy made anew": (lambda scene: scene.copy("a", uid="another"), "Gone"),
    "old copy nobody's": (lambda scene: scene.copy("a", ownerReferences=[]), "Gone"),
    "old copy without finalizer": (
        lambda scene: scene.copy("a", finalizers=[]),
        "WorkloadWouldStay",
    ),
    "policy deletes": (
        lambda scene: scene.application_set(syncPolicy={"applicationsSync": "sync"}),
        "Changed",
    ),
    "other generators": (lambda scene: scene.application_set(generators=[]), "Changed"),
    "ApplicationSet made anew": (lambda scene: scene.application_set(uid="set-2"), "Changed"),
    "the old copy's cluster is away": (
        lambda scene: scene.available("a", "Unknown"),
        "ClusterUnreachable",
    ),
    "the new copy's cluster is away": (
        lambda scene: scene.available("b", "False"),
        "NewCopyNotHealthy",
    ),
    "the old copy's cluster is back": (
        lambda scene: scene.available("a", since=-1),
        "ClusterReturned",
    ),
    "ApplicationSet gone": (
        lambda scene: scene.hub.objects.pop((SETS, NAMESPACE, "web")),
        "Changed",
    ),
}


@pytest.mark.parametrize(("change", "why"), CHANGES.values(), ids=CHANGES)
async def test_what_changed_since_the_informers_saw_it_speaks_against_it(
    scene: MoveHub, deleter: CopyDeleter, change: Change, why: str
) -> None:
    change(scene)
    before = scene.copies()
    assert await reason(deleter.delete(candidate("a", "b"))) == why
    assert (scene.copies(), scene.deletions()) == (before, [])


def flip_back(scene: MoveHub) -> None:
    scene.decide("a")
    scene.copy("a")


@pytest.mark.parametrize(
    ("change", "times", "why", "left", "deletions"),
    [
        (lambda scene: scene.copy("a"), 1, "", ["web-b"], 2),
        (lambda scene: scene.copy("a"), ATTEMPTS, "Conflict", ["web-a", "web-b"], ATTEMPTS),
        (
            lambda scene: scene.hub.objects.pop((APPLICATIONS, NAMESPACE, "web-a")),
            1,
            "Gone",
            ["web-b"],
            1,
        ),
        (flip_back, 1, "DecisionUnsettled", ["web-a", "web-b"], 1),
    ],
    ids=["another version", "another version each time", "somebody deletes it", "decided back"],
)
async def test_a_change_between_the_last_look_and_the_deletion(
    scene: MoveHub,
    deleter: CopyDeleter,
    change: Change,
    times: int,
    why: str,
    left: list[str],
    deletions: int,
) -> None:
    """A conflict is read again, what is gone is not asked for again, and a copy that changes all
    the time is left for later.
    """

    def meanwhile(word: str) -> None:
        if word == "DELETE applications" and len(scene.deletions()) <= times:
            change(scene)

    scene.hub.between = meanwhile
    assert await reason(deleter.delete(candidate("a", "b"))) == why
    assert (scene.copies(), len(scene.deletions())) == (left, deletions)


@pytest.mark.parametrize(
    "word",
    [
        "GET applicationsets",
        "GET applications",
        "GET managedclusters",
        "GET placementdecisions",
        "GET placements",
        "PATCH applications",
        "DELETE applications",
    ],
)
@pytest.mark.parametrize("status", [0, 403, 500])
async def test_a_request_that_fails_deletes_nothing(
    scene: MoveHub, deleter: CopyDeleter, word: str, status: int
) -> None:
    scene.hub.refusals[word] = [status]
    with pytest.raises(ApiError):
        await deleter.delete(candidate("a", "b"))
    assert scene.copies() == ["web-a", "web-b"]


@pytest.mark.parametrize("requests", range(1, REQUESTS + 1))
@pytest.mark.parametrize("meanwhile", ["nothing", "flips back", "new copy fails"])
async def test_a_crash_at_any_request_and_a_new_leader(
    scene: MoveHub, deleter: CopyDeleter, requests: int, meanwhile: str
) -> None:
    """The one that dies may have deleted; the one that follows begins anew, and between them
    nothing goes twice or too early.
    """
    task = asyncio.create_task(deleter.delete(candidate("a", "b")))
    scene.hub.between = lambda _: task.cancel() if len(scene.hub.asked) == requests else None
    with pytest.raises(asyncio.CancelledError):
        await task
    scene.hub.between = lambda _: None
    gone_already = "web-a" not in scene.copies()
    assert gone_already == (requests == REQUESTS)
    if meanwhile == "flips back":
        scene.decide("a")
    elif meanwhile == "new copy fails":
        scene.copy("b", status=PROGRESSING)
    found = await reason(deleter.delete(candidate("a", "b")))
    if gone_already:
        assert found
    elif meanwhile == "nothing":
        assert not found
    else:
        assert found in {"DecisionUnsettled", "NewCopyNotHealthy"}
        assert scene.copies() == ["web-a", "web-b"]
    assert "web-b" in scene.copies()
    assert len(scene.deletions()) <= 1


async def test_an_application_of_many_clusters_reads_them_all_at_once(
    scene: MoveHub, deleter: CopyDeleter
) -> None:
    others = [f"b{number}" for number in range(ONE_BY_ONE)]
    scene.decide("b", *others)
    for name in others:
        scene.copy(name)
    wide = candidate("a", "b", *others)
    scene.available(others[3], "Unknown")
    assert await reason(deleter.delete(wide)) == "NewCopyNotHealthy"
    scene.available(others[3], "True")
    scene.hub.asked.clear()
    assert await deleter.delete(wide) is None
    assert scene.hub.asked.count("GET managedclusters") == 2


async def test_what_cannot_be_read_speaks_against_it(scene: MoveHub, deleter: CopyDeleter) -> None:
    scene.copy("b", deletionTimestamp="0000-01-01T00:00:00Z")
    with pytest.raises(Blocked, match="deletionTimestamp") as caught:
        await deleter.delete(candidate("a", "b"))
    assert caught.value.reason == "Unreadable"
    scene.copy("b")
    assert await deleter.delete(candidate("a", "b")) is None
