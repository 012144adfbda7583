"""The scores by which verified moves are judged, with what they were between two passes."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from gitops_dsf.hub.pace import VerifiedBy
from gitops_dsf.hub.scores import PublishedScore, score_of
from gitops_dsf.pacing.verification import Reading
from gitops_dsf.reconciler.pacing.verifiedscores import VerifiedScores

NOW = 1_000_000.0
CHECK = VerifiedBy(scorer="slo", resource="slo", dimension="shop", at_least=80, lifetime=900.0)
OTHER = VerifiedBy(scorer="slo", resource="slo", dimension="cart", at_least=80, lifetime=900.0)


class Informer:
    """Of scores, as much as is needed of it."""

    def __init__(self) -> None:
        self.lists = 1
        self.scores: dict[str, PublishedScore] = {}
        self.listener: Callable[[str, PublishedScore | None], None] = lambda *_: None

    def listen(self, listener: Callable[[str, PublishedScore | None], None]) -> None:
        self.listener = listener

    def of(self, resource: str) -> Mapping[str, PublishedScore]:
        assert resource == "slo"
        return self.scores

    def write(self, value: int | None, *, cluster: str = "us-1", cart: int = 90) -> None:
        """A score of a cluster; None deletes it."""
        if value is None:
            del self.scores[cluster]
            self.listener(f"{cluster}/slo", None)
            return
        until = datetime.fromtimestamp(NOW + 900, UTC)
        score = score_of({"shop": value, "cart": cart}, valid_until=until)
        self.scores[cluster] = score
        self.listener(f"{cluster}/slo", score)


class VerifiedScoreScene:
    def __init__(self) -> None:
        self.informer = Informer()
        self.woken = 0
        self.scores = VerifiedScores(
            self.informer,  # type: ignore[arg-type]
            now=lambda: NOW,
            wake=self.wake,
        )

    def wake(self) -> None:
        self.woken += 1

    def read(self, check: VerifiedBy = CHECK) -> Reading:
        return self.scores.read(check, "us-1")

    def passed(self, *checks: VerifiedBy) -> None:
        """A pass has written the ledger."""
        self.scores.seen((check, "us-1") for check in checks)


def watching() -> VerifiedScoreScene:
    """A pass has read a good score."""
    scene = VerifiedScoreScene()
    scene.informer.write(90)
    scene.read()
    scene.passed(CHECK)
    return scene


def test_what_nobody_watches_has_no_past_and_wakes_nobody() -> None:
    scene = VerifiedScoreScene()
    scene.informer.write(50)
    scene.informer.write(90)
    assert scene.read() == Reading(value=90, written=NOW)
    assert scene.woken == 0


def test_what_came_between_two_passes_is_known_once() -> None:
    scene = watching()
    assert scene.read() == Reading(value=90, written=NOW, unbroken=True)
    scene.informer.write(50)
    scene.informer.write(90)
    assert scene.woken == 2
    assert scene.read().meanwhile == {50, 90}
    scene.passed(CHECK)
    assert scene.read() == Reading(value=90, written=NOW, unbroken=True)


def test_what_came_in_a_pass_that_failed_the_next_one_sees() -> None:
    scene = watching()
    scene.informer.write(50)
    assert scene.read().meanwhile == {50}
    scene.informer.write(90)
    assert scene.read().meanwhile == {50, 90}


def test_a_score_that_no_pass_read_keeps_what_came() -> None:
    """The decision of its Placement had not settled."""
    scene = watching()
    scene.informer.write(50)
    scene.passed(CHECK)
    assert scene.read().meanwhile == {50}


def test_a_score_that_is_gone_for_a_moment_is_unknown_meanwhile() -> None:
    scene = watching()
    scene.informer.write(None)
    assert scene.read() == Reading(meanwhile=frozenset({None}), unbroken=True)
    scene.informer.write(90)
    assert scene.read().meanwhile == {None, 90}


def test_each_item_and_each_cluster_has_its_own_past() -> None:
    scene = watching()
    scene.read(OTHER)
    scene.passed(CHECK, OTHER)
    scene.informer.write(90, cart=10)
    scene.informer.write(5, cluster="us-2")
    assert scene.read().meanwhile == {90}
    assert scene.read(OTHER).meanwhile == {10}


def test_after_another_list_nobody_knows_what_came_meanwhile() -> None:
    scene = watching()
    scene.informer.lists += 1
    assert not scene.read().unbroken
    scene.passed(CHECK)
    assert scene.read().unbroken


def test_what_is_not_watched_any_more_is_forgotten() -> None:
    scene = watching()
    scene.informer.write(50)
    scene.passed()
    scene.informer.write(90)
    assert scene.woken == 1
    assert scene.read() == Reading(value=90, written=NOW)
