"""What OCM does when a rule of ours is ignored.

The reason of each rule, seen on the real controllers. docs/decisions/scheduler.md lists them.
"""

import json
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest

from tests.hub.controlplane.api import ApiError, Client, Object, condition, is_true, manifest
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for, wait_until_gone
from tests.hub.scenario.fleet import cluster as cluster_document
from tests.hub.scenario.installation import WORK
from tests.hub.scenario.placements import (
    PLACEMENT,
    SCORE,
    SET_LABEL,
    binding,
    builtin,
    clusters_in_set,
    clusters_of,
    decided,
    delete_scores,
    exact,
    pages,
    placement,
    publish,
    remove_clusters,
    score_prioritizer,
)

pytestmark = [pytest.mark.family("kubernetes", "ocm")]

NAMESPACE = "hazards"
A, B, C = "hazard-a", "hazard-b", "hazard-c"
ALL = [A, B, C]
LIMIT = 512_000
CONFLICT = "hazard-works"
SATISFIED, MISCONFIGURED = "PlacementSatisfied", "PlacementMisconfigured"


@pytest.fixture(scope="module")
def clusters(control_plane: ControlPlane, hub: Client) -> Iterator[tuple[str, ...]]:
    """Three clusters and the namespace that may use them."""
    with clusters_in_set(
        control_plane, NAMESPACE, {A: {"env": "prod"}, B: {"env": "prod"}, C: {"env": "edge"}}
    ) as names:
        yield names


class Hand:
    """A person who writes Placements and scores by hand; what they wrote is taken away after the
    test.
    """

    def __init__(self, plane: ControlPlane, prefix: str) -> None:
        self.plane, self.hub, self._prefix, self._number = plane, plane.hub.admin, prefix, 0
        self.load = f"{prefix}-load"
        """Scores of a name of their own: OCM's cache could still hold those that the test before
        took away.
        """
        self.cpu = score_prioritizer(self.load, "cpu")

    def places(self, **spec: Any) -> str:
        """A new Placement; its name."""
        self._number += 1
        name = f"{self._prefix}-{self._number}"
        self.hub.create(placement(name, namespace=NAMESPACE, **spec))
        return name

    def edits(self, name: str, **spec: Any) -> None:
        self.hub.patch(PLACEMENT, name, {"spec": spec}, namespace=NAMESPACE)

    def scores(self, **values: dict[str, int]) -> None:
        """By the letter of the cluster."""
        for letter, scores in values.items():
            publish(self.hub, f"hazard-{letter}", self.load, scores)

    def sees(self, name: str, *clusters: str) -> None:
        """Wait until this is the decision, written as a PlacementDecision."""
        wait_for(
            lambda: (
                pages(self.hub, name, namespace=NAMESPACE) and self.decided(name) == list(clusters)
            ),
            what=f"{name} is decided as {clusters}",
            seen=lambda: self.hub.get(PLACEMENT, name, namespace=NAMESPACE),
        )

    def decided(self, name: str) -> list[str]:
        return decided(self.hub, name, namespace=NAMESPACE)

    def condition(self, name: str, kind: str) -> tuple[str, str, str] | None:
        """Status, reason and message of a condition; None while OCM has not looked."""
        found = condition(self.hub.get(PLACEMENT, name, namespace=NAMESPACE), kind)
        return (found["status"], found["reason"], found["message"]) if found else None

    def says(self, name: str, kind: str, *, status: str = "", reason: str = "") -> None:
        """Waits until a condition has this status or reason."""
        wait_for(
            lambda: (
                (found := self.condition(name, kind))
                and status in {"", found[0]}
                and reason in {"", found[1]}
            ),
            what=f"{kind} is {status or reason}",
            seen=lambda: self.condition(name, kind),
        )

    def stays(self, name: str, cluster: str, *, seconds: float) -> bool:
        """Whether this is the decision for so long."""
        try:
            hold_for(lambda: self.decided(name) == [cluster], what=f"{name} stays", seconds=seconds)
        except AssertionError:
            return False
        return True

    def leaves(self) -> None:
        for item in self.hub.list(PLACEMENT, namespace=NAMESPACE):
            self.hub.delete(PLACEMENT, item["metadata"]["name"], namespace=NAMESPACE)
        delete_scores(self.hub, *ALL)


