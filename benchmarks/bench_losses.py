"""The loss of any one cluster of a large fleet.

    python -m benchmarks.bench_losses [--scale 0.1]

2,000 clusters, 500 applications on three clusters each, 50 scorers, scores from the state branch.
The bound is what the losses of both sides add to a comparison: 5 s. `simulate --lose-each` is a
process of its own. Everything is made here. Where other programs share the machine, the CPU column
is what counts. Exits with 1 when a target is missed.
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.bench_views import PROGRAM, build_apart
from benchmarks.measure import Figure, best, options, shown
from gitops_dsf.hubreader.files import SUFFIXES, from_contents
from gitops_dsf.pipeline import check
from gitops_dsf.repository.revision.branch import find_branch
from gitops_dsf.views.preview.failover import refuge_plans
from gitops_dsf.views.preview.losschange import loss_changes
from gitops_dsf.views.preview.transition import Transition

CLUSTERS = 2000
APPLICATIONS = 500
SCORERS = 50
MAX_SECONDS = 5.0
MAX_MEGABYTES = 400


def losses(scale: float, repeats: int) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        applications = int(APPLICATIONS * scale)
        build_apart(root, int(CLUSTERS * scale), SCORERS, applications=applications)
        source = [scratch, "--state-branch", "state"]
        cost = best([*PROGRAM, "simulate", *source, "--lose-each"], repeats=repeats)
        yield from cost.figures("simulate --lose-each", megabytes=MAX_MEGABYTES)
        cost = best([*PROGRAM, "diff", *source, "--base", "main"], repeats=repeats)
        yield from cost.figures("diff with the losses of both sides", megabytes=MAX_MEGABYTES)
        yield Figure("of that the losses, CPU", _seconds(root), MAX_SECONDS, "s")


def _seconds(root: Path) -> float:
    """CPU that the losses of both sides add to a comparison of a fleet with itself."""
    checked = check(root).fleet
    branch = find_branch(root, "state")
    if checked is None or branch is None:
        raise AssertionError("the benchmark's own repository is not valid")
    snapshot = from_contents(branch.contents(suffixes=SUFFIXES), origin="state", resources=None)
    if snapshot.observed_at is None:
        raise AssertionError("the benchmark's own snapshot has no time")
    # The same fleet on both sides: their losses are computed as those of two fleets would be.
    transition = Transition(base=checked, head=checked, snapshot=snapshot, now=snapshot.observed_at)
    plans = refuge_plans(transition)
    # A comparison has computed these for its moves.
    _ = transition.after
    begin = time.process_time()
    # A generator: without the tuple nothing would be computed.
    tuple(loss_changes(transition, plans))
    return time.process_time() - begin


def main() -> int:
    sizes = vars(options(__doc__, scale=1.0, repeats=1))
    return shown(losses(**sizes))


if __name__ == "__main__":
    sys.exit(main())
