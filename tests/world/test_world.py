"""The world: the same seed gives the same history, and what it is made of behaves as it says."""

import asyncio
import contextlib
import itertools
import math
import random
import re
import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.agent.http import RecordedRequest
from tests.support.apiserver import failure
from tests.support.commandline import program
from tests.world import __main__, faults, fleet, hunt, laws, run, world
from tests.world.apiserver import TOKEN
from tests.world.loop import PROGRAM, Program, WorldLoop
from tests.world.network import NetworkTrouble
from tests.world.run import WorldOrder, WorldResult

ROOT = Path(__file__).parents[2]
WORLDS = """
import os, sys
from tests.world import run
from tests.world.run import WorldOrder
from tests.world.world import Size

size = Size(clusters=2, applications=3)
number = next((child for child in range(1, len(sys.argv) - 1) if not os.fork()), 0)
for world in sys.argv[1:][number].split():
    seed, _, os.environ["WORLD_CLIENT"] = world.partition(":")
    if world == "stopped":
        result = run.run_apart(WorldOrder(seed=1, hours=1000, size=size), cpu=0.2)
        said = f"{result.law} {result.what} {0.1 < result.cpu < 10}"
    else:
        order = WorldOrder(seed=int(seed), hours=1 / 6, settles=False, size=size, begin=120.0)
        result = run.run_apart(order)
        said = result.digest or result.what
    os.write(1, f"{number} {world} {said}\\n".encode())
if not number:
    sys.exit(any(os.wait()[1] for _ in sys.argv[2:]))
"""
"""Runs orders of small worlds beside each other, and prints the digest of each world."""