@pytest.fixture
def hand(
    clusters: tuple[str, ...], control_plane: ControlPlane, request: pytest.FixtureRequest
) -> Iterator[Hand]:
    hand = Hand(control_plane, f"hazard-{zlib.crc32(request.node.name.encode())}")
    yield hand
    hand.leaves()


def undisturbed(story: Callable[[], str]) -> str:
    """How a story ends, told again if it ended with nothing.

    Once in ten minutes OCM 1.2.1 looks at every Placement by itself. That may be in the middle of a
    story, but not of two in a row.
    """
    return story() or story()


def where(**selector: Object) -> Object:
    """The predicate of a Placement."""
    return {"predicates": [{"requiredClusterSelector": selector}]}


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        ({"prioritizerPolicy": {"mode": "exact"}}, "incorrect prioritizer policy mode: exact"),
        ({"prioritizerPolicy": exact(builtin("Spread"))}, "incorrect builtin prioritizer: Spread"),
        (
            {"tolerations": [{"operator": "Equal", "value": "x"}]},
            "If the key is empty, operator must be Exists",
        ),
        (
            {"tolerations": [{"key": "k", "operator": "Exists", "value": "x"}]},
            "value should be empty",
        ),
        (
            where(labelSelector={"matchExpressions": [{"key": "env", "operator": "in"}]}),
            '"in" is not a valid label selector operator',
        ),
        (where(celSelector={"celExpressions": ["nonsense"]}), "undeclared reference"),
    ],
    ids=("mode", "built-in", "toleration-without-key", "toleration-with-value", "operator", "cel"),
)
def test_a_mistake_in_a_placement_takes_every_cluster_away(
    hand: Hand, mistake: Object, message: str
) -> None:
    name = hand.places(prioritizerPolicy=exact())
    hand.sees(name, *ALL)
    hand.edits(name, **mistake)
    hand.sees(name)
    hand.says(name, MISCONFIGURED, status="True")
    found = hand.condition(name, MISCONFIGURED)
    assert found is not None
    assert found[1] == "Misconfigured"
    assert message in found[2]


def test_zero_clusters_takes_every_cluster_away(hand: Hand) -> None:
    name = hand.places(prioritizerPolicy=exact())
    hand.sees(name, *ALL)
    hand.edits(name, numberOfClusters=0)
    hand.sees(name)
    hand.says(name, SATISFIED, reason="NoManagedClusterMatched")  # which misleads
    hand.says(name, MISCONFIGURED, status="False")


def test_a_negative_number_of_clusters_panics_in_the_controller_at_every_look(
    hand: Hand, control_plane: ControlPlane
) -> None:
    """The process survives, because OCM's start-up switches the crash on panic off unless
    OPENSHIFT_ON_PANIC asks for it.
    """
    log = control_plane.processes.running["placement"].log
    start = log.stat().st_size

    def panics() -> int:
        with log.open(encoding="utf-8", errors="replace") as text:
            text.seek(start)
            return text.read().count('panic="runtime error: slice bounds out of range [:-1]"')

    name = hand.places(prioritizerPolicy=exact())
    hand.sees(name, *ALL)
    hand.says(name, MISCONFIGURED, status="False")
    hand.edits(name, numberOfClusters=-1)
    wait_for(panics, what="the controller panics")
    time.sleep(2)  # whatever else made it look at the same moment
    before = panics()
    hand.hub.patch(
        PLACEMENT, name, {"metadata": {"labels": {"touched": "yes"}}}, namespace=NAMESPACE
    )
    wait_for(lambda: panics() > before, what="and again when anything happens to the Placement")
    assert hand.decided(name) == ALL, "the old decision stays"
    assert (hand.condition(name, MISCONFIGURED) or ("",))[0] == "False", "no condition tells"
    hand.sees(
        hand.places(prioritizerPolicy=exact()), *ALL
    )  # the only worker comes back for the others after a second
    hand.edits(name, numberOfClusters=1)
    hand.sees(name, A)


