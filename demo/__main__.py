"""`python -m demo`, which `make demo` runs.

Exit codes: 0 the demo completed; 1 something is missing or did not happen; 2 wrong usage; 128 + signal after
a signal.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from demo import prometheus
from demo.errors import DemoError, StoppedError
from demo.folder import Folder
from demo.history import History
from demo.narrator import Narrator
from demo.pace import FAST, FULL
from demo.report.page import page
from demo.signals import Stop
from demo.stage import EXAMPLES, Stage
from demo.story import APPLICATION, STEPS, Story, commands, loads, shown
from gitops_dsf.errors import GitopsDsfError

DESCRIPTION = """\
The whole loop on this machine: a fleet repository in git, real agents and scoring APIs, scores, decisions, a
pull request with its preview, and load that moves an application. No Kubernetes and no network; about a
minute. docs/demo.md explains it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a demo and returns the exit code."""
    args = _parser().parse_args(argv)
    stop = Stop()
    stop.listen()
    try:
        return _run(args, stop)
    except StoppedError as stopped:
        print("\nEnded by a signal; every program of the demo was stopped.", file=sys.stderr)
        return 128 + stopped.number
    except GitopsDsfError as error:
        print(f"\ndemo: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make demo",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        default=Path("demo-out"),
        help="folder that is made anew and stays; demo-out by default",
    )
    parser.add_argument("--fast", action="store_true", help="the same story with less time to watch")
    parser.add_argument(
        "--metrics",
        choices=("auto", "builtin", "prometheus"),
        default="auto",
        help="a real Prometheus where there is one, by default",
    )
    return parser


def _run(args: argparse.Namespace, stop: Stop) -> int:
    if not EXAMPLES.is_dir():
        msg = (
            f"the demo runs the sample scorers of a checkout, and {EXAMPLES} is not there: git clone the"
            " project and run `make demo` in it"
        )
        raise DemoError(msg)
    started = time.monotonic()
    binary = None if args.metrics == "builtin" else prometheus.find()
    if binary is None and args.metrics == "prometheus":
        msg = (
            "there is no prometheus in the PATH, and none that `make test-hub` built; leave --metrics out for"
            " the built-in source"
        )
        raise DemoError(msg)
    clusters = loads()
    source = (
        f"Prometheus {binary.version}, one per cluster"
        if binary
        else "the demo's built-in metric source, no Prometheus"
    )
    history = History(clusters=tuple(clusters), application=APPLICATION, source=source)
    narrator = Narrator(sys.stdout, history, steps=STEPS)
    with ExitStack() as stack:
        folder = stack.enter_context(Folder(args.out))
        stage = Stage(
            folder=folder,
            pace=FAST if args.fast else FULL,
            stop=stop,
            history=history,
            loads=clusters,
            stack=stack,
        )
        narrator.plain(
            [
                (
                    "gitops-dsf demo: scores decide where an application runs, and git decides how clusters"
                    " are scored."
                )
            ]
        )
        Story(stage, narrator, binary=binary).run()
        narrator.step("The report")
        tries = commands(folder.root)
        write_report(folder, history, tries)
        narrator.say(
            f"Open {folder.report.as_uri()} in a browser: scores and decisions over time, who moved when and"
            " why."
        )
        narrator.plain(["", f"  {shown(folder.root)}/ stays. To try:", *(f"    {line}" for line in tries)])
        count = stage.programs.stop()
        narrator.plain(["", f"  {count} programs ended after {time.monotonic() - started:.0f} s."])
    return 0


def write_report(folder: Folder, history: History, tries: Sequence[str]) -> None:
    """Writes the HTML page and the numbers."""
    folder.report.write_text(page(history, tries), "utf-8")
    folder.numbers.write_text(json.dumps(history.to_dict(), indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