def told(programs: Path, *orders: str) -> list[dict[str, str]]:
    """What the worlds of each order say: their digests. The orders run beside each other, each in a
    process.

    A world is a seed, `9`, or a seed in which programs use all of httpx, `9:httpx`, or `stopped`
    for one that may use a fifth of a second of CPU. All are forks of one Python, as those of
    `make world`.
    """
    done = program(programs / "python", "-c", WORLDS, *orders, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    digests: list[dict[str, str]] = [{} for _ in orders]
    for line in done.stdout.splitlines():
        number, world, said = line.split(" ", 2)
        digests[int(number)][world] = said
    return digests


@pytest.fixture(scope="module")
def both(warm_programs: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Of two worlds in both orders, in processes that are busy beside each other.

    Few seeds have as many faults in so short a time as these. The first process also runs the
    world of another test.
    """
    first, again = told(warm_programs, "9 22 stopped", "22:httpx 9")
    return first, again


def test_a_seed_gives_the_same_history_in_another_order_and_beside_a_busy_process(
    both: tuple[dict[str, str], dict[str, str]],
) -> None:
    """The second time one of them with all of httpx in place of the lean client."""
    first, again = both
    assert again == {"22:httpx": first["22"], "9": first["9"]}
    assert first["9"] != first["22"]
    assert all(len(digest) == 64 for digest in again.values()), again


@pytest.mark.soak
def test_twenty_seeds_give_the_same_histories(warm_programs: Path) -> None:
    seeds = [str(seed) for seed in range(1, 21)]
    first, again = told(warm_programs, " ".join(seeds), " ".join(reversed(seeds)))
    assert first == again


def test_a_world_is_stopped_when_its_cpu_is_used_up(
    both: tuple[dict[str, str], dict[str, str]],
) -> None:
    first, _ = both
    message = r"crash the world was stopped: it had used \d\.\d s of CPU True"
    assert re.fullmatch(message, first["stopped"])


def test_a_failure_is_made_smaller() -> None:
    """With a judge that needs the faults 3 and 5."""
    asked: list[tuple[int, ...]] = []

    def judge(order: WorldOrder, _cpu: float) -> WorldResult:
        assert order.only is not None
        asked.append(order.only)
        return _result(order, "left" if {3, 5} <= set(order.only) else "")

    smallest = run.smaller(_result(WorldOrder(seed=1), "left"), cpu=10.0, run=judge)
    assert smallest.order.only == (3, 5)
    assert smallest.order.command == "make world SEED=1 HOURS=3 FAULTS=3,5"
    assert len(asked) < 60


def test_making_a_failure_smaller_ends_when_its_cpu_is_used_up() -> None:
    left: list[float] = []

    def judge(order: WorldOrder, cpu: float) -> WorldResult:
        left.append(cpu)
        return replace(_result(order, "left"), cpu=40.0)

    smallest = run.smaller(_result(WorldOrder(seed=1), "left"), cpu=100.0, run=judge)
    assert left == [100.0, 60.0, 20.0]
    whole = run.planned(WorldOrder(seed=1))
    assert smallest.order.only is not None
    assert len(smallest.order.only) < len(whole) / 4


def test_the_time_for_new_seeds_begins_after_those_that_ever_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    asked: list[tuple[int, float]] = []

    def judge(order: WorldOrder, cpu: float) -> WorldResult:
        nonlocal now
        now += 40.0
        asked.append((order.seed, cpu))
        return _result(order, "")

    monkeypatch.setattr(__main__, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(run, "run_apart", judge)
    failed = [WorldOrder(seed=seed) for seed in (7, 8, 9)]
    limit = __main__.Limit(seconds=60.0, cpu=math.inf, longest=150.0)
    new = (WorldOrder(seed=seed) for seed in itertools.count(100))
    __main__.many(failed, new, limit=limit, workers=1)
    assert asked == [(seed, 150.0) for seed in (7, 8, 9, 100, 101)]


def _result(order: WorldOrder, law: str) -> WorldResult:
    return WorldResult(
        order=order,
        law=law,
        what="",
        digest="",
        hours=0,
        cpu=0,
        counts={},
        checks={},
        lines=[],
        faults=0,
    )


def test_the_first_new_seed_follows_from_the_commit() -> None:
    one, other = "2a42355bd2", "2a42355bd3"
    assert __main__.first_seed("commit", one) == __main__.first_seed("commit", one)
    assert __main__.first_seed("commit", one) != __main__.first_seed("commit", other)
    assert __main__.first_seed("7", one) == 7


def test_a_seed_that_was_drawn_says_that_nobody_has_run_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    old, new = WorldOrder(seed=2), WorldOrder(seed=5)
    results = [_result(old, "left"), _result(new, "held")]
    assert __main__.end(results, commit="2a42355b", shrink=0, drawn=[new]) == 1
    said = capsys.readouterr().out
    assert "Nobody has run seed 5 before" in said
    assert "#when-a-new-seed-fails" in said


def test_a_seed_that_was_named_says_nothing_of_the_kind(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert __main__.end([_result(WorldOrder(seed=5), "held")], commit="2a42355b", shrink=0) == 1
    assert "Nobody has run" not in capsys.readouterr().out


def test_a_smaller_failure_is_shown_with_the_cpu_that_it_took(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    few = replace(WorldOrder(seed=5), only=(3, 5))
    monkeypatch.setattr(run, "smaller", lambda result, **_how: replace(result, order=few))
    assert __main__.end([_result(WorldOrder(seed=5), "held")], commit="2a42355b", shrink=77.0) == 1
    said = capsys.readouterr().out
    assert "Seed 5 is made smaller, with 77 s of CPU at most." in said
    assert "again: make world SEED=5 HOURS=3 FAULTS=3,5\n" in said
    assert said.endswith(
        "To repeat it: git checkout 2a42355b && make world SEED=5 HOURS=3 FAULTS=3,5\n"
    )


def test_a_failure_that_needs_all_its_faults_is_not_shown_twice(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "smaller", lambda result, **_how: result)
    assert __main__.end([_result(WorldOrder(seed=5), "held")], commit="2a42355b", shrink=77.0) == 1
    said = capsys.readouterr().out
    assert "again:" not in said
    assert "It still has all its faults." in said


def test_a_plan_with_fewer_faults_has_the_others_as_before() -> None:
    whole = run.planned(WorldOrder(seed=7))
    some = run.planned(replace(WorldOrder(seed=7), only=(2, 4)))
    assert some == (whole[2], whole[4])


def test_each_seed_has_some_kinds_of_faults_and_all_seeds_together_have_all() -> None:
    kinds = [
        {each.kind for each in faults.plan(seed=seed, begin=0, end=1e6, every=240)}
        for seed in range(8)
    ]
    assert all(10 < len(each) < len(faults.GALLERY) for each in kinds)
    assert set.union(*kinds) == set(faults.GALLERY)


def test_sources_that_fail_do_so_alike_in_each_run(loop: WorldLoop, tmp_path: Path) -> None:
    def failures(folder: Path) -> list[NetworkTrouble]:
        made = world.World(seed=1, size=world.Size(clusters=1, applications=1), folder=folder)
        faults.GALLERY["sources-fail"].act(made, random.Random(1))
        [weather] = made.storm.weather
        seen = RecordedRequest(method="GET", target="/api/v1/query", headers={}, body=b"", at=0.0)
        return [weather.trouble(Program("agent/c00"), seen) for _ in range(20)]

    async def main() -> list[list[NetworkTrouble]]:
        return [failures(tmp_path / name) for name in ("one", "two")]

    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one, two = loop.run_until_complete(main())
    assert one == two


def test_a_list_of_scorers_that_cannot_be_stale_is_not_held(
    loop: WorldLoop, tmp_path: Path
) -> None:
    """The only scorer is not removed, so nothing happens, and the history has no fault."""

    async def main() -> set[str]:
        size = world.Size(clusters=1, applications=1, scorers=1)
        made = world.World(seed=1, size=size, folder=tmp_path)
        made.sync.apply(made.tree)
        told = set[str]()
        for seed in range(20):
            what = faults.GALLERY["list-of-scorers"].act(made, random.Random(seed))
            assert bool(made.sync._held) is bool(what), what
            told.add(what.partition(" is ")[2].partition(" ")[0])
            made.sync._held.clear()
            made.sync.heal()
        return told

    assert loop.run_until_complete(main()) == {"", "missing", "edited", "replaced"}


def test_each_law_has_a_sentence_that_the_page_tells() -> None:
    page = (ROOT / "docs/contributing/world.md").read_text()
    for law, sentence in laws.SENTENCES.items():
        assert f"| `{law}` | {sentence} |" in " ".join(page.split()), law


def test_each_planted_fault_applies_and_is_told_in_the_page() -> None:
    page = (ROOT / "docs/contributing/world.md").read_text()
    patches = "".join((hunt.PATCHES / f"{name}.patch").read_text() for name in hunt.names())
    # A dry run changes nothing, so each is looked at alone.
    subprocess.run(
        ["patch", "--dry-run", "-s", "-p1"], cwd=ROOT, input=patches, text=True, check=True
    )
    for name in hunt.names():
        assert f"`{name}`" in page, name


def test_argo_cd_never_goes_back_to_an_older_commit(
    loop: WorldLoop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It notices each commit after a while, and applies the last one."""

    async def main() -> tuple[object, object]:
        made = world.World(seed=1, size=world.Size(clusters=2, applications=1), folder=tmp_path)
        # No program has to run for this.
        monkeypatch.setattr(made.hub_scorer, "start", lambda: None)
        last = made.sources
        for stickiness in (0, 10, 20, 10, 0, 20):
            last = replace(made.sources, stickiness=stickiness)
            made.merge(last, f"stickiness {stickiness}")
            await asyncio.sleep(1.0)
        await asyncio.sleep(200.0)
        return made.tree, fleet.rendered(last)

    applied, wanted = loop.run_until_complete(main())
    assert applied == wanted


def test_the_hub_dates_each_answer_also_a_refusal_and_a_watch(
    loop: WorldLoop, tmp_path: Path
) -> None:
    """As Go's HTTP server does. Without a date our programs would not know the time, and wait."""

    async def main() -> list[str]:
        made = world.World(seed=1, size=world.Size(clusters=1, applications=1), folder=tmp_path)
        PROGRAM.set(Program("p"))
        asked = partial(made.network.send, host="hub", trace=None, read=None)
        path = "/api/v1/namespaces/default/configmaps"
        headers = {"authorization": f"Bearer {TOKEN}"}
        seen = partial(RecordedRequest, method="GET", headers=headers, body=b"", at=0.0)
        opened = await asked(seen(target=f"{path}?watch=true"))
        made.network.trouble = lambda *_: NetworkTrouble(refuse=failure(403, "forbidden"))
        refused = await asked(seen(target=path))
        assert refused.status == 403
        return [opened.headers["Date"], refused.headers["Date"]]

    assert loop.run_until_complete(main()) == ["Thu, 28 May 2026 20:26:40 GMT"] * 2


def test_a_watch_whose_client_died_costs_nothing(
    loop: WorldLoop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[float] = []
    call_at = loop.call_at

    def counted(when: float, *how: Any, **more: Any) -> Any:
        calls.append(when)
        return call_at(when, *how, **more)

    async def main() -> int:
        made = world.World(seed=1, size=world.Size(clusters=1, applications=1), folder=tmp_path)
        program = Program("p")
        PROGRAM.set(program)
        headers = {"authorization": f"Bearer {TOKEN}"}
        target = "/api/v1/namespaces/default/configmaps?watch=true"
        seen = RecordedRequest(method="GET", target=target, headers=headers, body=b"", at=0.0)
        asking = asyncio.create_task(made.network.send(seen, host="hub", trace=None, read=None))
        PROGRAM.set(None)
        await asyncio.sleep(0.0005)
        loop.kill(program)
        await asyncio.sleep(1000.0)
        assert not asking.done()
        return len(calls)

    monkeypatch.setattr(loop, "call_at", counted)
    assert loop.run_until_complete(main()) < 20


class TestLoop:
    def test_a_frozen_program_runs_later_with_the_memory_of_before(self, loop: WorldLoop) -> None:
        program, log = Program("p"), list[float]()

        async def work() -> None:
            while True:
                await asyncio.sleep(1.0)
                log.append(loop.time())

        async def main() -> None:
            token = PROGRAM.set(program)
            task = asyncio.create_task(work())
            PROGRAM.reset(token)
            await asyncio.sleep(2.5)
            loop.freeze(program)
            await asyncio.sleep(5.0)
            loop.thaw(program)
            await asyncio.sleep(2.0)
            task.cancel()

        loop.run_until_complete(main())
        assert log == [1.0, 2.0, 7.5, 8.5]

    def test_a_killed_program_runs_not_even_what_cleans_up(self, loop: WorldLoop) -> None:
        program, log = Program("p"), list[str]()

        async def work() -> None:
            try:
                await asyncio.sleep(10.0)
            finally:
                log.append("cleaned up")

        async def main() -> None:
            token = PROGRAM.set(program)
            asyncio.create_task(work())  # noqa: RUF006 - it is killed
            PROGRAM.reset(token)
            await asyncio.sleep(1.0)
            loop.kill(program)
            await asyncio.sleep(20.0)

        loop.run_until_complete(main())
        assert log == []

    def test_a_pause_that_is_shorter_than_the_clock_can_tell_ends(self, loop: WorldLoop) -> None:
        async def main() -> int:
            await asyncio.sleep(2.0)
            until, times = loop.time() + 1e-5, 0
            while loop.time() < until:
                times += 1
                with contextlib.suppress(TimeoutError):
                    # As a number, this moment is the present one.
                    async with asyncio.timeout(2e-16):
                        await asyncio.Event().wait()
            return times

        assert 100 < loop.run_until_complete(main()) < 5000

    def test_a_loop_in_which_nothing_can_happen_any_more_says_so(self, loop: WorldLoop) -> None:
        async def main() -> None:
            await asyncio.Event().wait()

        with pytest.raises(RuntimeError, match="everything waits"):
            loop.run_until_complete(main())