def test_a_quoted_group_size_deletes_the_decisions_and_says_satisfied(hand: Hand) -> None:
    name = hand.places(
        prioritizerPolicy=exact(),
        decisionStrategy={"groupStrategy": {"clustersPerDecisionGroup": 5}},
    )
    hand.sees(name, *ALL)
    hand.edits(name, decisionStrategy={"groupStrategy": {"clustersPerDecisionGroup": "5"}})
    wait_for(
        lambda: pages(hand.hub, name, namespace=NAMESPACE) == [],
        what="there is no PlacementDecision any more",
    )
    hand.says(name, MISCONFIGURED, status="True")  # only this condition tells
    hand.says(name, SATISFIED, status="True")


def test_a_name_over_63_bytes_is_never_decided_and_nothing_says_why(hand: Hand) -> None:
    name = "n" * 64
    hand.hub.create(placement(name, namespace=NAMESPACE))
    hand.sees(
        hand.places(prioritizerPolicy=exact()), *ALL
    )  # which came later, so the first has had its turn
    hold_for(
        lambda: (
            not pages(hand.hub, name, namespace=NAMESPACE)
            and hand.condition(name, SATISFIED) is None
        ),
        what="neither decision nor condition",
        seconds=2,
    )


@pytest.mark.soak
def test_a_cluster_that_joins_more_than_a_hundred_shifts_their_pages(
    hub: Client, hand: Hand
) -> None:
    """Nobody says that they are available, so all of them have OCM's taint."""
    crowd = tuple(f"crowd-{number:03}" for number in range(102))
    crowded = where(labelSelector={"matchLabels": {"crowd": "yes"}})

    def joins(name: str) -> None:
        hub.create(
            cluster_document(name, fleet=NAMESPACE, **{SET_LABEL: NAMESPACE, "crowd": "yes"})
        )

    def decisions(count: int) -> list[list[str]]:
        found = sorted(
            pages(hub, name, namespace=NAMESPACE), key=lambda page: str(page["metadata"]["name"])
        )
        return (
            [clusters_of(page) for page in found]
            if hand.decided(name) == list(crowd[-count:])
            else []
        )

    for each in crowd[1:]:
        joins(each)
    try:
        tolerations = [{"operator": "Exists"}]
        name = hand.places(**crowded, tolerations=tolerations, prioritizerPolicy=exact())
        first = wait_for(lambda: decisions(101), what="all are decided")
        joins(crowd[0])
        second = wait_for(lambda: decisions(102), what="the newcomer is decided")
        assert [len(page) for page in first] == [100, 1]
        assert set(first[0]) - set(second[0]) == {crowd[100]}, (
            "one moved from the first page to the second"
        )
    finally:
        remove_clusters(hand.plane, crowd)


def test_a_binding_must_be_named_as_its_set(hub: Client, clusters: tuple[str, ...]) -> None:
    with pytest.raises(
        ApiError,
        match="The ManagedClusterSetBinding must have the same name as the target"
        " ManagedClusterSet",
    ):
        hub.create(binding(NAMESPACE, namespace=NAMESPACE, name="another-name"))


def test_a_score_that_is_listed_twice_counts_twice(hand: Hand) -> None:
    hand.scores(a={"cpu": 60, "gpu": 0}, b={"cpu": 0, "gpu": 100}, c={"cpu": -1, "gpu": -1})
    cpu, gpu = hand.cpu, score_prioritizer(hand.load, "gpu")
    hand.sees(hand.places(numberOfClusters=1, prioritizerPolicy=exact(cpu, gpu)), B)
    hand.sees(hand.places(numberOfClusters=1, prioritizerPolicy=exact(cpu, cpu, gpu)), A)


def test_no_score_beats_a_negative_one(hand: Hand) -> None:
    hand.scores(a={"cpu": -10}, b={"cpu": -1})
    hand.sees(hand.places(numberOfClusters=1, prioritizerPolicy=exact(hand.cpu)), C)


