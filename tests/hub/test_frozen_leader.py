"""A leader that is frozen anywhere on its way to a deletion, and goes on later.

SIGSTOP freezes it, and SIGCONT lets it go on when another replica leads. The last copy is never
deleted.

`make soak-hub` stops it at every read. The others of these tests stand for one place each: a read,
the patch, the DELETE, the connection, the network.
"""

import threading
from collections.abc import Iterator

import pytest

from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.frozenleader import (
    PATCH,
    READS,
    A,
    FrozenLeaderPlane,
    Step,
    deletes,
    frozen,
    frozen_leader_plane,
)

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd")]


@pytest.fixture(scope="module")
def scene(control_plane: ControlPlane, argocd: object) -> Iterator[FrozenLeaderPlane]:
    with frozen_leader_plane(control_plane) as scene:
        yield scene


@pytest.fixture(autouse=True)
def _proxy_forgets(scene: FrozenLeaderPlane) -> Iterator[None]:
    yield
    scene.proxy.forget()


SCORES = "addonplacementscores"
LAST_READ = (2, "Placement")
"""After it, all that is left to do is the deletion."""
STOPS = [
    pytest.param(reading, read, marks=() if (reading, read) == LAST_READ else pytest.mark.soak)
    for reading in (1, 2)
    for read in READS
]


@pytest.mark.parametrize(("reading", "read"), STOPS)
def test_the_api_server_alone_keeps_the_last_copy_after_a_stop_at_any_read(
    scene: FrozenLeaderPlane, reading: int, read: str
) -> None:
    """The first replica does not look at its claim on the Lease: what is left is the write that
    both must win.
    """
    with scene.replicas(changes="unfenced") as (first, second):
        with frozen(scene, first, Step(reading, read)):
            scene.second_removes_the_other_copy(second)
        scene.the_last_copy_stays(first)
    # Whether it sends its deletion before it notices depends on the machine; the stories below hold
    # one up.
    assert set(scene.deletions()) <= {409}, "the API server refused what it sent"


def test_the_api_server_alone_keeps_the_last_copy_after_a_stop_at_the_patch(
    scene: FrozenLeaderPlane,
) -> None:
    with scene.replicas(changes="unfenced") as (first, second):
        with frozen(scene, first, lambda word: word.startswith(PATCH)):
            scene.second_removes_the_other_copy(second)
        scene.the_last_copy_stays(first)


def test_a_deletion_is_refused_whose_sender_was_stopped_after_its_last_look(
    scene: FrozenLeaderPlane,
) -> None:
    """All that a process can look at itself is behind it: only the API server refuses."""
    with scene.replicas(changes="body") as (first, second):
        scene.move()
        wait_for(lambda: first.frozen, what="it is about to delete", seen=first.process.tail)
        scene.second_removes_the_other_copy(second)
        first.thaw()
        wait_for(scene.deletions, what="the deletion is answered", seen=first.process.tail)
        assert scene.deletions() == [409]
        scene.the_last_copy_stays(first)


def test_a_deletion_is_refused_that_was_on_its_way_for_long(scene: FrozenLeaderPlane) -> None:
    held, gate = threading.Event(), threading.Event()
    try:
        with scene.replicas() as (first, second):

            def asked(word: str) -> None:
                if deletes(word) and not held.is_set():
                    # At once: a replica that still runs gives up after less than a second, and asks
                    # again.
                    first.freeze()
                    held.set()
                    gate.wait(200)

            scene.proxy.asked = asked
            scene.move()
            wait_for(held.is_set, what="it deletes", seen=first.process.tail)
            scene.second_removes_the_other_copy(second)
            gate.set()
            wait_for(scene.deletions, what="the deletion is answered")
            assert scene.deletions() == [409]
            hold_for(lambda: scene.copies() == [A], what="the last copy stays", seconds=2)
    finally:
        gate.set()


def test_the_story_that_lost_an_application(scene: FrozenLeaderPlane) -> None:
    """With nothing switched off: the second replica waits for the Lease to expire."""
    with scene.replicas() as (first, second):
        with frozen(scene, first, Step(*LAST_READ)):
            scene.second_removes_the_other_copy(second, free=False)
        scene.the_last_copy_stays(first)
    assert scene.deletions() == [], "a replica that knows that its claim is over sends nothing"


def test_a_removal_that_is_stopped_before_it_has_a_connection_sends_nothing(
    scene: FrozenLeaderPlane,
) -> None:
    with scene.replicas(changes="connection") as (first, second):
        scene.move()
        wait_for(lambda: first.frozen, what="it is about to delete", seen=first.process.tail)
        wait_for(lambda: second.leads, what="the second leads", seen=second.process.tail)
        scene.decide(A)
        first.thaw()
        wait_for(lambda: not first.leads, what="the first has noticed", seen=first.process.tail)
        hold_for(
            lambda: A in scene.copies(), what="the copy that is decided again stays", seconds=2
        )
    assert scene.deletions() == []


def test_a_score_that_its_agent_has_renewed_is_not_deleted(scene: FrozenLeaderPlane) -> None:
    """The same for the deletion of a dead score: the agent came back while its sender was
    stopped.
    """
    scene.dead_score()
    try:
        with scene.replicas(changes="body") as (first, second):
            wait_for(
                lambda: first.frozen,
                what="it is about to delete",
                timeout=200,
                seen=first.process.tail,
            )
            wait_for(lambda: second.leads, what="the second leads", seen=second.process.tail)
            scene.agent_renews()
            first.thaw()
            wait_for(
                lambda: scene.deletions(SCORES),
                what="the deletion is answered",
                seen=first.process.tail,
            )
            assert scene.deletions(SCORES) == [409]
            wait_for(lambda: not first.leads, what="the first has noticed", seen=first.process.tail)
            hold_for(scene.has_score, what="the score stays", seconds=2)
    finally:
        scene.forget_score()
