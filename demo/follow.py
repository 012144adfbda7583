"""--keep-running: all programs keep running, and the demo reacts to changes in its folder."""

import time
from collections.abc import Callable
from typing import Final, NoReturn

from demo.errors import DemoError
from demo.narrator import Narrator
from demo.stage import Stage
from demo.story import shown

TURN_SECONDS: Final = 3.0
REPORT_SECONDS: Final = 5.0
KEPT_OBSERVATIONS: Final = 1_200
"""About twenty minutes, the most that the report shows."""


def follow(stage: Stage, narrator: Narrator, *, report: Callable[[], None]) -> NoReturn:
    """Runs until a signal (StoppedError). Delivers new commits, applies new numbers in load/, and updates the
    report.
    """
    where = shown(stage.folder.root)
    stage.folder.loads.mkdir(exist_ok=True)
    for cluster, load in stage.loads.items():
        (stage.folder.loads / cluster).write_text(f"{load.target:.0f}\n", "utf-8")
    narrator.plain(
        [
            "",
            "  Everything stays up until Ctrl-C. While it does:",
            f"    echo 95 > {where}/load/us-east-1     # CPU use in percent",
            (
                f"    edit {where}/fleet/scorers/*.yaml, gitops-dsf render {where}/fleet, git -C"
                f" {where}/fleet commit -a: the agents follow"
            ),
            f"    the report is written anew every {REPORT_SECONDS:.0f} s",
            "",
        ]
    )
    head = stage.fleet.head()
    written = time.monotonic()
    while True:
        _turn(stage, narrator)
        if (found := stage.fleet.head()) != head:
            head = found
            _deliver(stage, narrator, head)
        _, move = stage.observe()
        del stage.history.observations[:-KEPT_OBSERVATIONS]
        if move is not None:
            narrator.seen(f"{', '.join(move.origin)} -> {', '.join(move.target)}: {move.reason}")
        if time.monotonic() - written >= REPORT_SECONDS:
            report()
            written = time.monotonic()
        stage.stop.sleep(2 * stage.pace.tick)


def _turn(stage: Stage, narrator: Narrator) -> None:
    for cluster, load in stage.loads.items():
        try:
            percent = float((stage.folder.loads / cluster).read_text("utf-8"))
        except (OSError, ValueError):
            continue
        if 0 <= percent <= 100 and round(percent) != round(load.target):
            load.turn(percent, seconds=TURN_SECONDS, now=time.time())
            stage.happened("load", f"CPU use of {cluster} goes to {percent:.0f} %")
            narrator.seen(f"CPU use of {cluster} goes to {percent:.0f} %")


def _deliver(stage: Stage, narrator: Narrator, head: str) -> None:
    try:
        changed = stage.deliver()
    except DemoError as error:
        narrator.seen(f"commit {head} is not delivered: {error}")
        return
    stage.happened("commit", f"commit {head}")
    narrator.seen(
        f"commit {head} is delivered; configuration changed on {', '.join(changed) or 'no cluster'}"
    )