def test_a_misspelled_score_ranks_by_name_and_nothing_says_so(hand: Hand) -> None:
    hand.scores(a={"cpu": 1}, b={"cpu": 2}, c={"cpu": 3})
    name = hand.places(
        numberOfClusters=1, prioritizerPolicy=exact(score_prioritizer(hand.load, "cpuu"))
    )
    hand.sees(name, A)
    hand.says(name, SATISFIED, status="True")
    hand.says(name, MISCONFIGURED, status="False")


def test_without_steady_one_point_moves_the_decision_and_with_it_a_hundred_do_not(
    hand: Hand,
) -> None:
    hand.scores(a={"cpu": 51}, b={"cpu": 50}, c={"cpu": 0})
    nervous = hand.places(numberOfClusters=1, prioritizerPolicy=exact(hand.cpu))
    # Additive is what a Placement has that writes no mode: Balance and Steady count, too, each with
    # weight 1.
    unwritten = hand.places(numberOfClusters=1, prioritizerPolicy={"configurations": [hand.cpu]})
    for name in (nervous, unwritten):
        wait_for(lambda name=name: len(hand.decided(name)) == 1, what="decided")  # type: ignore[misc]
    first = hand.decided(unwritten)
    hand.sees(nervous, A)
    hand.scores(b={"cpu": 52})
    hand.sees(nervous, B)
    steady = hand.places(numberOfClusters=1, prioritizerPolicy=exact(hand.cpu, builtin("Steady")))
    hand.sees(steady, B)
    hand.scores(a={"cpu": 100}, b={"cpu": 0}, c={"cpu": 0})
    hand.sees(nervous, A)
    hand.sees(steady, A)  # exactly 100 points, and its name comes first
    hand.scores(a={"cpu": 0}, b={"cpu": 99}, c={"cpu": 0})
    hand.sees(nervous, B)
    hold_for(
        lambda: hand.decided(steady) == [A],
        what="99 points are not enough against Steady",
        seconds=1,
    )
    assert len(first) == 1


def test_an_expired_score_passes_cel_and_counts_nothing_in_a_prioritizer(hand: Hand) -> None:
    publish(hand.hub, C, hand.load, {"cpu": 100}, seconds=-3600)
    # What came later ranks, so OCM has this score: CEL is not asked again when it comes.
    hand.scores(b={"later": 1})
    later = score_prioritizer(hand.load, "later")
    hand.sees(hand.places(numberOfClusters=1, prioritizerPolicy=exact(later)), B)
    exists = f'managedCluster.scores("{hand.load}").exists(s, s.name == "cpu")'
    scored = where(celSelector={"celExpressions": [exists]})
    hand.sees(hand.places(**scored, prioritizerPolicy=exact()), C)
    hand.sees(hand.places(numberOfClusters=1, prioritizerPolicy=exact(hand.cpu)), A)


