"""Laws that must not blame a program for what it may do."""

import json
from pathlib import Path

import pytest

from tests.support.agent.http import RecordedRequest
from tests.world import world
from tests.world.loop import Program, WorldLoop

SCORES = "/apis/cluster.open-cluster-management.io/v1alpha1/namespaces/c00/addonplacementscores"


async def refused(*names: str, times: int, folder: Path) -> str:
    """The law that is broken when the creation of each of these scores is refused so often."""
    made = world.World(seed=1, size=world.Size(clusters=1, applications=1), folder=folder)
    program = Program("agent/c00")
    for _ in range(times):
        for name in names:
            body = json.dumps({"metadata": {"name": name}}).encode()
            seen = RecordedRequest(method="POST", target=SCORES, headers={}, body=body, at=0.0)
            made.laws.refused(program, seen, 403)
    return made.laws.broken.law if made.laws.broken is not None else ""


@pytest.mark.parametrize(
    ("names", "times", "law"), [(["one"], 17, "backoff"), (["one", "two"], 16, "")]
)
def test_refusals_are_counted_for_each_object(
    loop: WorldLoop, tmp_path: Path, names: list[str], times: int, law: str
) -> None:
    assert loop.run_until_complete(refused(*names, times=times, folder=tmp_path)) == law


def test_a_question_to_the_hub_that_is_refused_has_no_name(loop: WorldLoop, tmp_path: Path) -> None:
    async def main() -> object:
        made = world.World(seed=1, size=world.Size(clusters=1, applications=1), folder=tmp_path)
        review = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        seen = RecordedRequest(
            method="POST", target=review, headers={}, body=b'{"spec": {}}', at=0.0
        )
        made.laws.refused(Program("hub-scorer"), seen, 403)
        return made.laws.broken

    assert loop.run_until_complete(main()) is None


@pytest.mark.parametrize(
    ("writer", "part", "law"),
    [
        ("agent/c00", "/status", "writing"),
        ("agent/c00", "", "writing"),
        ("agent/c00", "-of-another-name", ""),
        ("hub-scorer", "/status", ""),
    ],
)
def test_a_program_may_delete_what_it_does_not_write(
    loop: WorldLoop, tmp_path: Path, writer: str, part: str, law: str
) -> None:
    async def main() -> str:
        made = world.World(seed=1, size=world.Size(clusters=1, applications=1), folder=tmp_path)
        programs = {name: Program(name) for name in ("agent/c00", "hub-scorer")}
        made.network.writing[programs[writer], f"{SCORES}/free0{part}"] += 1
        made.laws.deletes(programs["agent/c00"], f"{SCORES}/free0")
        return made.laws.broken.law if made.laws.broken is not None else ""

    assert loop.run_until_complete(main()) == law
