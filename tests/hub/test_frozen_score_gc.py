"""A leader that is frozen (SIGSTOP) anywhere on its way to the deletion of a dead score, and goes on
(SIGCONT) when another replica leads: a score of an agent that came back meanwhile is not deleted.

`make soak-hub` stops it at every read. The others of these tests stand for one place each: the last read, the
connection, the DELETE, the network.
"""

import threading
from collections.abc import Iterator

import pytest

from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.frozenleader import (
    SCORE_READS,
    FrozenLeaderPlane,
    deletes,
    frozen,
    frozen_leader_plane,
)
from tests.hub.scenario.reconciling import Reconciler

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd"), pytest.mark.timeout(400)]
SCORES = "addonplacementscores"
LAST_READ = "add-on"


@pytest.fixture(scope="module")
def module_scene(control_plane: ControlPlane, argocd: object) -> Iterator[FrozenLeaderPlane]:
    with frozen_leader_plane(control_plane) as scene:
        yield scene


@pytest.fixture
def scene(module_scene: FrozenLeaderPlane) -> Iterator[FrozenLeaderPlane]:
    """With a dead score."""
    module_scene.dead_score()
    yield module_scene
    module_scene.proxy.forget()
    module_scene.forget_score()


def second_leads(second: Reconciler) -> None:
    wait_for(lambda: second.leads, what="the second leads", seen=second.process.tail)


def stays(scene: FrozenLeaderPlane, first: Reconciler) -> None:
    wait_for(lambda: not first.leads, what="the first has noticed", seen=first.process.tail)
    hold_for(scene.has_score, what="the score stays", seconds=2)


STOPS = [
    pytest.param(read, marks=() if read == LAST_READ else pytest.mark.soak, id=read) for read in SCORE_READS
]


@pytest.mark.parametrize("read", STOPS)
def test_nothing_is_sent_after_a_stop_at_any_read(scene: FrozenLeaderPlane, read: str) -> None:
    """The agent came back and has not published, so the API server would not refuse."""
    with scene.replicas() as (first, second):
        with frozen(scene, first, lambda word: SCORE_READS[read] in word, begin=lambda: None):
            second_leads(second)
            scene.agent_returns()
        stays(scene, first)
    assert scene.deletions(SCORES) == []


@pytest.mark.parametrize("read", STOPS)
def test_the_api_server_alone_keeps_a_renewed_score_after_a_stop_at_any_read(
    scene: FrozenLeaderPlane, read: str
) -> None:
    """The first replica does not look at its claim on the Lease."""
    with scene.replicas(changes="unfenced") as (first, second):
        with frozen(scene, first, lambda word: SCORE_READS[read] in word, begin=lambda: None):
            scene.lease_is_free()
            second_leads(second)
            scene.agent_renews()
        stays(scene, first)
    assert scene.deletions(SCORES) == ([409] if read == LAST_READ else [])


def test_a_deletion_that_is_stopped_before_it_has_a_connection_sends_nothing(
    scene: FrozenLeaderPlane,
) -> None:
    with scene.replicas(changes="connection") as (first, second):
        wait_for(lambda: first.frozen, what="it is about to delete", timeout=200, seen=first.process.tail)
        second_leads(second)
        scene.agent_returns()
        first.thaw()
        stays(scene, first)
    assert scene.deletions(SCORES) == []


def test_a_deletion_is_refused_whose_sender_was_stopped_after_its_last_look(scene: FrozenLeaderPlane) -> None:
    with scene.replicas(changes="body") as (first, second):
        wait_for(lambda: first.frozen, what="it is about to delete", timeout=200, seen=first.process.tail)
        second_leads(second)
        scene.agent_renews()
        first.thaw()
        wait_for(lambda: scene.deletions(SCORES), what="the deletion is answered", seen=first.process.tail)
        assert scene.deletions(SCORES) == [409]
        stays(scene, first)


def test_a_deletion_is_refused_that_was_on_its_way_for_long(scene: FrozenLeaderPlane) -> None:
    held, gate = threading.Event(), threading.Event()

    def asked(word: str) -> None:
        if deletes(word, SCORES) and not held.is_set():
            held.set()
            gate.wait(200)

    scene.proxy.asked = asked
    try:
        with scene.replicas() as (first, _):
            wait_for(held.is_set, what="it deletes", timeout=200, seen=first.process.tail)
            first.freeze()
            scene.agent_renews()
            gate.set()
            wait_for(lambda: scene.deletions(SCORES), what="the deletion is answered")
            assert scene.deletions(SCORES) == [409]
            assert scene.has_score()
    finally:
        gate.set()