NO_SCORES = {
    "type": "Scored",
    "status": "False",
    "reason": "QueryFailed",
    "message": "parse error at char 12",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
"""What an agent writes that has no scores."""


def test_a_condition_changes_nothing_of_what_a_score_counts(hand: Hand) -> None:
    """OCM reads none, so a score counts until its validUntil, whatever the agent says of it."""
    hand.scores(a={"cpu": 90}, b={"cpu": 50}, c={"cpu": 10})
    best = hand.places(numberOfClusters=1, prioritizerPolicy=exact(hand.cpu))
    hand.sees(best, A)  # so OCM has the scores: CEL is not asked again when they come
    exists = f'managedCluster.scores("{hand.load}").exists(s, s.value > 80)'
    high = hand.places(**where(celSelector={"celExpressions": [exists]}), prioritizerPolicy=exact())
    hand.sees(high, A)
    for letter in (A, B, C):
        hand.hub.patch_status(SCORE, hand.load, {"conditions": [NO_SCORES]}, namespace=letter)
    for name in (best, high):
        hand.edits(name, tolerations=[{"key": "looked-again", "operator": "Exists"}])
    for name in (best, high):
        hold_for(lambda name=name: hand.decided(name) == [A], what=f"{name} stays", seconds=3)  # type: ignore[misc]
    # A change of a score beside such a condition counts at once.
    publish(hand.hub, B, hand.load, {"cpu": 95})
    hand.sees(best, B)


def test_an_object_with_a_condition_and_no_scores_is_as_none(hand: Hand) -> None:
    """In a prioritizer, where it counts as 0 with no warning, and for onMissingScore: Exclude.

    Only CEL that asks for what must not be there tells the two apart.
    """
    hand.scores(a={"cpu": -10}, b={"cpu": -1})
    only_prod = where(labelSelector={"matchLabels": {"env": "edge"}})
    best = hand.places(numberOfClusters=1, prioritizerPolicy=exact(hand.cpu))
    hand.sees(best, C)
    has_score = f'managedCluster.scores("{hand.load}").exists(score, score.name == "cpu")'
    excluding = where(celSelector={"celExpressions": [has_score]})
    no_high_score = f'managedCluster.scores("{hand.load}").all(score, score.value > 80)'
    every = where(celSelector={"celExpressions": [no_high_score]})
    hand.sees(hand.places(**excluding, prioritizerPolicy=exact()), A, B)
    hand.sees(hand.places(**every, prioritizerPolicy=exact()))
    hand.hub.apply(manifest(SCORE, hand.load, namespace=C))
    hand.hub.apply_status(
        manifest(SCORE, hand.load, namespace=C, status={"conditions": [NO_SCORES]})
    )
    hand.edits(best, **only_prod)
    hand.sees(best, C)
    hand.says(best, SATISFIED, status="True")
    hand.edits(best, predicates=[])
    hand.sees(best, C)
    excluded = hand.places(**excluding, prioritizerPolicy=exact())
    hand.sees(excluded, A, B)
    hand.sees(hand.places(**every, prioritizerPolicy=exact()), C)


def test_a_score_that_expires_counts_nothing_but_only_when_ocm_looks(hand: Hand) -> None:
    def expires() -> str:
        """A Placement that is still decided for a cluster whose score has expired; or nothing."""
        hand.scores(a={"cpu": 90}, b={"cpu": 50})
        name = hand.places(numberOfClusters=1, prioritizerPolicy=exact(hand.cpu))
        hand.sees(name, A)
        until = int(time.time()) + 5
        publish(hand.hub, A, hand.load, {"cpu": 90}, seconds=until - time.time())
        time.sleep(max(0.0, until + 1 - time.time()))
        return name if hand.stays(name, A, seconds=4) else ""

    name = undisturbed(expires)
    assert name, "nothing happens when the score expires"
    hand.hub.patch(
        PLACEMENT, name, {"metadata": {"labels": {"touched": "yes"}}}, namespace=NAMESPACE
    )
    hand.sees(name, B)


def test_cel_is_not_asked_again_when_a_score_changes(hand: Hand) -> None:
    expression = f'managedCluster.scores("{hand.load}").exists(s, s.name == "cpu" && s.value > 50)'

    def changes() -> str:
        """A Placement with the old answer after the scores have changed; or nothing."""
        hand.scores(a={"cpu": 10}, b={"cpu": 90}, c={"cpu": 10})
        name = hand.places(
            **where(celSelector={"celExpressions": [expression]}), prioritizerPolicy=exact()
        )
        hand.sees(name, B)
        # OCM looks again at its own new decision; let that pass, or it is what brings the new
        # answer.
        hold_for(lambda: hand.decided(name) == [B], what="the decision is settled", seconds=3)
        hand.scores(a={"cpu": 90}, b={"cpu": 10})
        return name if hand.stays(name, B, seconds=3) else ""

    name = undisturbed(changes)
    assert name, "the old answer stays"
    hand.edits(name, numberOfClusters=3)  # any event of the Placement makes it look
    hand.sees(name, A)


def test_a_failing_cel_expression_drops_the_cluster_silently(hand: Hand) -> None:
    expression = 'managedCluster.metadata.labels["tier"] == "gold"'
    name = hand.places(**where(celSelector={"celExpressions": [expression]}))
    hand.sees(name)
    hand.says(name, SATISFIED, reason="NoManagedClusterMatched")
    hand.says(name, MISCONFIGURED, status="False")


def test_one_value_beyond_100_refuses_all_scores(hub: Client, hand: Hand) -> None:
    with pytest.raises(
        ApiError, match=r"status.scores\[1\].value.*should be less than or equal to 100"
    ):
        publish(hub, A, hand.load, {"fine": 5, "too-much": 101})
    assert hub.get(SCORE, hand.load, namespace=A).get("status", {}).get("scores", []) == []


def test_a_create_drops_the_scores(hub: Client, hand: Hand) -> None:
    """The status is a subresource: what one apply from git could deliver is an object without
    scores.
    """
    status = {"scores": [{"name": "cpu", "value": 5}]}
    created = hub.create(manifest(SCORE, hand.load, namespace=A, status=status))
    assert "status" not in created


@pytest.mark.parametrize("over", [0, 1])
def test_a_work_may_have_512000_bytes_and_not_one_more(
    hub: Client, clusters: tuple[str, ...], over: int
) -> None:
    """The sum is ours, too (DSF501): compact JSON, and four bytes for each manifest of this
    size.
    """
    empty = len(json.dumps(config_map("large", ""), separators=(",", ":"))) + 4
    body = work(A, "large", [config_map("large", "x" * (LIMIT + over - empty))])
    said = rf"the size of manifests is {LIMIT + 1} bytes which exceeds the {LIMIT} limit"
    with pytest.raises(ApiError, match=said) if over else nullcontext():
        hub.create(body, dry_run=True)


def test_a_work_with_one_object_twice_is_refused(hub: Client, clusters: tuple[str, ...]) -> None:
    with pytest.raises(
        ApiError,
        match=r"duplicate manifest for resource hazard-works/same with resource type v1\.ConfigMap",
    ):
        hub.create(work(A, "twice", [config_map("same", "1"), config_map("same", "2")]))


def test_two_works_with_one_object_overwrite_each_other_and_both_say_applied(
    control_plane: ControlPlane, hub: Client
) -> None:
    spoke = control_plane.spokes["cluster1"].admin

    def value() -> object:
        return (spoke.find("v1/ConfigMap", "shared", namespace=CONFLICT) or {"data": {}})[
            "data"
        ].get("key")

    def applied() -> bool:
        found = (
            hub.get(WORK, f"hazard-{writer}", namespace="cluster1")
            for writer in ("first", "second")
        )
        return all(is_true(item, "Applied") for item in found)

    spoke.apply(manifest("v1/Namespace", CONFLICT))
    try:
        for writer in ("first", "second"):
            hub.apply(work("cluster1", f"hazard-{writer}", [config_map("shared", writer)]))
            wait_for(lambda writer=writer: value() == writer, what=f"{writer} has written")  # type: ignore[misc]
        wait_for(applied, what="both say Applied")
        hub.patch(
            WORK, "hazard-first", {"metadata": {"labels": {"touched": "yes"}}}, namespace="cluster1"
        )
        hub.apply(work("cluster1", "hazard-first", [config_map("shared", "first again")]))
        wait_for(lambda: value() == "first again", what="the last writer wins")
        assert applied()
    finally:
        for writer in ("first", "second"):
            hub.delete(WORK, f"hazard-{writer}", namespace="cluster1")
        wait_until_gone(hub, WORK, "hazard-first", "hazard-second", namespace="cluster1")
        spoke.delete("v1/Namespace", CONFLICT)


def config_map(name: str, value: str) -> Object:
    return manifest("v1/ConfigMap", name, namespace=CONFLICT, data={"key": value})


def work(cluster: str, name: str, manifests: list[Object]) -> Object:
    return manifest(WORK, name, namespace=cluster, spec={"workload": {"manifests": manifests}})
