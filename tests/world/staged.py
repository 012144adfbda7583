"""A world whose faults are written down, in place of drawn ones: `python -m tests.world.staged
KIND@SECONDS ...`.

Kinds are those of the gallery, and some that leave nothing to chance. It prints the law that broke.
"""

import argparse
import random
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from tests.support.githubserver import Pull
from tests.world import faults, forgefaults, run
from tests.world.faults import Fault, Kind
from tests.world.run import Order
from tests.world.world import Size

if TYPE_CHECKING:
    from tests.world.world import World

Way = Callable[["World", random.Random], Callable[[Pull], str]]
FORBIDDEN_SECONDS: Final = 5000.0


def _all(way: Way, world: "World", drawn: random.Random) -> str:
    """People do one thing to all open pull requests."""
    return ", ".join(way(world, drawn)(pull) for pull in world.forge.open_pulls)


def _page_drifts(world: "World", _drawn: random.Random) -> str:
    world.scoring.interval = 400
    return "for good"


def _branches_stay_forbidden(world: "World", _drawn: random.Random) -> str:
    return forgefaults.forbid_branches(world, seconds=FORBIDDEN_SECONDS)


STAGED: Final[dict[str, faults.Act]] = {
    "all-closed": partial(_all, lambda world, _drawn: world.people.close),
    "all-pushed-to": partial(_all, lambda world, drawn: partial(world.people.push, drawn=drawn)),
    "page-drifts": _page_drifts,
    "branches-stay-forbidden": _branches_stay_forbidden,
}


def staged(order: Order, plan: Sequence[tuple[str, float]]) -> run.Result:
    """Runs a world with exactly these faults, at these seconds.

    It is the end of this process' randomness.
    """
    for name, act in STAGED.items():
        faults.GALLERY[name] = Kind(act=act)
    written = tuple(
        Fault(number=number, at=at, kind=kind) for number, (kind, at) in enumerate(plan)
    )
    setattr(faults, "plan", lambda **_how: written)  # noqa: B010 - mypy knows that it is a function
    return run.run_apart(order)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.world.staged", description=__doc__)
    parser.add_argument("plan", nargs="+", metavar="KIND@SECONDS")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hours", type=float, default=1.0)
    flags = parser.parse_args()
    plan = [(kind, float(at)) for kind, _, at in (word.partition("@") for word in flags.plan)]
    size = Size(clusters=3, applications=3)
    result = staged(Order(seed=flags.seed, hours=flags.hours, size=size), plan)
    print("\n".join(run.told(result)))
    return 1 if result.law else 0


if __name__ == "__main__":
    sys.exit(main())
